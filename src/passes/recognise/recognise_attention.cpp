// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/recognise_attention.h"

#include <algorithm>
#include <cmath>

#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

/// A masked score this far down adds nothing to a softmax, whether it is added to the score or put in its
/// place.
constexpr double kMaskedScore = -1e30;

/// The number that every element of a value equals, whatever its size: a constant's, or a constant's under
/// movements and selections that depend on constants alone.
std::optional<double> uniform_number(const Value* v, int depth = 0) {
  if (!v || depth > 8) return std::nullopt;
  if (v->is_constant()) return uniform_value(v);
  const Node* n = v->producer();
  if (!n) return std::nullopt;
  if (n->is("Where")) {
    const auto condition = uniform_number(n->input(0), depth + 1);
    return condition ? uniform_number(n->input(*condition != 0 ? 1 : 2), depth + 1) : std::nullopt;
  }
  for (const char* op : {"Expand", "Reshape", "Unsqueeze", "Squeeze", "Identity", "Transpose"})
    if (n->is(op)) return uniform_number(n->input(0), depth + 1);
  return std::nullopt;
}

/// Walks from the last MatMul up to Q, K and V, collecting scale and mask.
class Attention {
 public:
  explicit Attention(Node& root) : root_(root), graph_(*root.graph()) {}

  /// The patch, or nothing with reason() where the node looks like attention but is not served.
  std::optional<Patch> match() {
    const Node* softmax = find_softmax();
    if (!softmax) return std::nullopt;
    if (!walk_scores(softmax->input(0))) return std::nullopt;
    Value* q = scores_->input(0);
    const int64_t rank = q->type.has_rank() ? q->type.rank() : 0;
    if (rank != 3 && rank != 4)
      return no("its operands have neither rank 3 nor 4",
                "bring queries, keys and values to [batch, heads, length, size]");
    q = strip_scale(q);
    const std::optional<PatchOperand> k = keys(strip_scale(scores_->input(1)), rank);
    Value* v = root_.input(1);
    if (!k || !has_rank(v, rank))
      return no("keys or values have another rank than the queries",
                "bring queries, keys and values to [batch, heads, length, size]");
    if (!leading_dims_agree(q, v, rank))
      return no("batch or heads of queries and values differ",
                "repeat keys and values for every head of the queries (Expand)");
    Value *shared_keys = k->existing ? before_repeating(k->existing) : nullptr, *shared = before_repeating(v);
    if (shared_keys && shared &&
        graph_.symbols().equal((*shared_keys->type.shape)[1], (*shared->type.shape)[1]))
      return build(q, shared_keys, shared, rank);
    return build(q, *k, v, rank);
  }
  const std::string& reason() const { return reason_; }
  const std::string& edit() const { return edit_; }

 private:
  std::optional<Patch> no(const char* reason, const char* edit) {
    reason_ = reason;
    edit_ = edit;
    return std::nullopt;
  }

  const Node* find_softmax() {
    Value* p = root_.input(0);
    if (!p || !is_read_once(p)) return nullptr;
    // PyTorch guards rows that are masked whole: where(isnan(p), 0, p).
    if (const Node* guard = produced_by(p, "Where")) {
      const Node* is_nan = produced_by(guard->input(0), "IsNaN");
      if (!is_nan || is_nan->input(0) != guard->input(2) || !is_number(guard->input(1), 0)) return nullptr;
      p = guard->input(2);
      is_guarded_ = true;
      if (p->uses().size() != 2 || graph_.is_output(p)) return nullptr;
    }
    const Node* softmax = produced_by(p, "Softmax");
    if (!softmax || !p->type.has_rank()) return nullptr;
    const int64_t axis = softmax->attributes.get<int64_t>("axis", -1);
    return axis == -1 || axis == p->type.rank() - 1 ? softmax : nullptr;
  }

  /// From the softmax's input to the MatMul of Q and K.
  bool walk_scores(Value* s) {
    for (int depth = 0; depth < 8; ++depth) {
      if (!is_read_once(s) || !s->producer()) return false;
      Node& node = *s->producer();
      if (node.is("MatMul")) {
        scores_ = &node;
        return true;
      }
      Value* next = nullptr;
      if (node.is("Add"))
        next = take_mask(node);
      else if (node.is("Mul") || node.is("Div"))
        next = take_scale(node);
      else if (node.is("Where"))
        next = take_selection(node);
      else if (node.is("Reshape"))
        next = take_window_mask(node);
      if (!next) return false;
      s = next;
    }
    return false;
  }

