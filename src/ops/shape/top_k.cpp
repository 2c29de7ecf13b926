// SPDX-License-Identifier: Apache-2.0
// TopK: the K largest (or smallest) elements along `axis`, best first, and their indices; ties: lower index
// first, NaN counts as the largest.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_top_k {
namespace {

struct TopKAttributes {
  int64_t axis = -1, largest = 1, sorted = 1;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("largest", largest);
    v("sorted", sorted);
  }
};

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() < 10) ctx.attribute_to_input("k", 1);
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  ctx.set_output(1, DType::kInt64);
  if (!ctx.has_rank(0)) return;
  const auto axis =
      static_cast<size_t>(ctx.normalize_axis(ctx.attributes_as<TopKAttributes>().axis, ctx.rank(0)));
  Shape shape = ctx.shape(0);
  const auto k = small_contents(ctx, 1);
  ctx.check(!k || k->size() == 1, "expected K to be one integer");
  if (k) {
    ctx.check(ctx.symbols().upper_bound(k->front()) >= 0 &&
                  ctx.symbols().lower_bound(k->front() - shape[axis]) <= 0,
              "expected K in [0, " + ctx.symbols().to_string(shape[axis]) + "], found " +
                  ctx.symbols().to_string(k->front()));
  }
  shape[axis] = k ? k->front() : ctx.unknown("k", known_upper(ctx.symbols(), shape[axis]));
  ctx.set_output(0, ctx.dtype(0), shape);
  ctx.set_output(1, DType::kInt64, std::move(shape));
}

template <class T>
bool less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(b) ? !std::isnan(a) : a < b;
  else if constexpr (std::is_arithmetic_v<T>)
    return a < b;
  else if constexpr (requires { static_cast<int64_t>(a); })
    return static_cast<int64_t>(a) < static_cast<int64_t>(b);
  else
    return less(static_cast<float>(a), static_cast<float>(b));
}

template <class T>
void top_of_row(const T* row, int64_t stride, int64_t count, int64_t k, bool largest, Ints& order) {
  order.resize(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  auto better = [&](int64_t a, int64_t b) {
    const T &x = row[a * stride], &y = row[b * stride];
    if (largest ? less(y, x) : less(x, y)) return true;
    if (largest ? less(x, y) : less(y, x)) return false;
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), better);
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const auto attributes = ctx.attributes_as<TopKAttributes>();
  const int64_t axis = ctx.normalize_axis(attributes.axis, data.rank());
  ctx.check(ctx.input(1).size() == 1, "expected K to be one integer");
  const int64_t k = only_int64(ctx.input(1), "k"), count = data.dims()[static_cast<size_t>(axis)];
  ctx.check(k >= 0 && k <= count,
            "expected K in [0, " + std::to_string(count) + "], found " + std::to_string(k));
  Dims dims = data.dims();
  dims[static_cast<size_t>(axis)] = k;
  Tensor& values = ctx.output(0, data.dtype(), dims);
  Tensor& indices = ctx.output(1, DType::kInt64, dims);
  const int64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, data.rank());
  visit_numeric(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Ints order;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        const T* row = data.as<T>() + o * count * inner + i;
        top_of_row(row, inner, count, k, attributes.largest != 0, order);
        for (int64_t j = 0; j < k; ++j) {
          const int64_t to = (o * k + j) * inner + i, from = order[static_cast<size_t>(j)];
          values.as<T>()[to] = row[from * inner];
          indices.as<int64_t>()[to] = from;
        }
      }
  });
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = floats({2, 4}, {3, 1, 4, 1, 5, 9, 2, 6});
  const std::pair<std::string, Attribute> smallest{"largest", int64_t{0}};
  return {make("largest", {x, ints({2})}, {}, 2),
          make("ties", {ints({5}, {7, 0, 7, 7, 3}), ints({3})}, {}, 2),
          make("smallest", {x, ints({3})}, {smallest}, 2),
          make("axis 0", {x, ints({1})}, {{"axis", int64_t{0}}}, 2),
          make("all", {x, ints({4})}, {{"sorted", int64_t{0}}}, 2),
          make("none", {x, ints({0})}, {}, 2),
          make("nan", {floats({3}, {1, NAN, 2}), ints({2})}, {}, 2),
          make("half", {counting(DType::kFloat16, {5}), ints({2})}, {}, 2),
          make("empty", {Tensor::zeros(DType::kFloat32, {0, 3}), ints({2})}, {}, 2)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "TopK";
  def.doc =
      "The K largest (or smallest) elements along `axis`, best first, and their indices; ties: lower index "
      "first.";
  def.min_inputs = def.max_inputs = 2;
  def.min_outputs = 1;
  def.max_outputs = 2;
  def.attributes = attribute_specs<TopKAttributes>();
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_top_k
