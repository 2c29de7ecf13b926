// SPDX-License-Identifier: Apache-2.0
#include "quantize/collect.h"

#include <algorithm>
#include <cmath>

#include "base/allowed_cpus.h"
#include "base/error.h"
#include "compiler/baseline.h"

namespace wootz {
namespace {

[[noreturn]] void bad_sample(size_t index, const std::string& what) {
  throw Error(ErrorKind::kInvalidArgument, "sample " + std::to_string(index + 1) + ": " + what);
}

std::string dims_of(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

void check(size_t index, const Value& input, const Datum& datum) {
  const Type& type = input.type;
  if (!type.is_tensor() || datum.kind != Datum::Kind::kTensor) return;
  const Tensor& t = datum.tensor;
  const auto fail = [&](const std::string& found) {
    bad_sample(index, "input '" + input.name + "': expected " + to_string(type, input.graph()->symbols()) +
                          ", found " + found);
  };
  if (t.dtype() != type.dtype) fail(std::string(dtype_name(t.dtype())) + dims_of(t.dims()));
  if (type.has_rank()) {
    if (t.rank() != type.rank()) fail("dims " + dims_of(t.dims()));
    for (size_t i = 0; i < t.dims().size(); ++i)
      if ((*type.shape)[i].is_constant() && (*type.shape)[i].value() != t.dims()[i])
        fail("dims " + dims_of(t.dims()));
  }
  if (t.size() == 0) fail("no elements");
  if (t.dtype() == DType::kFloat32)
    for (float v : t.span<float>())
      if (!std::isfinite(v))
        bad_sample(index, "input '" + input.name + "': expected finite numbers, found " +
                              (std::isnan(v) ? "NaN" : "an infinity"));
}

Tensor rounded(const Tensor& t, const QuantParameters& p) {
  const double low = p.type == DType::kInt8 ? -128 : 0;
  Tensor to = Tensor::zeros(DType::kFloat32, t.dims());
  for (int64_t i = 0; i < t.size(); ++i) {
    const double q = std::nearbyint(double(t.as<float>()[i] / p.scale)) + p.zero;
    to.as<float>()[i] = static_cast<float>(std::clamp(q, low, low + 255) - p.zero) * p.scale;
  }
  return to;
}

}  // namespace

void ActivationStats::add(const Tensor& values) {
  if (values.rank() <= axis) return;
  const Dims& dims = values.dims();
  const int64_t channels = dims[static_cast<size_t>(axis)];
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) inner *= dims[i];
  largest.resize(static_cast<size_t>(channels), 0);
  sum.resize(static_cast<size_t>(channels), 0);
  squares.resize(static_cast<size_t>(channels), 0);
  const float* p = values.as<float>();
  const int64_t rows = values.size() / (channels * inner);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < channels; ++c) {
      float most = 0;
      double total = 0, square = 0;
      for (int64_t i = 0; i < inner; ++i, ++p) {
        most = std::max(most, std::fabs(*p));
        total += double(*p);
        square += double(*p) * double(*p);
      }
      largest[static_cast<size_t>(c)] = std::max(largest[static_cast<size_t>(c)], double(most));
      sum[static_cast<size_t>(c)] += total;
      squares[static_cast<size_t>(c)] += square;
    }
  elements += static_cast<double>(rows * inner);
}

CheckedSamples::CheckedSamples(const Graph& graph, const SampleSource& source, size_t most)
    : graph_(graph), source_(source), most_(most) {}

bool CheckedSamples::get(size_t index, std::vector<Datum>& inputs) const {
  NamedData sample;
  if (index >= most_ || !source_ || !source_(index, sample)) return false;
  inputs.clear();
  std::string names;
  for (const Value* v : graph_.inputs()) {
    names += (names.empty() ? "'" : ", '") + v->name + "'";
    const auto it = sample.find(v->name);
    if (it == sample.end()) bad_sample(index, "expected input '" + v->name + "', found none of that name");
    check(index, *v, it->second);
    inputs.push_back(it->second);
  }
  for (const auto& [name, datum] : sample)
    if (!graph_.find_value(name) || !graph_.find_value(name)->is_graph_input())
      bad_sample(index, "expected the inputs " + names + ", found '" + name + "' too");
  return true;
}

void CheckedSamples::for_each(const std::function<void(size_t, const std::vector<Datum>&)>& run) {
  std::vector<Datum> inputs;
  size_t index = 0;
  for (; get(index, inputs); ++index) run(index, inputs);
  count_ = index;
  if (index == 0)
    throw Error(ErrorKind::kInvalidArgument,
                "expected at least one sample to measure ranges with, found none; give real inputs");
}

std::map<std::string, ActivationStats> collect_stats(const Graph& graph, CheckedSamples& samples,
                                                     const std::map<std::string, int64_t>& axes, int threads,
                                                     const std::function<void(size_t)>& report,
                                                     const std::map<std::string, QuantParameters>& rounding) {
  std::map<std::string, ActivationStats> stats;
  for (const auto& [name, axis] : axes) stats[name].axis = axis;
  const Baseline baseline(graph.clone(std::make_shared<SymbolTable>(graph.symbols()), nullptr),
                          threads > 0 ? threads : allowed_cpus());
  samples.for_each([&](size_t index, const std::vector<Datum>& inputs) {
    const auto visit = [&](const Value* v, const Datum& d) {
      const auto it = stats.find(v->name);
      if (it == stats.end() || d.kind != Datum::Kind::kTensor || d.tensor.dtype() != DType::kFloat32) return;
      if (!it->second.histogram.add(d.tensor.span<float>()))
        bad_sample(index, "'" + v->name +
                              "' holds NaN or an infinity; keep its readers in float32, or "
                              "leave the sample out");
      const auto parameters = rounding.find(v->name);
      it->second.add(parameters == rounding.end() ? d.tensor : rounded(d.tensor, parameters->second));
    };
    for (size_t i = 0; i < inputs.size(); ++i) visit(graph.inputs()[i], inputs[i]);
    baseline.run(inputs, visit);
    report(index);
  });
  return stats;
}

}  // namespace wootz