  static bool leads_to_matmul(const Value* v, int depth) {
    if (!v || !v->producer() || depth > 8) return false;
    const Node& n = *v->producer();
    if (n.is("MatMul")) return true;
    if (n.is("Where"))
      return leads_to_matmul(n.input(1), depth + 1) || leads_to_matmul(n.input(2), depth + 1);
    if (n.is("Div") || n.is("Reshape")) return leads_to_matmul(n.input(0), depth + 1);
    if (n.is("Add") || n.is("Mul"))
      return leads_to_matmul(n.input(0), depth + 1) || leads_to_matmul(n.input(1), depth + 1);
    return false;
  }

  Value* take_mask(const Node& add) {
    for (size_t side : {size_t(0), size_t(1)}) {
      Value *s = add.input(side), *mask = add.input(1 - side);
      if (!leads_to_matmul(s, 0) || !same_shape(s, add.output(0)) || !is_read_once(s)) continue;
      if (uniform_number(mask) == 0.0) return s;  // exporters write masks of nothing
      masks_.push_back({mask, nullptr, 0, scale_});
      return s;
    }
    return nullptr;
  }

  Value* take_scale(const Node& node) {
    for (size_t side : {size_t(0), size_t(1)}) {
      if (side == 1 && node.is("Div")) break;
      const std::optional<double> c = uniform_value(node.input(1 - side));
      if (!c || !same_shape(node.input(side), node.output(0))) continue;
      scale_ *= node.is("Div") ? 1.0 / *c : *c;
      return node.input(side);
    }
    return nullptr;
  }

  /// where(condition, s, low) and where(condition, low, s).
  Value* take_selection(const Node& where) {
    for (size_t side : {size_t(1), size_t(2)}) {
      Value* s = where.input(side);
      const std::optional<double> low = uniform_value(where.input(3 - side));
      if (!low || *low > kMaskedScore || scale_ != 1 || !leads_to_matmul(s, 0) ||
          !same_shape(s, where.output(0)))
        continue;
      masks_.push_back({where.input(0), where.input(3 - side), side == 1 ? 1 : 2, 1});
      return s;
    }
    return nullptr;
  }

  /// Windowed attention: scores [b w, h, q, k] get, seen as [b, w, h, q, k], a constant mask per window w.
  Value* take_window_mask(const Node& merge) {
    const Value* split_scores = merge.input(0);
    const Node* add = produced_by(split_scores, "Add");
    if (!add || windows_ || scale_ != 1 || !has_rank(split_scores, 5) || !is_read_once(split_scores))
      return nullptr;
    for (size_t side : {size_t(0), size_t(1)}) {
      const Node* split = produced_by(add->input(side), "Reshape");
      Value* mask = add->input(1 - side);
      if (!split || !mask->is_constant() || !is_read_once(add->input(side))) continue;
      const Dims& dims = mask->constant->dims();
      if (!same_shape(split->input(0), merge.output(0)) || dims.size() > 5 ||
          (dims.size() == 5 && dims[0] != 1))
        continue;
      const SymbolTable& symbols = graph_.symbols();
      const Shape &five = *split_scores->type.shape, &four = *merge.output(0)->type.shape;
      const bool splits_batch = symbols.equal(five[2], four[1]) && symbols.equal(five[3], four[2]) &&
                                symbols.equal(five[4], four[3]);
      if (!splits_batch || !symbols.resolve(five[1]).is_constant() || !symbols.resolve(five[2]).is_constant())
        continue;
      windows_ = mask;
      window_shape_ = five;
      return split->input(0);
    }
    return nullptr;
  }

  /// [b w, h, s, d] with a mask for each window: the sum of both masks, [w, h, q, k], repeats along the
  /// batch.
  std::optional<Patch> build_windows(Value* q, PatchOperand k, Value* v) {
    const SymbolTable& symbols = graph_.symbols();
    const Dim h = window_shape_[2];
    PatchOperand bias = patch_.constant(
        tensor_from_doubles(root_.output(0)->type.dtype, {1, 1, symbols.resolve(h).value(), 1, 1},
                            std::vector<double>(size_t(symbols.resolve(h).value()), 0.0)));
    for (const Mask& m : masks_) {
      if (!m.value->is_constant() || m.kept != 0 || m.scale != 1 || m.value->constant->rank() > 4 ||
          (m.value->constant->rank() == 4 && m.value->constant->dims()[0] != 1))
        return no("windows with a mask that is not constant", "store the windows' mask as a constant");
      bias = patch_.node("Add", {bias, m.value});
    }
    const PatchOperand sum = patch_.node("Add", {bias, windows_});
    const auto mask = reshape(
        patch_, sum, {symbols.resolve(window_shape_[1]), h, window_shape_[3], window_shape_[4]}, symbols);
    if (!mask) return no("windows of a size that only the run knows", "fix the windows' size in the model");
    const Attributes attributes = meaning();
    patch_.replace(root_.output(0), patch_.node("wootz", "Attention", {q, k, v, *mask}, attributes, 1));
    return std::move(patch_);
  }

