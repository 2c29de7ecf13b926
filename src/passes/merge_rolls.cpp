// SPDX-License-Identifier: Apache-2.0
#include "passes/merge_rolls.h"

#include <algorithm>
#include <numeric>

#include "passes/launches.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

constexpr std::string_view kRollsRule = "rolls and transposes of rows => gather(rows)";
constexpr int64_t kMostElements = int64_t{1} << 24;  // of one batch: they are followed one by one

/// Elements [start, end) along an axis.
struct Range {
  size_t axis = 0;
  int64_t start = 0, end = 0;
};

std::optional<Range> range_of(const Node& slice) {
  const auto starts = known_ints(slice.input(1)), ends = known_ints(slice.input(2));
  const auto axes = slice.input(3) ? known_ints(slice.input(3)) : std::vector<int64_t>{0};
  const auto steps = slice.input(4) ? known_ints(slice.input(4)) : std::vector<int64_t>{1};
  const Value* x = slice.input(0);
  if (!starts || !ends || !axes || !steps || starts->size() != 1 || axes->size() != 1 || (*steps)[0] != 1)
    return std::nullopt;
  const int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + x->type.rank() : (*axes)[0];
  const Dim size = x->graph()->symbols().resolve((*x->type.shape)[size_t(axis)]);
  if (!size.is_constant()) return std::nullopt;
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size.value() : at, 0, size.value());
  };
  return Range{size_t(axis), clamp((*starts)[0]), clamp((*ends)[0])};
}

/// The two parts of a roll: slices of one value, which nothing else reads.
std::optional<std::vector<Range>> roll_of(const Node& concat) {
  if (!concat.is("Concat") || concat.inputs().size() != 2) return std::nullopt;
  std::vector<Range> parts;
  for (const Value* v : concat.inputs()) {
    const Node* slice = is_read_once(v) ? produced_by(v, "Slice") : nullptr;
    if (!slice || !slice->input(0)->type.has_rank()) return std::nullopt;
    const auto range = range_of(*slice);
    if (!range) return std::nullopt;
    parts.push_back(*range);
  }
  const Value* x = concat.input(0)->producer()->input(0);
  const int64_t axis = concat.attributes.get<int64_t>("axis", 0);
  const auto wrapped = size_t(axis < 0 ? axis + x->type.rank() : axis);
  const bool same = concat.input(1)->producer()->input(0) == x && parts[0].axis == wrapped &&
                    parts[1].axis == wrapped && same_shape(x, concat.output(0));
  if (!same || x->uses().size() != 2 || x->graph()->is_output(x)) return std::nullopt;
  return parts;
}

/// For every element of a value the source's element that it is.
struct Moved {
  Dims dims;
  std::vector<int32_t> from;

  void transpose(const Ints& perm) {
    const Dims strides = contiguous_strides(dims);
    Dims to, steps;
    for (int64_t p : perm) to.push_back(dims[size_t(p)]), steps.push_back(strides[size_t(p)]);
    pick(std::move(to),
         [&](const Dims& at) { return std::inner_product(at.begin(), at.end(), steps.begin(), int64_t{0}); });
  }
  void join(const std::vector<Range>& parts) {
    const Dims strides = contiguous_strides(dims);
    const size_t axis = parts[0].axis;
    const int64_t first = parts[0].end - parts[0].start;
    Dims to = dims;
    to[axis] = first + parts[1].end - parts[1].start;
    pick(std::move(to), [&](Dims at) {
      at[axis] = at[axis] < first ? parts[0].start + at[axis] : parts[1].start + at[axis] - first;
      return std::inner_product(at.begin(), at.end(), strides.begin(), int64_t{0});
    });
  }

 private:
  template <class F>
  void pick(Dims to, F&& source) {
    std::vector<int32_t> picked(static_cast<size_t>(element_count(to)));
    Dims at(to.size(), 0);
    for (int32_t& p : picked) {
      p = from[static_cast<size_t>(source(at))];
      for (size_t d = to.size(); d-- > 0 && ++at[d] == to[d];) at[d] = 0;
    }
    dims = std::move(to), from = std::move(picked);
  }
};

class Chain {
 public:
  explicit Chain(Node& last) : last_(last) {
    for (Node* n = &last; n;) {
      const auto roll = roll_of(*n);
      if (!roll && !n->is("Reshape") && !(n->is("Transpose") && n->attributes.contains("perm"))) break;
      rolls_ += roll.has_value();
      steps_.push_back(n);
      source_ = roll ? n->input(0)->producer()->input(0) : n->input(0);
      n = roll || is_read_once(source_) ? source_->producer() : nullptr;
      if (n && n->graph() != last.graph()) break;
    }
    std::reverse(steps_.begin(), steps_.end());
  }

