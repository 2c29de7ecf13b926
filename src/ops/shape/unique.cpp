// SPDX-License-Identifier: Apache-2.0
// Unique: the distinct elements (slices along `axis`), sorted or in order of first appearance; with the index
// of the first, the inverse map and the counts. NaNs count as one value, the largest.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_unique {
namespace {

struct UniqueAttributes {
  std::optional<int64_t> axis;
  int64_t sorted = 1;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("sorted", sorted);
  }
};

void infer(InferContext& ctx) {
  const auto axis = ctx.attributes_as<UniqueAttributes>().axis;
  ctx.set_output(0, ctx.dtype(0));
  for (size_t i = 1; i < 4; ++i) ctx.set_output(i, DType::kInt64, {ctx.unknown("unique")});
  if (!ctx.has_rank(0)) return;
  SymbolTable& symbols = ctx.symbols();
  Shape shape = ctx.shape(0);
  if (!axis) shape = {symbols.product(shape)};
  Dim& d = shape[axis ? static_cast<size_t>(ctx.normalize_axis(*axis, ctx.rank(0))) : 0];
  const Dim all = d;
  d = ctx.unknown("unique", known_upper(symbols, all));
  const Dim count = d;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  ctx.set_output(1, DType::kInt64, {count});
  ctx.set_output(2, DType::kInt64, {all});
  ctx.set_output(3, DType::kInt64, {count});
}

template <class T>
bool less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(b) ? !std::isnan(a) : a < b;
  else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
    return a < b;
  else if constexpr (requires { static_cast<int64_t>(a); })
    return static_cast<int64_t>(a) < static_cast<int64_t>(b);
  else
    return less(static_cast<float>(a), static_cast<float>(b));
}

/// `count` slices of outer x inner elements: slice i has elements (o * count + i) * inner + k.
struct Slicing {
  int64_t outer, count, inner;
};

/// For each slice the number of its group; groups are numbered in ascending order of their value.
template <class T>
Ints group_of_slices(const T* data, const Slicing& s, int64_t& groups) {
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k = 0; k < s.inner; ++k) {
        const T &x = data[(o * s.count + a) * s.inner + k], &y = data[(o * s.count + b) * s.inner + k];
        if (less(x, y)) return -1;
        if (less(y, x)) return 1;
      }
    return 0;
  };
  Ints order(static_cast<size_t>(s.count)), group(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  groups = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) ++groups;
    group[static_cast<size_t>(order[i])] = groups - 1;
  }
  return group;
}

Ints group_of_slices(const Tensor& x, const Slicing& s, int64_t& groups) {
  if (x.dtype() == DType::kString) return group_of_slices(x.as<std::string>(), s, groups);
  return visit_numeric(x.dtype(),
                       [&](auto zero) { return group_of_slices(x.as<decltype(zero)>(), s, groups); });
}

/// Renumbers groups in order of first appearance.
void number_by_appearance(Ints& group, int64_t groups) {
  Ints number(static_cast<size_t>(groups), -1);
  int64_t next = 0;
  for (int64_t& g : group) {
    if (number[static_cast<size_t>(g)] < 0) number[static_cast<size_t>(g)] = next++;
    g = number[static_cast<size_t>(g)];
  }
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  const auto a = ctx.attributes_as<UniqueAttributes>();
  Slicing s{1, x.size(), 1};
  int64_t axis = 0;
  if (a.axis) {
    axis = ctx.normalize_axis(*a.axis, x.rank());
    s = {product(x.dims(), 0, axis), x.dims()[static_cast<size_t>(axis)],
         product(x.dims(), axis + 1, x.rank())};
  }
  int64_t groups = 0;
  Ints group = group_of_slices(x, s, groups);
  if (a.sorted == 0) number_by_appearance(group, groups);
  Dims dims = a.axis ? x.dims() : Dims{0};
  dims[static_cast<size_t>(axis)] = groups;
  Tensor& values = ctx.output(0, x.dtype(), dims);
  Tensor& first = ctx.output(1, DType::kInt64, {groups});
  Tensor& inverse = ctx.output(2, DType::kInt64, {s.count});
  Tensor& counts = ctx.output(3, DType::kInt64, {groups});
  std::fill_n(first.as<int64_t>(), groups, -1);
  std::fill_n(counts.as<int64_t>(), groups, 0);
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t g = group[static_cast<size_t>(i)];
    inverse.as<int64_t>()[i] = g;
    ++counts.as<int64_t>()[g];
    if (first.as<int64_t>()[g] >= 0) continue;
    first.as<int64_t>()[g] = i;
    for (int64_t o = 0; o < s.outer; ++o)
      copy_elements(x.dtype(), x.data(), (o * s.count + i) * s.inner, values.data(),
                    (o * groups + g) * s.inner, s.inner);
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = ints({6}, {2, 1, 1, 3, 4, 3});
  const std::pair<std::string, Attribute> axis0{"axis", int64_t{0}}, unsorted{"sorted", int64_t{0}};
  return {make("sorted", {x}, {}, 4),
          make("by appearance", {x}, {unsorted}, 4),
          make("rows", {floats({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})}, {axis0}, 4),
          make("columns", {floats({2, 3}, {1, 0, 1, 2, 5, 2})}, {{"axis", int64_t{-1}}, unsorted}, 4),
          make("only the values", {floats({2, 2}, {1, 3, 2, 3})}),
          make("nan", {floats({3}, {NAN, 1, NAN})}, {}, 4),
          make("empty", {Tensor::zeros(DType::kInt32, {0})}, {}, 4),
          make("strings", {Tensor::strings({3}, {"b", "a", "b"})}, {}, 4),
          make("scalar", {Tensor::scalar_float(1)}, {}, 4)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Unique";
  def.doc =
      "The distinct elements (slices along `axis`), with the index of the first, the inverse map and the "
      "counts.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 1;
  def.max_outputs = 4;
  def.attributes = attribute_specs<UniqueAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_unique