  /// q * c and k * c become part of the scale.
  Value* strip_scale(Value* v) {
    Node* node = v->producer();
    if (!node || !is_read_once(v) || !(node->is("Mul") || node->is("Div"))) return v;
    Value* inner = take_scale(*node);
    return inner ? inner : v;
  }

  /// K as [.., Sk, D] from the second operand of Q K^T, which is [.., D, Sk].
  std::optional<PatchOperand> keys(Value* kt, int64_t rank) {
    if (!has_rank(kt, rank)) return std::nullopt;
    Ints swap;
    for (int64_t i = 0; i < rank; ++i) swap.push_back(i);
    std::swap(swap[size_t(rank - 2)], swap[size_t(rank - 1)]);
    Value* from = kt;
    Ints perm = swap;
    if (Node* t = produced_by(kt, "Transpose"); t && t->attributes.contains("perm")) {
      const Ints first = t->attributes.require<Ints>("perm");
      from = t->input(0);
      for (size_t i = 0; i < perm.size(); ++i) perm[i] = first[size_t(swap[i])];
    }
    // A scale may stand before a transpose that vanishes.
    if (from != kt && is_read_once(kt)) from = strip_scale(from);
    if (std::is_sorted(perm.begin(), perm.end())) return from;
    return transpose(patch_, from, perm);
  }

  /// [b, g, s, d] of which [b, g n, s, d] repeats every head n times: a Reshape of an Expand. Null for
  /// others.
  Value* before_repeating(Value* v) const {
    const Node* merge = produced_by(v, "Reshape");
    const Node* expand = merge ? produced_by(merge->input(0), "Expand") : nullptr;
    Node* split = expand && expand->input(0)->producer() ? expand->input(0)->producer() : nullptr;
    if (!split || !(split->is("Unsqueeze") || split->is("Reshape"))) return nullptr;
    Value *from = split->input(0), *five = expand->output(0);
    if (!has_rank(v, 4) || !has_rank(from, 4) || !has_rank(five, 5) || !has_rank(split->output(0), 5))
      return nullptr;
    const SymbolTable& symbols = graph_.symbols();
    const Shape &a = *from->type.shape, &one = *split->output(0)->type.shape, &e = *five->type.shape,
                &y = *v->type.shape;
    const Dim heads = symbols.resolve(y[1]), groups = symbols.resolve(a[1]);
    if (!heads.is_constant() || !groups.is_constant() || groups.value() <= 0) return nullptr;
    const auto same = [&](const Shape& five_dims, const Dim& repeats) {
      return symbols.equal(five_dims[0], a[0]) && symbols.equal(five_dims[1], a[1]) &&
             symbols.equal(five_dims[2], repeats) && symbols.equal(five_dims[3], a[2]) &&
             symbols.equal(five_dims[4], a[3]);
    };
    if (heads.value() % groups.value() != 0 || !same(one, Dim(1)) ||
        !same(e, Dim(heads.value() / groups.value())))
      return nullptr;
    return symbols.equal(y[0], a[0]) && symbols.equal(y[2], a[2]) && symbols.equal(y[3], a[3]) ? from
                                                                                               : nullptr;
  }

  bool leading_dims_agree(const Value* q, const Value* v, int64_t rank) const {
    const SymbolTable& symbols = graph_.symbols();
    const Shape &out = *root_.output(0)->type.shape, &a = *q->type.shape, &b = *v->type.shape;
    const Shape& kt = *scores_->input(1)->type.shape;
    for (size_t i = 0; i < size_t(rank - 2); ++i)
      if (!symbols.equal(a[i], out[i]) || !symbols.equal(b[i], out[i]) || !symbols.equal(kt[i], out[i]))
        return false;
    return true;
  }