  std::optional<Patch> match() const {
    const Value* out = last_.output(0);
    // A roll alone is one copy, as the gather would be.
    if (rolls_ == 0 || steps_.size() < 2 || !out->type.has_rank() || !source_->type.has_rank() ||
        out->type.rank() < 2)
      return std::nullopt;
    const auto one = follow(1), two = follow(2);
    if (!one || !two) return std::nullopt;
    const int64_t row = one->dims.back();
    const auto rows = rows_of(*one, row);
    if (!rows) return std::nullopt;
    const std::optional<Dim> batch = batch_of(*rows, *one, *two);
    if (!batch) return std::nullopt;
    const SymbolTable& symbols = out->graph()->symbols();
    Patch patch;
    const auto flat = reshape(patch, source_, {*batch, Dim(int64_t(rows->size())), Dim(row)}, symbols);
    if (!flat) return std::nullopt;
    Attributes attributes;
    attributes.set("axis", int64_t(1));
    const PatchOperand moved =
        patch.node("Gather", {*flat, patch.constant(Tensor::int64s(*rows))}, attributes);
    const auto y = reshape(patch, moved, *out->type.shape, symbols);
    if (!y) return std::nullopt;
    patch.replace(last_.output(0), *y);
    return patch;
  }

 private:
  std::optional<Dims> dims_of(const Value& v, int64_t k) const {
    const SymbolTable& symbols = v.graph()->symbols();
    Bindings bindings(symbols);
    for (size_t i = 0; i < symbols.size(); ++i)
      if (symbols.at(SymbolId(i)).kind == Symbol::Kind::kInput) bindings.bind(SymbolId(i), k);
    Dims dims;
    if (!v.type.has_rank()) return std::nullopt;
    for (const Dim& d : *v.type.shape) {
      const auto size = bindings.evaluate(d);
      if (!size) return std::nullopt;
      dims.push_back(*size);
    }
    return dims;
  }

  /// Where the result's elements come from when every free size is k.
  std::optional<Moved> follow(int64_t k) const {
    const auto start = dims_of(*source_, k);
    if (!start || element_count(*start) > k * kMostElements) return std::nullopt;
    Moved moved{*start, std::vector<int32_t>(static_cast<size_t>(element_count(*start)))};
    std::iota(moved.from.begin(), moved.from.end(), 0);
    for (const Node* n : steps_) {
      const auto dims = dims_of(*n->output(0), k);
      if (!dims || element_count(*dims) != element_count(moved.dims)) return std::nullopt;
      if (n->is("Transpose"))
        moved.transpose(n->attributes.require<Ints>("perm"));
      else if (n->is("Concat"))
        moved.join(*roll_of(*n));
      moved.dims = *dims;
    }
    return moved;
  }

  /// The source's row of each row, where rows stay whole.
  static std::optional<std::vector<int64_t>> rows_of(const Moved& moved, int64_t row) {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < moved.from.size(); i += size_t(row)) {
      if (moved.from[i] % row != 0) return std::nullopt;
      for (size_t j = 1; j < size_t(row); ++j)
        if (moved.from[i + j] != moved.from[i] + int32_t(j)) return std::nullopt;
      rows.push_back(moved.from[i] / row);
    }
    return rows;
  }

  /// The size that multiplies the rows, where each of its elements moves its rows alike.
  std::optional<Dim> batch_of(const std::vector<int64_t>& rows, const Moved& one, const Moved& two) const {
    if (one.from.size() == two.from.size())
      return one.from == two.from ? std::optional(Dim(1)) : std::nullopt;
    if (two.from.size() != 2 * one.from.size() || rows.empty()) return std::nullopt;
    const auto shift = static_cast<int32_t>(one.from.size());
    for (size_t i = 0; i < one.from.size(); ++i)
      if (two.from[i] != one.from[i] || two.from[i + one.from.size()] != one.from[i] + shift)
        return std::nullopt;
    for (const Value* v : {static_cast<const Value*>(source_), static_cast<const Value*>(last_.output(0))})
      if (dims_of(*v, 1)->front() == 1 && dims_of(*v, 2)->front() == 2) return v->type.shape->front();
    return std::nullopt;
  }

  Node& last_;
  Value* source_ = nullptr;
  std::vector<const Node*> steps_;  // from the source on
  int rolls_ = 0;
};

bool run_merge_rolls(Graph& graph, PassContext& context) {
  if (!has_dear_launches(context.target)) return false;
  bool changed = false;
  for (const auto& node : graph.nodes())
    for (Graph* inner : node->subgraphs()) changed |= run_merge_rolls(*inner, context);
  // From the end on: a chain is found by its last node, and what it merges is gone then.
  for (bool found = true; found && !context.exhausted();) {
    found = false;
    for (auto it = graph.nodes().rbegin(); it != graph.nodes().rend(); ++it) {
      Node& node = **it;
      if (!(node.is("Reshape") || node.is("Transpose") || node.is("Concat"))) continue;
      if (std::optional<Patch> patch = Chain(node).match())
        found = apply_patch(*patch, node, kRollsRule, context);
      if (found) break;
    }
    changed |= found;
  }
  return changed;
}

}  // namespace

Pass merge_rolls() {
  return {"merge_rolls", "Rolls and the transposes of rows around them become one Gather of rows.",
          run_merge_rolls};
}

}  // namespace wootz
