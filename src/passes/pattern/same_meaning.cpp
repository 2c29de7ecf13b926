// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/same_meaning.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/pattern/match.h"

namespace wootz {
namespace {

constexpr int64_t kPoints = 64;
constexpr size_t kMostNodes = 24;
constexpr double kBound = 1e-5;

bool is_computable(const Value& value) {
  const Node* node = value.producer();
  if (!node || node->outputs().size() != 1 || !node->subgraphs().empty()) return false;
  const OpDef* def = OpRegistry::global().find(*node);
  // Casts would leave double.
  return def && def->fusion == FusionKind::kPointwise && def->deterministic && def->evaluate &&
         !node->is("Cast") && !node->is("CastLike");
}

/// What repeats its operand's numbers: a given number stays itself.
const Value& behind_expand(const Value& value) {
  const Node* node = value.producer();
  return node && node->is("Expand") ? behind_expand(*node->input(0)) : value;
}

/// A value of its own: not another one's elements, of which a rule may know more than that they are numbers.
bool is_free(const Value& value) {
  const OpDef* def = value.producer() ? OpRegistry::global().find(*value.producer()) : nullptr;
  return !value.producer() ||
         (def && (def->fusion == FusionKind::kReduction || def->fusion == FusionKind::kContraction));
}

bool is_number_or_truth(const Value& value) {
  return value.type.is_tensor() && (value.type.dtype == DType::kFloat32 || value.type.dtype == DType::kBool);
}

Tensor in_double(const Tensor& t) {
  if (t.dtype() != DType::kFloat32) return t;
  Tensor wide = Tensor::zeros(DType::kFloat64, t.dims());
  for (int64_t i = 0; i < t.size(); ++i) wide.as<double>()[i] = t.as<float>()[i];
  return wide;
}

/// One expression over single numbers and what it starts from.
class Expression {
 public:
  /// Whether everything down from `value` can be computed from values that cannot, which are given.
  bool collect(const Value& repeated) {
    const Value& value = behind_expand(repeated);
    if (!seen_.insert(&value).second) return true;
    if (uniform_value(&value)) return true;
    if (!is_number_or_truth(value)) return false;
    if (!is_computable(value)) return given_.push_back(&value), true;
    if (++nodes_ > kMostNodes) return false;
    for (const Value* v : value.producer()->inputs())
      if (v && !collect(*v)) return false;
    return true;
  }
  const std::vector<const Value*>& given() const { return given_; }

 private:
  std::set<const Value*> seen_;
  std::vector<const Value*> given_;  // in the order of the expression
  size_t nodes_ = 0;
};

/// Numbers from -4 to 4, in an order of its own for each of the values that are given.
Datum points(DType dtype, int64_t order) {
  Tensor t = Tensor::zeros(dtype == DType::kBool ? DType::kBool : DType::kFloat64, {kPoints});
  for (int64_t i = 0; i < kPoints; ++i) {
    const int64_t at = (i * (26 * order + 1)) % kPoints;  // odd: each of them once
    if (dtype == DType::kBool)
      t.as<bool>()[i] = (at >> 1 & 1) != 0;
    else
      t.as<double>()[i] = (static_cast<double>(at) - 31.5) * 0.1247;
  }
  return Datum(std::move(t));
}

class Evaluator {
 public:
  explicit Evaluator(const std::vector<const Value*>& given) {
    int64_t order = 0;
    for (const Value* v : given) known_.emplace(v, points(v->type.dtype, order++));
  }

  const Datum& of(const Value& repeated) {
    const Value& value = behind_expand(repeated);
    if (const auto it = known_.find(&value); it != known_.end()) return it->second;
    if (const auto number = uniform_value(&value)) {
      const Tensor& all = *value.constant;
      Tensor one = Tensor::zeros(all.dtype(), {});
      std::copy_n(all.as<char>(), one.size_bytes(), one.as<char>());
      return known_.emplace(&value, Datum(in_double(one))).first->second;
    }
    std::vector<const Datum*> inputs;
    for (const Value* v : value.producer()->inputs()) inputs.push_back(v ? &of(*v) : nullptr);
    return known_.emplace(&value, std::move(evaluate_node(*value.producer(), inputs)[0])).first->second;
  }

 private:
  std::map<const Value*, Datum> known_;  // whose elements stay where they are
};

std::string compare(const Tensor& old, const Tensor& made) {
  const std::vector<double> want = old.to_doubles(), got = made.to_doubles();
  if (want.empty() || got.empty()) return "";
  const auto at = [](const std::vector<double>& v, size_t i) { return v[v.size() == 1 ? 0 : i]; };
  double scale = 0;
  for (double v : want)
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  for (size_t i = 0; i < std::max(want.size(), got.size()); ++i) {
    const double a = at(want, i), b = at(got, i);
    if (!std::isfinite(a) || !std::isfinite(b) || std::fabs(a - b) <= kBound * scale) continue;
    char text[96];
    std::snprintf(text, sizeof text, "expected %.9g, found %.9g", a, b);
    return text;
  }
  return "";
}

}  // namespace

std::string difference_in_meaning(const Value& old, const Value& made) {
  if (!is_computable(old) || !is_computable(made)) return "";
  Expression before, after;
  if (!before.collect(old) || !after.collect(made)) return "";
  for (const Value* v : after.given())
    if (std::ranges::find(before.given(), v) == before.given().end()) return "";
  for (const Value* v : before.given())
    if (!is_free(*v) && std::ranges::find(after.given(), v) == after.given().end()) return "";
  try {
    Evaluator evaluator(before.given());
    const Tensor& expected = evaluator.of(old).tensor;
    return compare(expected, evaluator.of(made).tensor);
  } catch (const Error&) {
    return "";  // an operator without a meaning for double
  }
}

}  // namespace wootz
