// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/lower_precision.h"

#include <map>
#include <set>

#include "ops/infer.h"
#include "passes/precision/choose_types.h"
#include "passes/precision/constant_fit.h"
#include "passes/precision/precision_rules.h"

namespace wootz {
namespace {

std::string short_name(DType type) {
  return type == DType::kFloat16 ? "fp16" : type == DType::kBFloat16 ? "bf16" : "fp32";
}

/// Masks get half the range: a finite score may still be added to them.
double mask_limit(DType type) { return largest_finite(type) / 2; }

class PrecisionLowering {
 public:
  PrecisionLowering(Graph& graph, const PrecisionOptions& options, const TypeChoice& choice)
      : graph_(graph), options_(options), choice_(choice) {}

  void run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (const auto& v : graph_.values())
      if (is_float32(v.get())) floats_.insert(v.get());
    find_masks(nodes);
    for (Node* node : nodes) retype_outputs(*node);
    for (Node* node : nodes) retype_inputs(*node);
    serve_bodies();
    restore_graph_outputs();
  }

  int64_t converted() const { return converted_; }
  int64_t clamped() const { return clamped_; }
  int64_t flushed() const { return flushed_; }

 private:
  bool was_float32(const Value* v) const { return v && floats_.contains(v); }

  /// Float32 values that may hold masked elements beyond the low type's range.
  void find_masks(const std::vector<Node*>& nodes) {
    for (const Node* node : nodes)
      for (const Value* v : node->outputs())
        if (was_float32(v) && may_exceed(*node, *v)) masks_.insert(v);
    for (const Value* v : graph_.inputs())
      if (const auto it = options_.ranges.find(v->name);
          was_float32(v) && it != options_.ranges.end() && it->second.largest > mask_limit(DType::kFloat16))
        masks_.insert(v);
  }

  bool may_exceed(const Node& node, const Value& v) const {
    if (const auto it = options_.ranges.find(v.name); it != options_.ranges.end())
      return it->second.largest > mask_limit(DType::kFloat16);
    const PrecisionRole role = precision_rule(node).role;
    if (role == PrecisionRole::kProduct || role == PrecisionRole::kFollower) return false;
    for (const Value* in : node.inputs())
      if (was_float32(in) &&
          (masks_.contains(in) ||
           (in->is_constant() && fit_constant(*in->constant, DType::kFloat16).overflowing > 0)))
        return true;
    return false;
  }

  void retype_outputs(Node& node) {
    const DType type = choice_.of(&node);
    if (type == DType::kFloat32) return;
    for (Value* v : node.outputs())
      if (was_float32(v)) v->type.dtype = type;
  }

  void retype_inputs(Node& node) {
    if (node.is("Shape") || node.is("Size")) return;
    const DType type = choice_.of(&node);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      Value* v = node.input(i);
      if (!was_float32(v)) continue;
      const bool own = v->type.dtype == DType::kFloat32;
      const DType wanted = type != DType::kFloat32 && takes_input_type(node, i) ? type : DType::kFloat32;
      if (wanted == DType::kFloat32 ? !own : v->type.dtype != wanted)
        node.set_input(i, as_type(v, wanted, saturates(node)));
    }
  }

  /// takes_node_type before values were retyped.
  static bool takes_input_type(const Node& node, size_t i) {
    if (node.is("Resize") || node.is("wootz", "MatMulDequantized")) return i == 0;
    return !node.is("wootz", "Attention") || i < 3;
  }

  Value* as_type(Value* v, DType type, bool saturate) {
    Value*& made = made_[{v, type}];
    if (made) return made;
    const std::string name = graph_.unique_name(v->name + "_" + short_name(type));
    if (v->is_constant()) {
      const ConstantFit fit = fit_constant(*v->constant, type);
      converted_ += fit.elements, flushed_ += fit.flushed, clamped_ += fit.overflowing;
      made = graph_.add_constant(
          name, convert_constant(*v->constant, type, saturate ? mask_limit(type) : largest_finite(type)));
    } else {
      made = cast(v, type, name);
    }
    made->layout = v->layout;
    return made;
  }

