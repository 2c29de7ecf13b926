// SPDX-License-Identifier: Apache-2.0
#include "quantize/insert.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/infer.h"

namespace wootz {
namespace {

constexpr double kLargestBias = 1 << 30;

/// The node that follows the value's producer, or the first one of the graph.
Node* after(Graph& graph, const Value& v) {
  auto it = graph.nodes().begin();
  if (v.producer()) {
    while (it->get() != v.producer()) ++it;
    ++it;
  }
  return it == graph.nodes().end() ? nullptr : it->get();
}

class Inserter {
 public:
  Inserter(Graph& graph, const std::vector<QuantTarget>& targets, const Calibration& calibration,
           const InsertOptions& options)
      : graph_(graph), targets_(targets), calibration_(calibration), options_(options) {}

  std::vector<QuantizedNode> run() {
    for (const QuantTarget& t : targets_)
      if (t.is_conv()) feeds_conv_.insert(t.x);
    if (options_.sums)
      for (Value* v : sum_operands(graph_, targets_, options_.fused_sums))
        if (const auto* e = range_of(*v); e && !dequantized_.contains(v)) quantize_activation(v, *e, true);
    std::vector<QuantizedNode> left;
    for (const QuantTarget& t : targets_) {
      QuantizedNode entry{quantized_label(*t.node), t.node->op, true, "", NAN, NAN};
      const Calibration::Entry* e = range_of(*original(t.x));
      if (!e)
        entry.quantized = false, entry.reason = "the calibration has no range for '" + t.x->name + "'";
      else if (!(parameters(*e).scale >= kLeastScale))
        entry.quantized = false, entry.reason = "'" + t.x->name + "' is 0 in every sample";
      else
        quantize_target(t, *e);
      left.push_back(std::move(entry));
    }
    return left;
  }

 private:
  static constexpr float kLeastScale = 1e-30f;

  /// An operand may have been replaced by its 8-bit form.
  Value* original(Value* x) const {
    const auto it = source_.find(x);
    return it == source_.end() ? x : it->second;
  }

  QuantParameters parameters(const Calibration::Entry& e) const {
    return activation_parameters(e.range, calibration_.is_signed, options_.float8);
  }
  DType weight_type() const { return options_.float8 ? DType::kFloat8E4M3FN : DType::kInt8; }

  const Calibration::Entry* range_of(const Value& v) const {
    const auto it = calibration_.tensors.find(v.name);
    return it == calibration_.tensors.end() ? nullptr : &it->second;
  }

  Value* constant(const std::string& hint, Tensor t) {
    return graph_.add_constant(graph_.unique_name(hint), std::move(t));
  }

  Value* add(const std::string& op, const std::string& hint, std::vector<Value*> inputs, Node* before,
             Attributes attributes = {}) {
    Node* node = graph_.add_node(op, std::move(inputs), before);
    node->name = graph_.unique_name(hint);
    node->attributes = std::move(attributes);
    Value* y = node->add_output(graph_.unique_name(hint + "_Output"), Type());
    infer_node(*node);
    return y;
  }

  /// Q and DQ behind `x`; `all` readers in this graph read the result, or only the targets.
  Value* quantize_activation(Value* x, const Calibration::Entry& e, bool all) {
    const QuantParameters p = parameters(e);
    Value* scale = constant(x->name + "_scale", Tensor::scalar_float(p.scale));
    Tensor zero = Tensor::zeros(p.type, {});
    *zero.as<uint8_t>() = static_cast<uint8_t>(p.zero);
    Value* zero_point = constant(x->name + "_zero_point", std::move(zero));
    Node* before = after(graph_, *x);
    const std::vector<Use> uses(x->uses().begin(), x->uses().end());
    Value* q = add("QuantizeLinear", x->name + "_QuantizeLinear", {x, scale, zero_point}, before);
    Value* dq = add("DequantizeLinear", x->name + "_DequantizeLinear", {q, scale, zero_point}, before);
    if (all)
      for (const Use& u : uses)
        if (u.node->graph() == &graph_ && !u.node->is("Shape"))
          u.node->set_input(static_cast<size_t>(u.index), dq);
    source_[dq] = x;
    return dequantized_[x] = dq;
  }

