// SPDX-License-Identifier: Apache-2.0
// The Reduce operators: each is a map before the fold, the fold, and a map after it.
#include "ops/reduction/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/broadcast_runs.h"
#include "ops/canonicalize.h"
#include "ops/double_math.h"
#include "ops/doubles.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_reduce {
namespace {

enum class Reduction { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare };

void canonicalize(CanonicalizeContext& c) {
  const int moved = c.node().op == "ReduceSum" ? 13 : 18;  // when axes became an input
  if (c.opset() < moved) c.attribute_to_input("axes", 1);
}

/// Which dims are reduced; `axes` empty: all, or none with noop_with_empty_axes.
template <class Context>
std::vector<bool> reduced_dims(const Context& c, const ReduceAttributes& a, std::span<const int64_t> axes,
                               int64_t rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty() && !a.noop_with_empty_axes);
  for (int64_t axis : axes) reduced[static_cast<size_t>(c.normalize_axis(axis, rank, "axes"))] = true;
  return reduced;
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<ReduceAttributes>();
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  const Shape& x = c.shape(0);
  std::optional<std::vector<int64_t>> axes = c.has_input(1) ? c.ints(1) : std::vector<int64_t>();
  Shape out;
  if (!axes) {  // a single unknown axis tells the rank; of several, two may be the same
    const bool single =
        c.has_rank(1) && c.rank(1) == 1 && c.shape(1)[0].is_constant() && c.shape(1)[0].value() == 1;
    if (!a.keepdims && !single) return c.set_output(0, c.dtype(0));
    const int64_t rank = a.keepdims ? c.rank(0) : c.rank(0) - 1;
    for (int64_t i = 0; i < rank; ++i) out.push_back(c.unknown("reduced"));
    return c.set_output(0, c.dtype(0), out);
  }
  const std::vector<bool> reduced = reduced_dims(c, a, *axes, c.rank(0));
  for (size_t i = 0; i < x.size(); ++i)
    if (!reduced[i])
      out.push_back(x[i]);
    else if (a.keepdims)
      out.push_back(1);
  c.set_output(0, c.dtype(0), out);
  // The product or sum of a shape vector stays an expression.
  const auto contents = c.contents(0);
  if (!contents || x.size() != 1 || !reduced[0]) return;
  if (c.node().op == "ReduceProd") c.set_contents(0, {c.symbols().product(*contents)});
  if (c.node().op == "ReduceSum") {
    Dim sum = 0;
    for (const Dim& d : *contents) sum = sum + d;
    c.set_contents(0, {sum});
  }
}

/// Positions of the output are visited with stride 0 along reduced dims.
struct Plan {
  Dims keep, dims;  // output dims with and without the reduced ones as 1
  Odometer at;
  int64_t count = 1;  // elements reduced into one
};

Plan plan_of(const EvalContext& c, const ReduceAttributes& a, std::vector<bool>* mask = nullptr) {
  const Dims& x = c.input(0).dims();
  const std::vector<int64_t> axes = c.has_input(1) ? c.input(1).to_int64s() : std::vector<int64_t>();
  const std::vector<bool> reduced = reduced_dims(c, a, axes, static_cast<int64_t>(x.size()));
  Dims keep = x, dims;
  int64_t count = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (reduced[i]) {
      keep[i] = 1;
      count *= x[i];
    }
    if (!reduced[i] || a.keepdims) dims.push_back(keep[i]);
  }
  Dims strides = contiguous_strides(keep);
  for (size_t i = 0; i < x.size(); ++i)
    if (reduced[i]) strides[i] = 0;
  if (mask) *mask = reduced;
  return {keep, dims, Odometer(x, {strides}), count};
}

template <Reduction kKind, class T>
T start() {
  if constexpr (kKind == Reduction::kProd)
    return 1;
  else if constexpr (kKind == Reduction::kMax || kKind == Reduction::kLogSumExp)
    return std::is_same_v<T, double> ? T(-std::numeric_limits<double>::infinity())
                                     : std::numeric_limits<T>::lowest();
  else if constexpr (kKind == Reduction::kMin)
    return std::is_same_v<T, double> ? T(std::numeric_limits<double>::infinity())
                                     : std::numeric_limits<T>::max();
  else
    return 0;
}

/// Integers wrap: sums and products are taken in uint64_t.
template <class T>
T wrapped(char op, T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return op == '+' ? a + b : a * b;
  else {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(op == '+' ? x + y : x * y);
  }
}

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(v);
  else
    return false;
}

template <Reduction kKind, class T>
void fold(T& into, T v) {
  if constexpr (kKind == Reduction::kMax || kKind == Reduction::kLogSumExp) {
    if (v > into || is_nan(v)) into = v;
  } else if constexpr (kKind == Reduction::kMin) {
    if (v < into || is_nan(v)) into = v;
  } else if constexpr (kKind == Reduction::kProd) {
    into = wrapped('*', into, v);
  } else if constexpr (kKind == Reduction::kL1) {
    into = wrapped('+', into, v < T(0) ? wrapped('*', v, T(-1)) : v);
  } else if constexpr (kKind == Reduction::kL2 || kKind == Reduction::kSumSquare) {
    into = wrapped('+', into, wrapped('*', v, v));
  } else {
    into = wrapped('+', into, v);
  }
}

