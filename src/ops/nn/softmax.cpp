// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax: one walk over lines, three formulas.
#include "ops/nn/softmax.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/canonicalize.h"
#include "ops/double_math.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_softmax {
namespace {

/// Before opset 13 the operand is seen as a matrix: rows are the dims before `axis` (default 1), columns the
/// rest.
void canonicalize(CanonicalizeContext& c) {
  if (c.opset() >= 13) return;
  Node& node = c.node();
  const int64_t axis = node.attributes.get<int64_t>("axis", 1);
  const Value* x = node.input(0);
  const bool last = axis == -1 || (x && x->type.has_rank() && axis == x->type.rank() - 1);
  node.attributes.set("axis", last ? int64_t{-1} : axis);
  if (!last) node.attributes.set("flatten", int64_t{1});
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<SoftmaxAttributes>();
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  // A flattened axis may equal the rank (rows of no dims), a scalar has none.
  if (c.has_rank(0) && c.rank(0) > 0 && !(a.flatten && a.axis == c.rank(0)))
    c.normalize_axis(a.axis, c.rank(0));
  c.set_output(0, y);
}

double largest(std::span<const double> line) {
  double best = -std::numeric_limits<double>::infinity();
  for (double v : line)
    if (v > best || std::isnan(v)) best = v;
  return best;
}

void softmax_line(std::span<double> line) { softmax_all(line); }

void log_softmax_line(std::span<double> line) {
  const double top = largest(line);
  double sum = 0;
  for (double v : line) sum += std::exp(v - top);
  for (double& v : line) v = v - top - std::log(sum);
}

void hardmax_line(std::span<double> line) {
  size_t best = 0;
  for (size_t i = 1; i < line.size(); ++i)
    if (line[i] > line[best]) best = i;
  for (size_t i = 0; i < line.size(); ++i) line[i] = i == best ? 1 : 0;
}

constexpr int64_t kWorthIt = 1 << 13;  // elements; with fewer a part of its own does not pay

template <void (*kLine)(std::span<double>)>
void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<SoftmaxAttributes>();
  const Tensor& x = c.input(0);
  const Dims& dims = x.dims();
  int64_t count = 1, stride = 1;
  if (a.flatten && a.axis == x.rank()) {
    count = 1;
  } else if (x.rank() > 0) {
    const size_t axis = static_cast<size_t>(c.normalize_axis(a.axis, x.rank()));
    count = a.flatten ? dims_product(dims, axis, dims.size()) : dims[axis];
    stride = a.flatten ? 1 : dims_product(dims, axis + 1, dims.size());
  }
  Tensor& y = c.output(0, x.dtype(), dims);
  if (x.size() == 0) return;
  visit_float(x.dtype(), [&](auto t) {
    using T = decltype(t);
    in_parts(x.size() / count, std::max<int64_t>(1, kWorthIt / count), [&](int64_t begin, int64_t end) {
      std::vector<double> line(static_cast<size_t>(count));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / stride * count * stride + i % stride;
        const T* from = x.as<T>() + first;
        T* to = y.as<T>() + first;
        if constexpr (std::is_same_v<T, float>)
          if (stride == 1) {
            widen(from, line.size(), line.data());
            kLine(line);
            narrow(line.data(), line.size(), to);
            continue;
          }
        for (int64_t k = 0; k < count; ++k)
          line[static_cast<size_t>(k)] = static_cast<double>(from[k * stride]);
        kLine(line);
        for (int64_t k = 0; k < count; ++k) to[k * stride] = static_cast<T>(line[static_cast<size_t>(k)]);
      }
    });
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  const auto axis = [](int64_t v) { return sample_attributes({{"axis", int_attribute(v)}}); };
  s.push_back({"last axis", {sample_floats({3, 7})}, {}});
  s.push_back({"axis 1 of 3", {sample_floats({2, 5, 3})}, axis(1)});
  s.push_back({"axis 0", {sample_floats({4, 3})}, axis(0)});
  s.push_back({"negative axis", {sample_floats({2, 3, 4})}, axis(-2)});
  s.push_back({"flattened",
               {sample_floats({2, 3, 4})},
               sample_attributes({{"axis", int_attribute(1)}, {"flatten", int_attribute(1)}})});
  s.push_back({"large values", {sample_values(DType::kFloat32, {2, 6}, -1e4, 1e4)}, {}});
  s.push_back({"length 1", {sample_floats({3, 1})}, {}});
  s.push_back({"empty", {sample_floats({0, 4})}, {}});
  s.push_back({"float16", {sample_floats({2, 9}, 1, DType::kFloat16)}, {}});
  s.push_back({"bfloat16", {sample_floats({2, 9}, 1, DType::kBFloat16)}, {}});
  s.push_back({"float64", {sample_floats({2, 9}, 1, DType::kFloat64)}, {}});
  return s;
}

void add(OpRegistry& registry, const char* name, const char* doc, void (*evaluate)(EvalContext&)) {
  OpDef d;
  d.name = name;
  d.doc = doc;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<SoftmaxAttributes>();
  d.fusion = FusionKind::kReduction;
  d.canonicalize = canonicalize;
  d.infer = infer;
  d.evaluate = evaluate;
  d.flops = [](const Node&, std::span<const Dims>, std::span<const Dims> outputs) {
    return 4.0 * static_cast<double>(element_count(outputs[0]));
  };
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add(registry, "Softmax", "y = exp(x - max) / sum of exp(x - max) along the axis (ONNX Softmax-13).",
      evaluate<softmax_line>);
  add(registry, "LogSoftmax", "y = x - max - log(sum of exp(x - max)) along the axis (ONNX LogSoftmax-13).",
      evaluate<log_softmax_line>);
  add(registry, "Hardmax", "1 at the first largest element along the axis, 0 elsewhere (ONNX Hardmax-13).",
      evaluate<hardmax_line>);
}

}  // namespace wootz::op_softmax