  void quantize_target(const QuantTarget& t, const Calibration::Entry& e) {
    Node& node = *t.node;
    Value* x = original(node.input(0));
    const auto it = dequantized_.find(x);
    Value* dq = it != dequantized_.end() ? it->second : quantize_activation(x, e, feeds_conv_.contains(x));
    node.set_input(0, dq);
    const double x_scale = double(parameters(e).scale);
    // A channel of tiny weights and a large bias would need more than 32 bits for the bias.
    Value* bias = node.is("MatMul") ? nullptr : node.input(2);
    const bool integer_bias =
        !options_.float8 && bias && bias->is_constant() && bias->constant->size() == t.channels();
    std::vector<double> least;
    if (integer_bias)
      for (float b : bias->constant->span<float>())
        least.push_back(std::fabs(double(b)) / kLargestBias / x_scale);
    const QuantizedWeights q =
        quantize_weights(*t.w->constant, t.weight_axis, options_.per_channel, least, weight_type());
    const std::vector<double> correction = correction_of(t, x->name, q);
    set_weights(t, q);
    if (node.is("MatMul")) return add_correction(node, correction);
    std::vector<double> values(static_cast<size_t>(t.channels()), 0);
    if (integer_bias) values = bias->constant->to_doubles();
    if (bias && !integer_bias) return;
    for (size_t i = 0; i < correction.size(); ++i) values[i] += correction[i];
    if (bias || !correction.empty()) set_bias(t, q, x_scale, values);
  }

  void set_weights(const QuantTarget& t, const QuantizedWeights& q) {
    Attributes axis;
    if (q.scales.size() > 1) axis.set("axis", t.weight_axis);
    const Dims dims = q.scales.size() > 1 ? Dims{static_cast<int64_t>(q.scales.size())} : Dims{};
    const std::string& name = t.w->name;
    Value* bytes = constant(name + "_quantized", q.q);
    Value* scale = constant(name + "_scale", Tensor::from<float>(DType::kFloat32, dims, q.scales));
    Value* zero = constant(name + "_zero_point", Tensor::zeros(weight_type(), dims));
    t.node->set_input(
        1, add("DequantizeLinear", name + "_DequantizeLinear", {bytes, scale, zero}, t.node, axis));
  }

  void set_bias(const QuantTarget& t, const QuantizedWeights& q, double x_scale,
                const std::vector<double>& values) {
    const auto channels = static_cast<int64_t>(values.size());
    Tensor integers = Tensor::zeros(DType::kInt32, {channels});
    std::vector<float> scales;
    for (int64_t c = 0; c < channels; ++c) {
      const float s = static_cast<float>(x_scale * double(q.scale_of(c)));
      if (c == 0 || q.scales.size() > 1) scales.push_back(s);
      const double v = std::nearbyint(values[static_cast<size_t>(c)] / double(s));
      integers.as<int32_t>()[c] = static_cast<int32_t>(std::clamp(v, -2147483647.0, 2147483647.0));
    }
    Attributes axis;
    if (scales.size() > 1) axis.set("axis", int64_t{0});
    const Dims dims = scales.size() > 1 ? Dims{channels} : Dims{};
    const std::string name = t.node->input(2) ? t.node->input(2)->name : t.w->name + "_bias";
    Value* bytes = constant(name + "_quantized", std::move(integers));
    Value* scale = constant(name + "_scale", Tensor::from<float>(DType::kFloat32, dims, scales));
    Value* dq = add("DequantizeLinear", name + "_DequantizeLinear", {bytes, scale}, t.node, axis);
    if (t.node->inputs().size() < 3) t.node->resize_inputs(3);
    t.node->set_input(2, dq);
  }

  std::vector<double> correction_of(const QuantTarget& t, const std::string& x,
                                    const QuantizedWeights& q) const {
    const auto it = options_.means.find(x);
    if (it == options_.means.end()) return {};
    return mean_rounding_error(*t.w->constant, q, t.depth_axis, t.groups, it->second);
  }