template <Reduction kKind, class T>
T finish(T v, int64_t count) {
  if constexpr (kKind == Reduction::kMean) {
    if constexpr (std::is_same_v<T, double>)
      return v / static_cast<double>(count);
    else
      return count ? static_cast<T>(v / static_cast<T>(count)) : T(0);
  } else if constexpr (kKind == Reduction::kL2) {
    return static_cast<T>(std::sqrt(static_cast<double>(v)));
  } else if constexpr (kKind == Reduction::kLogSum) {
    return static_cast<T>(std::log(static_cast<double>(v)));
  } else {
    return v;
  }
}

template <Reduction kKind, class T>
std::vector<T> reduce(const std::vector<T>& x, const Plan& plan) {
  std::vector<T> result(static_cast<size_t>(element_count(plan.keep)), start<kKind, T>());
  Odometer at = plan.at;
  for (const T& v : x) {
    fold<kKind>(result[static_cast<size_t>(at.offset(0))], v);
    at.next();
  }
  if constexpr (kKind == Reduction::kLogSumExp && std::is_same_v<T, double>) {
    std::vector<double> sums(result.size(), 0);
    at = plan.at;
    for (double v : x) {
      const size_t i = static_cast<size_t>(at.offset(0));
      sums[i] += std::isinf(result[i]) ? std::exp(v) : std::exp(v - result[i]);
      at.next();
    }
    for (size_t i = 0; i < sums.size(); ++i)
      result[i] = std::isinf(result[i]) ? std::log(sums[i]) : result[i] + std::log(sums[i]);
  } else {
    for (T& v : result) v = finish<kKind>(v, plan.count);
  }
  return result;
}

template <Reduction kKind, class T>
void reduce_integers(const Tensor& x, const Plan& plan, Tensor& y) {
  const std::vector<int64_t> raw = x.to_int64s();
  const std::vector<T> result = reduce<kKind, T>({raw.begin(), raw.end()}, plan);
  if (y.dtype() == DType::kBool) {
    for (size_t i = 0; i < result.size(); ++i)
      y.as<bool>()[i] = plan.count == 0 && kKind == Reduction::kMax ? false : result[i] != 0;
    return;
  }
  visit_storage(y.dtype(), [&](auto t) {
    using S = decltype(t);
    if constexpr (std::is_integral_v<S>)
      for (size_t i = 0; i < result.size(); ++i) {
        // The identity of an empty max or min is the end of the dtype's own range.
        const bool clamped = (kKind == Reduction::kMax || kKind == Reduction::kMin) && plan.count == 0;
        y.as<S>()[i] = static_cast<S>(result[i]);
        if (clamped) {
          const bool is_signed = is_signed_integer(y.dtype());
          const S all = static_cast<S>(~S(0)), top = static_cast<S>(all >> 1);
          const S low = is_signed ? static_cast<S>(top + 1) : S(0), high = is_signed ? top : all;
          y.as<S>()[i] = kKind == Reduction::kMax ? low : high;
        }
      }
  });
}

/// Dims that are reduced side by side: [outer, count, inner].
struct Lines {
  int64_t outer = 1, inner = 1;
};

std::optional<Lines> lines_of(const Dims& x, const std::vector<bool>& reduced) {
  const auto first = std::find(reduced.begin(), reduced.end(), true);
  const auto last = std::find(first, reduced.end(), false);
  if (first == reduced.end() || std::find(last, reduced.end(), true) != reduced.end()) return std::nullopt;
  return Lines{dims_product(x, 0, static_cast<size_t>(first - reduced.begin())),
               dims_product(x, static_cast<size_t>(last - reduced.begin()), x.size())};
}

/// `count` rows [inner], folded into one.
template <Reduction kKind>
void fold_rows(const Tensor& x, int64_t at, int64_t count, std::vector<double>& row,
               std::vector<double>& into) {
  const auto inner = static_cast<int64_t>(into.size());
  if (inner == 1) {
    load_run(x, at, 1, row.size(), row.data());
    if constexpr (kKind == Reduction::kSum || kKind == Reduction::kMean)
      into[0] = sum_of(row);
    else
      for (double v : row) fold<kKind>(into[0], v);
    return;
  }
  for (int64_t r = 0; r < count; ++r) {
    load_run(x, at + r * inner, 1, row.size(), row.data());
    for (size_t i = 0; i < row.size(); ++i) fold<kKind>(into[i], row[i]);
  }
}

