// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin.
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_arg_max {
namespace {

struct ArgAttributes {
  int64_t axis = 0, keepdims = 1, select_last_index = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("keepdims", keepdims);
    v("select_last_index", select_last_index);
  }
};

void infer(InferContext& c) {
  const auto a = c.attributes_as<ArgAttributes>();
  if (!c.has_rank(0)) return c.set_output(0, DType::kInt64);
  Shape out = c.shape(0);
  if (!out.empty()) {
    const int64_t axis = c.normalize_axis(a.axis, c.rank(0));
    if (a.keepdims)
      out[static_cast<size_t>(axis)] = 1;
    else
      out.erase(out.begin() + axis);
  }
  c.set_output(0, DType::kInt64, out);
}

/// NaN counts as the most extreme value, as in NumPy.
template <class T>
bool beats(T a, T b, bool max, bool ties) {
  if constexpr (std::is_integral_v<T>) {
    return (max ? a > b : a < b) || (ties && a == b);
  } else {
    const double x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::isnan(y)) return ties && std::isnan(x);
    return std::isnan(x) || (max ? x > y : x < y) || (ties && x == y);
  }
}

template <bool kMax>
void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<ArgAttributes>();
  const Tensor& x = c.input(0);
  Dims dims = x.dims();
  int64_t count = 1, stride = 1;
  if (!dims.empty()) {
    const size_t axis = static_cast<size_t>(c.normalize_axis(a.axis, x.rank()));
    count = dims[axis];
    stride = dims_product(dims, axis + 1, dims.size());
    if (a.keepdims)
      dims[axis] = 1;
    else
      dims.erase(dims.begin() + static_cast<long>(axis));
  }
  int64_t* y = c.output(0, DType::kInt64, dims).as<int64_t>();
  const int64_t results = element_count(dims);
  c.check(count > 0 || results == 0, "expected at least one element along the axis, found 0");
  visit_numeric(x.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (requires { t.value; }) {
      c.fail("expected a standard numeric type, found " + std::string(dtype_name(x.dtype())));
    } else {
      for (int64_t r = 0; r < results; ++r) {
        const T* line = x.as<T>() + r / stride * count * stride + r % stride;
        int64_t best = 0;
        for (int64_t i = 1; i < count; ++i)
          if (beats(line[i * stride], line[best * stride], kMax, a.select_last_index != 0)) best = i;
        y[r] = best;
      }
    }
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  s.push_back({"axis 0", {sample_floats({4, 5})}, {}});
  s.push_back({"last axis, dropped",
               {sample_floats({2, 3, 5})},
               sample_attributes({{"axis", int_attribute(-1)}, {"keepdims", int_attribute(0)}})});
  s.push_back({"first of equals",
               {sample_tensor(DType::kInt32, {1, 5}, {3, 7, 7, 1, 1})},
               sample_attributes({{"axis", int_attribute(1)}})});
  s.push_back({"last of equals",
               {sample_tensor(DType::kInt32, {1, 5}, {3, 7, 7, 1, 1})},
               sample_attributes({{"axis", int_attribute(1)}, {"select_last_index", int_attribute(1)}})});
  s.push_back({"uint8",
               {sample_values(DType::kUint8, {3, 9}, 0, 255)},
               sample_attributes({{"axis", int_attribute(1)}})});
  s.push_back({"int64",
               {sample_values(DType::kInt64, {3, 9}, -9, 9)},
               sample_attributes({{"axis", int_attribute(1)}})});
  s.push_back({"float16",
               {sample_floats({3, 9}, 1, DType::kFloat16)},
               sample_attributes({{"axis", int_attribute(1)}})});
  s.push_back({"no lines", {sample_floats({0, 3})}, sample_attributes({{"axis", int_attribute(1)}})});
  s.push_back({"length 1", {sample_floats({3, 1})}, sample_attributes({{"axis", int_attribute(1)}})});
  return s;
}

template <bool kMax>
void add(OpRegistry& registry, const char* name, const char* doc) {
  OpDef d;
  d.name = name;
  d.doc = doc;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<ArgAttributes>();
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate<kMax>;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add<true>(registry, "ArgMax",
            "The index of the first (or last) largest element along the axis (ONNX ArgMax-13).");
  add<false>(registry, "ArgMin",
             "The index of the first (or last) smallest element along the axis (ONNX ArgMin-13).");
}

}  // namespace wootz::op_arg_max