  /// The node behind the producer of `v`: what is made before it is ready for every reader.
  Node* place_after(const Value* v) const {
    bool found = !v->producer();
    for (const auto& node : graph_.nodes()) {
      if (found) return node.get();
      found = node.get() == v->producer();
    }
    return nullptr;
  }

  Value* cast(Value* v, DType type, const std::string& name) {
    Node* before = place_after(v);
    Value* from = v;
    if (masks_.contains(v) && v->type.dtype == DType::kFloat32) {
      const auto limit = static_cast<float>(mask_limit(type));
      Value* low = graph_.add_constant(graph_.unique_name(name + "_low"), Tensor::scalar_float(-limit));
      Value* high = graph_.add_constant(graph_.unique_name(name + "_high"), Tensor::scalar_float(limit));
      from = add(v, "Clip", {v, low, high}, {}, graph_.unique_name(name + "_clip"), before);
    }
    Attributes attributes;
    attributes.set("to", static_cast<int64_t>(type));
    return add(v, "Cast", {from}, std::move(attributes), name, before);
  }

  Value* add(const Value* source, const char* op, std::vector<Value*> inputs, Attributes attributes,
             const std::string& name, Node* before) {
    Node* node = graph_.add_node(op, std::move(inputs), before);
    node->attributes = std::move(attributes);
    if (source->producer()) node->origins = source->producer()->origins;
    Value* out = node->add_output(name, {});
    infer_node(*node);
    return out;
  }

  /// Bodies of If, Loop and Scan read float32 captures.
  void serve_bodies() {
    std::vector<Value*> values;
    for (const auto& v : graph_.values()) values.push_back(v.get());
    for (Value* v : values) {
      if (!was_float32(v) || v->type.dtype == DType::kFloat32) continue;
      std::vector<Use> inner;
      for (const Use& u : v->uses())
        if (u.node->graph() != &graph_) inner.push_back(u);
      for (const Use& u : inner)
        u.node->set_input(static_cast<size_t>(u.index), as_type(v, DType::kFloat32, false));
    }
  }

  void restore_graph_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value* v = graph_.outputs()[i];
      if (!was_float32(v) || v->type.dtype == DType::kFloat32) continue;
      Value* wide = as_type(v, DType::kFloat32, false);
      std::swap(wide->name, v->name);
      graph_.set_output(i, wide);
    }
  }

  Graph& graph_;
  const PrecisionOptions& options_;
  const TypeChoice& choice_;
  std::set<const Value*> floats_, masks_;
  std::map<std::pair<const Value*, DType>, Value*> made_;
  int64_t converted_ = 0, clamped_ = 0, flushed_ = 0;
};

void tell(const Graph& graph, const TypeChoice& choice, const PrecisionLowering& lowering,
          PassContext& context) {
  std::map<DType, int> counts;
  for (const auto& node : graph.nodes()) {
    const auto it = choice.nodes.find(node.get());
    if (it == choice.nodes.end()) continue;
    const NodeType& t = it->second;
    ++counts[t.type];
    context.remark(*node, node->op + " in " + std::string(dtype_name(t.type)) +
                              (t.reason.empty() ? "" : ": " + t.reason));
  }
  std::string text;
  for (const auto& [type, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " nodes in " + std::string(dtype_name(type));
  text += "; " + std::to_string(lowering.converted()) + " constant elements rounded, of which " +
          std::to_string(lowering.flushed()) + " become zero and " + std::to_string(lowering.clamped()) +
          " are clamped to the range";
  if (context.options.precision.ranges.empty())
    text += "; ranges were not measured (built without verification)";
  context.remark(std::vector<std::string>{}, std::move(text));
}

bool run_lower_precision(Graph& graph, PassContext& context) {
  const PrecisionOptions& options = context.options.precision;
  if (!options.lowers() || !context.allow_patch("lower_precision")) return false;
  const TypeChoice choice = choose_types(graph, options, context.target.name == "cuda");
  PrecisionLowering lowering(graph, options, choice);
  lowering.run();
  tell(graph, choice, lowering, context);
  infer_graph(graph);
  return true;
}

}  // namespace

Pass lower_precision() {
  return {"lower_precision", "Turns float32 values into the 16-bit type asked for, where that is safe.",
          run_lower_precision};
}

}  // namespace wootz