/// Of floating-point numbers: line by line, on all threads.
template <Reduction kKind>
void reduce_lines(const Tensor& x, const Lines& lines, int64_t count, Tensor& y) {
  constexpr int64_t kPartElements = 1 << 13;  // elements; with fewer a part of its own does not pay
  const int64_t each = count * lines.inner;
  in_parts(lines.outer, std::max<int64_t>(1, kPartElements / each), [&](int64_t begin, int64_t end) {
    std::vector<double> row(static_cast<size_t>(lines.inner == 1 ? count : lines.inner)),
        result(static_cast<size_t>(lines.inner));
    for (int64_t o = begin; o < end; ++o) {
      std::fill(result.begin(), result.end(), start<kKind, double>());
      fold_rows<kKind>(x, o * each, count, row, result);
      for (double& v : result) v = finish<kKind>(v, count);
      store_reals(y, o * lines.inner, result);
    }
  });
}

template <Reduction kKind>
void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<ReduceAttributes>();
  const Tensor& x = c.input(0);
  std::vector<bool> reduced;
  const Plan plan = plan_of(c, a, &reduced);
  Tensor& y = c.output(0, x.dtype(), plan.dims);
  constexpr bool kInFloats = kKind == Reduction::kLogSum || kKind == Reduction::kLogSumExp;
  if constexpr (kKind != Reduction::kLogSumExp)
    if (const auto lines = lines_of(x.dims(), reduced); lines && x.size() > 0 && is_float(x.dtype()))
      return reduce_lines<kKind>(x, *lines, plan.count, y);
  if (is_float(x.dtype()) || kInFloats)
    store_doubles(reduce<kKind, double>(x.to_doubles(), plan), y);
  else if (x.dtype() == DType::kUint64)
    reduce_integers<kKind, uint64_t>(x, plan, y);
  else
    reduce_integers<kKind, int64_t>(x, plan, y);
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  const auto keep = [](int64_t v) { return sample_attributes({{"keepdims", int_attribute(v)}}); };
  const auto x = [](Dims dims, DType t = DType::kFloat32) {
    return sample_values(t, std::move(dims), 0.5, 3);
  };
  const auto axes = [](Ints v) { return Tensor::int64s(v); };
  s.push_back({"one axis", {x({3, 4, 5}), axes({1})}, {}});
  s.push_back({"last axis, dropped", {x({3, 4, 5}), axes({-1})}, keep(0)});
  s.push_back({"two axes", {x({3, 4, 5}), axes({0, -1})}, keep(0)});
  s.push_back({"all axes", {x({3, 4})}, {}});
  s.push_back({"all axes, dropped", {x({3, 4})}, keep(0)});
  s.push_back({"empty axes are no-ops",
               {x({2, 3}), axes({})},
               sample_attributes({{"noop_with_empty_axes", int_attribute(1)}})});
  s.push_back({"scalar", {x({})}, {}});
  s.push_back({"empty result", {x({0, 3}), axes({1})}, {}});
  s.push_back({"size 1", {x({1, 1, 1}), axes({0, 2})}, {}});
  s.push_back({"int32", {sample_values(DType::kInt32, {3, 4}, 1, 9), axes({0})}, {}});
  s.push_back({"int64", {sample_values(DType::kInt64, {3, 4}, 1, 9), axes({1})}, {}});
  s.push_back({"float16", {x({3, 40}, DType::kFloat16), axes({1})}, {}});
  s.push_back({"bfloat16", {x({3, 40}, DType::kBFloat16), axes({1})}, {}});
  s.push_back({"float64", {x({3, 4}, DType::kFloat64), axes({1})}, {}});
  return s;
}

template <Reduction kKind>
void add(OpRegistry& registry, const char* name, const char* formula) {
  OpDef d;
  d.name = name;
  d.doc = std::string(formula) + " over the axes (input 1; none: all axes) (ONNX " + name + ").";
  d.min_inputs = 1;
  d.max_inputs = 2;
  d.attributes = attribute_specs<ReduceAttributes>();
  d.fusion = FusionKind::kReduction;
  d.canonicalize = canonicalize;
  d.infer = infer;
  d.evaluate = evaluate<kKind>;
  d.flops = [](const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
    return static_cast<double>(element_count(inputs[0]));
  };
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add<Reduction::kSum>(registry, "ReduceSum", "sum x");
  add<Reduction::kMean>(registry, "ReduceMean", "(sum x) / count");
  add<Reduction::kMax>(registry, "ReduceMax", "max x");
  add<Reduction::kMin>(registry, "ReduceMin", "min x");
  add<Reduction::kProd>(registry, "ReduceProd", "product of x");
  add<Reduction::kL1>(registry, "ReduceL1", "sum |x|");
  add<Reduction::kL2>(registry, "ReduceL2", "sqrt(sum x^2)");
  add<Reduction::kLogSum>(registry, "ReduceLogSum", "log(sum x)");
  add<Reduction::kLogSumExp>(registry, "ReduceLogSumExp",
                             "log(sum exp x), computed with the maximum taken out");
  add<Reduction::kSumSquare>(registry, "ReduceSumSquare", "sum x^2");
}

}  // namespace wootz::op_reduce