  /// A term behind a MatMul joins the constant that is added there, or becomes one.
  void add_correction(Node& node, const std::vector<double>& correction) {
    if (correction.empty()) return;
    Value* y = node.output(0);
    const Dims dims{static_cast<int64_t>(correction.size())};
    if (y->uses().size() == 1 && !graph_.is_output(y) && y->uses()[0].node->is("Add")) {
      Node* sum = y->uses()[0].node;
      const auto other = static_cast<size_t>(1 - y->uses()[0].index);
      if (const Value* c = sum->input(other); c->is_constant() && c->constant->dims() == dims) {
        Tensor t = c->constant->clone();
        for (size_t i = 0; i < correction.size(); ++i) t.as<float>()[i] += static_cast<float>(correction[i]);
        sum->set_input(other, constant(c->name + "_corrected", std::move(t)));
        return;
      }
    }
    Tensor t = Tensor::zeros(DType::kFloat32, dims);
    for (size_t i = 0; i < correction.size(); ++i) t.as<float>()[i] = static_cast<float>(correction[i]);
    const std::vector<Use> uses(y->uses().begin(), y->uses().end());
    if (graph_.is_output(y)) return;  // its name is the caller's
    Value* sum = add("Add", y->name + "_corrected", {y, constant(y->name + "_correction", std::move(t))},
                     after(graph_, *y));
    for (const Use& u : uses) u.node->set_input(static_cast<size_t>(u.index), sum);
  }

  Graph& graph_;
  const std::vector<QuantTarget>& targets_;
  const Calibration& calibration_;
  const InsertOptions& options_;
  std::set<const Value*> feeds_conv_;
  std::map<const Value*, Value*> dequantized_;  // x -> DQ(Q(x))
  std::map<const Value*, Value*> source_;       // and back
};

}  // namespace

QuantParameters activation_parameters(const ActivationRange& range, bool is_signed, bool float8) {
  constexpr double kTop = 448;
  if (!float8) return parameters_of(range, is_signed);
  return {static_cast<float>(std::max(std::fabs(range.low), std::fabs(range.high)) / kTop), 0,
          DType::kFloat8E4M3FN};
}

std::vector<Value*> sum_operands(const Graph& graph, const std::vector<QuantTarget>& targets, bool fused) {
  std::set<const Node*> convs;
  for (const QuantTarget& t : targets)
    if (t.is_conv()) convs.insert(t.node);
  std::vector<Value*> found;
  for (const auto& node : graph.nodes()) {
    if (!node->is("Add") || node->inputs().size() != 2) continue;
    const auto is_activation = [](const Value* v) {
      return v && !v->is_constant() && v->type.has_rank() && v->type.rank() > 2 &&
             v->type.dtype == DType::kFloat32;
    };
    Value *a = node->input(0), *b = node->input(1);
    if (!is_activation(a) || !is_activation(b) ||
        (!convs.contains(a->producer()) && !convs.contains(b->producer())))
      continue;
    const auto joins = [&](const Value* v) {
      return fused && convs.contains(v->producer()) && v->uses().size() == 1;
    };
    // Of two convolutions the first takes the sum behind itself, and reads the other's bytes there.
    const bool first_is_a = joins(a) && (!joins(b) || a->producer()->id() < b->producer()->id());
    const Value* kept = first_is_a ? a : joins(b) ? b : nullptr;
    for (Value* v : {a, b})
      if (v != kept && std::find(found.begin(), found.end(), v) == found.end()) found.push_back(v);
  }
  return found;
}

std::vector<QuantizedNode> insert_quantization(Graph& graph, const std::vector<QuantTarget>& targets,
                                               const Calibration& calibration, const InsertOptions& options) {
  std::vector<QuantizedNode> nodes = Inserter(graph, targets, calibration, options).run();
  graph.erase_unused_values();
  return nodes;
}

}  // namespace wootz
