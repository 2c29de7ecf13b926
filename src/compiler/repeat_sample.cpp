// SPDX-License-Identifier: Apache-2.0
#include "compiler/repeat_sample.h"

#include <cstring>

#include "memory/bind_shapes.h"

namespace wootz {
namespace {

Tensor repeat(const Tensor& t, int64_t rows) {
  Dims dims = t.dims();
  const int64_t times = rows / dims[0];
  dims[0] = rows;
  Tensor result = Tensor::zeros(t.dtype(), dims);
  for (int64_t i = 0; i < times; ++i)
    std::memcpy(result.as<char>() + static_cast<size_t>(i) * t.size_bytes(), t.data(), t.size_bytes());
  return result;
}

/// Repeats every datum; false where one is not a tensor with `batch` rows.
bool repeat_all(const std::vector<Datum>& from, int64_t batch, int64_t rows, std::vector<Datum>& to) {
  for (const Datum& d : from) {
    if (d.kind != Datum::Kind::kTensor || d.tensor.rank() == 0 || d.tensor.dims()[0] != batch ||
        d.tensor.dtype() == DType::kString)
      return false;
    to.emplace_back(repeat(d.tensor, rows));
  }
  return true;
}

/// Row `row` of every datum; false where one is not a tensor with `batch` rows.
bool row_of_all(const std::vector<Datum>& from, int64_t batch, int64_t row, std::vector<Datum>& to) {
  for (const Datum& d : from) {
    if (d.kind != Datum::Kind::kTensor || d.tensor.rank() == 0 || d.tensor.dims()[0] != batch ||
        d.tensor.dtype() == DType::kString)
      return false;
    Dims dims = d.tensor.dims();
    dims[0] = 1;
    Tensor t = Tensor::zeros(d.tensor.dtype(), dims);
    std::memcpy(t.data(), d.tensor.as<char>() + static_cast<size_t>(row) * t.size_bytes(), t.size_bytes());
    to.emplace_back(std::move(t));
  }
  return true;
}

}  // namespace

std::optional<std::vector<Dims>> with_rows(const Graph& graph, std::span<const Dims> dims, int64_t rows) {
  const SymbolTable& symbols = graph.symbols();
  if (graph.inputs().empty() || dims[0].empty()) return std::nullopt;
  const int64_t batch = dims[0][0];
  std::vector<Dims> result(dims.begin(), dims.end());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Type& type = graph.inputs()[i]->type;
    if (!type.is_tensor() || !type.has_rank() || type.rank() == 0 || dims[i][0] != batch) return std::nullopt;
    if (symbols.resolve((*type.shape)[0]).is_constant()) return std::nullopt;
    result[i][0] = rows;
  }
  try {
    (void)bind_shapes(graph, result);
  } catch (const Error&) {
    return std::nullopt;  // the model ties its batch to something else
  }
  return result;
}

std::optional<std::vector<Dims>> fewer_rows(const Graph& graph, std::span<const Dims> dims, int64_t most) {
  if (dims.empty() || dims[0].empty() || dims[0][0] <= most) return std::nullopt;
  return with_rows(graph, dims, dims[0][0] % most == 0 ? most : 1);
}

std::optional<VerifySample> repeat_rows(const VerifySample& sample, int64_t rows) {
  if (sample.inputs.empty() || sample.inputs[0].tensor.rank() == 0) return std::nullopt;
  const int64_t batch = sample.inputs[0].tensor.dims()[0];
  if (batch <= 0 || rows % batch != 0) return std::nullopt;
  VerifySample repeated{sample.name + ", repeated", {}, {}, sample.is_random, true};
  if (!repeat_all(sample.inputs, batch, rows, repeated.inputs) ||
      !repeat_all(sample.expected, batch, rows, repeated.expected))
    return std::nullopt;
  return repeated;
}

std::optional<VerifySample> row_of(const VerifySample& sample, int64_t row) {
  if (sample.inputs.empty() || sample.inputs[0].tensor.rank() == 0) return std::nullopt;
  const int64_t batch = sample.inputs[0].tensor.dims()[0];
  VerifySample one{sample.name + ", row " + std::to_string(row), {}, {}, sample.is_random, true};
  if (row >= batch || !row_of_all(sample.inputs, batch, row, one.inputs) ||
      !row_of_all(sample.expected, batch, row, one.expected))
    return std::nullopt;
  return one;
}

void put_row(std::vector<Datum>& batch, const std::vector<Datum>& one, int64_t row) {
  for (size_t i = 0; i < batch.size(); ++i)
    std::memcpy(batch[i].tensor.as<char>() + static_cast<size_t>(row) * one[i].tensor.size_bytes(),
                one[i].tensor.data(), one[i].tensor.size_bytes());
}

}  // namespace wootz