  /// One additive mask of rank 4 at most.
  std::optional<PatchOperand> mask(int64_t rank) {
    std::optional<PatchOperand> sum;
    for (const Mask& m : masks_) {
      if (!m.value->type.has_rank() || m.value->type.rank() > rank) return std::nullopt;
      PatchOperand term = m.value;
      if (m.kept != 0) {
        const DType dtype = root_.output(0)->type.dtype;
        const PatchOperand zero = patch_.constant(tensor_from_doubles(dtype, {}, {0}));
        const PatchOperand low = patch_.constant(tensor_from_doubles(dtype, {}, {*uniform_value(m.low)}));
        term = patch_.node("Where", {m.value, m.kept == 1 ? zero : low, m.kept == 1 ? low : zero});
      } else if (m.scale != 1) {
        const DType dtype = root_.output(0)->type.dtype;
        term = patch_.node("Mul", {m.value, patch_.constant(tensor_from_doubles(dtype, {}, {m.scale}))});
      }
      sum = sum ? patch_.node("Add", {*sum, term}) : term;
    }
    return sum;
  }

  std::optional<Patch> build(Value* q, PatchOperand k, Value* v, int64_t rank) {
    if (windows_)
      return rank == 4 ? build_windows(q, k, v)
                       : no("windows without heads", "give the scores an axis of heads, of size 1");
    std::vector<PatchOperand> inputs{q, k, v};
    if (!masks_.empty()) {
      const auto m = mask(rank);
      if (!m) return no("the mask has more axes than the scores", "give the mask the rank of the scores");
      inputs.push_back(*m);
    }
    if (rank == 3)
      for (PatchOperand& o : inputs) {
        const PatchOperand axis = patch_.constant(Tensor::int64s(std::vector<int64_t>{0}));
        const bool low_rank_mask =
            &o == &inputs.back() && inputs.size() == 4 && !has_rank(masks_[0].value, 3);
        if (!low_rank_mask) o = patch_.node("Unsqueeze", {o, axis});
      }
    const Attributes attributes = meaning();
    PatchOperand y = patch_.node("wootz", "Attention", inputs, attributes, 1);
    if (rank == 3) y = patch_.node("Squeeze", {y, patch_.constant(Tensor::int64s(std::vector<int64_t>{0}))});
    patch_.replace(root_.output(0), y);
    return std::move(patch_);
  }

  /// Softmax makes NaN of a row that is masked whole, unless the model guards against it.
  Attributes meaning() const {
    Attributes attributes;
    attributes.set("scale", static_cast<float>(scale_));
    attributes.set("is_causal", int64_t(0));
    if (!is_guarded_ && std::any_of(masks_.begin(), masks_.end(), may_hide))
      attributes.set("nan_if_empty", int64_t(1));
    return attributes;
  }

  struct Mask {
    Value* value;  // the term, or the condition of a selection
    Value* low;    // what a selection puts in place of scores
    int kept;      // 0: a term; 1: scores where the condition holds; 2: where it does not
    double scale;  // factor that came after the term
  };

  /// Whether the mask may hold -infinity.
  static bool may_hide(const Mask& m) {
    if (m.kept != 0) return std::isinf(*uniform_value(m.low));
    if (!m.value->is_constant()) return true;
    const std::vector<double> values = m.value->constant->to_doubles();
    return std::any_of(values.begin(), values.end(), [](double x) { return std::isinf(x); });
  }

  Node& root_;
  Graph& graph_;
  Patch patch_;
  Node* scores_ = nullptr;
  double scale_ = 1;
  bool is_guarded_ = false;
  std::vector<Mask> masks_;
  Value* windows_ = nullptr;  // the constant mask per window
  Shape window_shape_;        // [b, w, h, q, k]
  std::string reason_, edit_;
};

bool run_recognise_attention(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_recognise_attention(*inner, context);
    if (!node.is("MatMul") || context.exhausted() || !is_live(node) || !node.output(0)->type.has_rank())
      continue;
    if (!is_float_value(node.output(0))) continue;
    Attention attention(node);
    if (std::optional<Patch> patch = attention.match())
      changed |=
          apply_patch(*patch, node, "softmax(scale q k^T + mask) v => attention(q, k, v, mask)", context);
    else if (!attention.reason().empty())
      context.remark(node.origins, "not recognised as attention: " + attention.reason(), 0, attention.edit());
  }
  return changed;
}

}  // namespace

Pass recognise_attention() {
  return {"recognise_attention", "softmax(scale q k^T + mask) v becomes wootz.Attention.",
          run_recognise_attention};
}

}  // namespace wootz
