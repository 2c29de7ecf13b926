// SPDX-License-Identifier: Apache-2.0
#include "tuning/batch_sample.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "device/region.h"
#include "memory/placement.h"
#include "runtime/sampled_reference.h"
#include "tuning/check_inputs.h"

namespace wootz {
namespace {

constexpr int64_t kWorthItBytes = 4 << 20;  // of the largest operand: less is made and copied in no time
constexpr size_t kAskedElements = 32;       // of each output, by rows_are_alone

int64_t size_bytes(const TensorDesc& d) { return d.size() * static_cast<int64_t>(dtype_size(d.dtype)); }

bool is_large(const Problem& problem) {
  const auto large = [](const TensorDesc& d) {
    return d.dtype != DType::kUndefined && !d.constant && size_bytes(d) >= kWorthItBytes;
  };
  return std::any_of(problem.inputs.begin(), problem.inputs.end(), large) ||
         std::any_of(problem.outputs.begin(), problem.outputs.end(), large);
}

/// Whether entries along axis 0 lie one behind the other, each in memory of its own.
bool has_rows_apart(const TensorDesc& d) {
  int64_t span = 1;
  for (size_t i = 1; i < d.dims.size(); ++i) {
    if (d.strides[i] < 0) return false;
    span += (d.dims[i] - 1) * d.strides[i];
  }
  return d.strides[0] >= span;
}

/// The descriptor at the smaller batch, and how far a row of the batch extends along axis 0 (0: the operand
/// is the same at both). Nothing where more than that differs.
std::optional<std::pair<TensorDesc, int64_t>> shrink(const TensorDesc& d, const Value& value,
                                                     const SmallerBatch& smaller) {
  const auto dims = concrete_dims(value, smaller.bindings);
  if (!dims || dims->size() != d.dims.size()) return std::nullopt;
  TensorDesc few = d;
  if (*dims == d.dims) return std::pair(std::move(few), int64_t{0});
  if (!std::equal(dims->begin() + 1, dims->end(), d.dims.begin() + 1)) return std::nullopt;
  const int64_t extent = d.dims[0] / smaller.batch;
  if (extent * smaller.batch != d.dims[0] || extent * smaller.rows != (*dims)[0]) return std::nullopt;
  few.dims = *dims;
  return std::pair(std::move(few), extent);
}

std::vector<Tensor> elements_of(const Problem& few, const Bindings& bindings,
                                const std::vector<Datum>& inputs,
                                const std::vector<std::vector<int64_t>>& at) {
  SampledReference reference(few.body(), inputs, bindings);
  std::vector<Tensor> found;
  for (size_t i = 0; i < at.size(); ++i)
    found.push_back(at[i].empty() ? Tensor() : reference.elements(few.body().outputs()[i], at[i]));
  return found;
}

}  // namespace

BatchSample::BatchSample(const Problem& problem, const SmallerBatch& smaller)
    : few_(problem), bindings_(smaller.bindings) {}

std::optional<BatchSample> BatchSample::of(const Problem& problem, const SmallerBatch& smaller,
                                           uint64_t seed) {
  if (!is_large(problem)) return std::nullopt;
  BatchSample sample(problem, smaller);
  if (!sample.take_operands(problem, smaller)) return std::nullopt;
  // The first and the last are there for certain: tests of the corners see different rows.
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < smaller.batch; ++i)
    sample.source_.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(smaller.rows)));
  sample.source_.front() = 0;
  sample.source_.back() = smaller.rows - 1;
  for (int64_t r = 1; r + 1 < smaller.rows && r + 1 < smaller.batch; ++r)
    sample.source_[static_cast<size_t>(r)] = r;  // each stands somewhere
  try {
    if (!sample.rows_are_alone(seed)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // the body is tied to its batch
  }
  return sample;
}

bool BatchSample::take_operands(const Problem& problem, const SmallerBatch& smaller) {
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorDesc& d = problem.inputs[i];
    per_row_.push_back(0);
    const Value* value = problem.region->input(i);
    if (d.dtype == DType::kUndefined || !value || value->is_constant()) continue;
    if (d.constant) return false;  // known at these shapes alone
    auto few = shrink(d, *value, smaller);
    if (!few || (few->second > 0 && !has_rows_apart(d))) return false;
    few_.inputs[i] = std::move(few->first);
    per_row_.back() = few->second;
  }
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    output_per_row_.push_back(0);
    if (problem.outputs[i].dtype == DType::kUndefined) continue;
    auto few = shrink(problem.outputs[i], *problem.region->output(i), smaller);
    if (!few || few->second == 0) return false;
    few_.outputs[i] = std::move(few->first);
    output_per_row_.back() = few->second;
  }
  return true;
}

std::vector<int64_t> BatchSample::in_few(size_t output, const std::vector<int64_t>& at) const {
  const Dims& dims = few_.outputs[output].dims;
  const int64_t extent = output_per_row_[output];
  const int64_t row = element_count(Dims(dims.begin() + 1, dims.end())) * extent;
  std::vector<int64_t> result;
  for (int64_t flat : at) result.push_back(source_[static_cast<size_t>(flat / row)] * row + flat % row);
  return result;
}

std::vector<int64_t> BatchSample::in_places_of(int64_t row, size_t output,
                                               const std::vector<int64_t>& at) const {
  std::vector<size_t> places;
  for (size_t r = 0; r < source_.size(); ++r)
    if (source_[r] == row) places.push_back(r);
  const Dims& dims = few_.outputs[output].dims;
  const int64_t size = element_count(Dims(dims.begin() + 1, dims.end())) * output_per_row_[output];
  std::vector<int64_t> result;
  for (int64_t flat : at) {
    if (places.empty()) break;
    const size_t place = static_cast<size_t>(flat / size) * places.size() / source_.size();
    result.push_back(static_cast<int64_t>(places[place]) * size + flat % size);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// The reference on rows 0, 1, ... n-1, and on n-1, ... 1 and another one: the shared rows must not notice.
bool BatchSample::rows_are_alone(uint64_t seed) const {
  const std::vector<Datum> inputs = make_inputs(few_, InputKind::kRandom, seed);
  std::vector<Datum> turned = make_inputs(few_, InputKind::kRandom, seed + 1);
  int64_t rows = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (per_row_[i] == 0) {
      turned[i] = inputs[i];
      continue;
    }
    rows = few_.inputs[i].dims[0] / per_row_[i];
    const size_t bytes = inputs[i].tensor.size_bytes() / static_cast<size_t>(rows);
    for (int64_t r = 1; r < rows; ++r)
      std::memcpy(turned[i].tensor.as<char>() + static_cast<size_t>(rows - 1 - r) * bytes,
                  inputs[i].tensor.as<char>() + static_cast<size_t>(r) * bytes, bytes);
  }
  if (rows < 2) return false;
  std::vector<std::vector<int64_t>> at, turned_at;
  for (const TensorDesc& d : few_.outputs) {
    at.emplace_back();
    turned_at.emplace_back();
    if (d.dtype == DType::kUndefined) continue;
    const int64_t row = d.size() / rows;
    for (int64_t flat : sample_positions(d.dims, kAskedElements, seed))
      if (const int64_t r = flat / row; r > 0) {
        at.back().push_back(flat);
        turned_at.back().push_back((rows - 1 - r) * row + flat % row);
      }
  }
  const std::vector<Tensor> want = elements_of(few_, bindings_, inputs, at),
                            found = elements_of(few_, bindings_, turned, turned_at);
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i].is_defined() && !want[i].same_bits(found[i])) return false;
  return true;
}

}  // namespace wootz
