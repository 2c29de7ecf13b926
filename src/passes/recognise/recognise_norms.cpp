// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/recognise_norms.h"

#include <algorithm>

#include "ops/registry.h"
#include "passes/launches.h"
#include "passes/pattern/constants.h"
#include "passes/pattern/rule.h"

namespace wootz {
namespace {

/// The first of the reduced axes when they are the last ones of x; nothing otherwise.
std::optional<int64_t> trailing_axis(const Value* axes, const Value* x) {
  const auto listed = known_ints(axes);
  if (!listed || listed->empty() || !x->type.has_rank()) return std::nullopt;
  const int64_t rank = x->type.rank();
  std::vector<int64_t> sorted;
  for (int64_t a : *listed) sorted.push_back(a < 0 ? a + rank : a);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != rank - static_cast<int64_t>(sorted.size() - i)) return std::nullopt;
  return sorted.front();
}

bool keeps_dims(const Node& reduce) { return reduce.attributes.get<int64_t>("keepdims", 1) != 0; }

/// All reductions of the match keep their dims and run over the same trailing axes.
std::optional<int64_t> common_axis(const Match& m) {
  std::optional<int64_t> axis;
  for (const Node* n : m.interior) {
    if (!n->op.starts_with("Reduce")) continue;
    const std::optional<int64_t> a = trailing_axis(n->input(1), n->input(0));
    if (!a || !keeps_dims(*n) || (axis && *axis != *a)) return std::nullopt;
    axis = a;
  }
  return axis;
}

/// A factor or term as an operand of the normalised sizes; 1 or 0 where there is none.
std::optional<PatchOperand> parameter(Patch& patch, const Match& m, const char* name, double neutral,
                                      int64_t axis) {
  const Value* x = m.value("x");
  const Shape& shape = *x->type.shape;
  Dims sizes;
  for (size_t i = size_t(axis); i < shape.size(); ++i) {
    const Dim d = x->graph()->symbols().resolve(shape[i]);
    if (!d.is_constant()) return std::nullopt;
    sizes.push_back(d.value());
  }
  Value* v = m.value(name);
  if (!v)
    return patch.constant(tensor_from_doubles(x->type.dtype, sizes,
                                              std::vector<double>(size_t(element_count(sizes)), neutral)));
  if (!v->type.has_rank() || v->type.dtype != x->type.dtype) return std::nullopt;
  if (v->is_constant() && v->constant->size() == element_count(sizes) &&
      v->constant->rank() <= x->type.rank()) {
    // Leading sizes of 1 aside, the same array.
    const Dims& dims = v->constant->dims();
    if (dims.size() >= sizes.size() && std::equal(sizes.rbegin(), sizes.rend(), dims.rbegin()))
      return dims == sizes ? PatchOperand(v) : patch.constant(v->constant->reshaped(sizes));
  }
  return std::nullopt;
}

std::optional<Patch> norm(const Match& m, const char* op, bool has_term) {
  const std::optional<int64_t> axis = common_axis(m);
  Value* x = m.value("x");
  if (!axis || !OpRegistry::global().find("", op) || !is_float_value(x) || !same_shape(x, m.root->output(0)))
    return std::nullopt;
  Patch patch;
  const auto scale = parameter(patch, m, "g", 1, *axis);
  if (!scale) return std::nullopt;
  std::vector<PatchOperand> inputs{x, *scale};
  if (has_term && m.value("b")) {
    const auto term = parameter(patch, m, "b", 0, *axis);
    if (!term) return std::nullopt;
    inputs.push_back(*term);
  }
  Attributes attributes;
  attributes.set("axis", *axis);
  attributes.set("epsilon", static_cast<float>(m.value("e") ? m.number("e") : 0));
  patch.replace(m.root->output(0), patch.node(op, std::move(inputs), std::move(attributes)));
  return patch;
}

std::optional<Patch> layer_norm(const Match& m, PassContext&) { return norm(m, "LayerNormalization", true); }
std::optional<Patch> rms_norm(const Match& m, PassContext&) { return norm(m, "RMSNormalization", false); }

/// layer_norm(x, 1) * g + b => layer_norm(x, g, b): the bare normalisation was recognised first.
std::optional<Patch> add_parameters(const Match& m, PassContext&) {
  const Node& bare = *m.node("norm");
  Value* x = m.value("x");
  if (!x->type.has_rank() || !same_shape(x, m.root->output(0)) || bare.output(1)) return std::nullopt;
  int64_t axis = bare.attributes.get<int64_t>("axis", -1);
  if (axis < 0) axis += x->type.rank();
  Patch patch;
  std::vector<PatchOperand> inputs{x, bare.input(1)};
  if (m.value("g")) {
    const auto scale = parameter(patch, m, "g", 1, axis);
    if (!scale || !is_number(bare.input(1), 1) || bare.input(2)) return std::nullopt;
    inputs[1] = *scale;
  }
  if (m.value("b")) {
    const auto term = parameter(patch, m, "b", 0, axis);
    if (!term || bare.input(2)) return std::nullopt;
    inputs.push_back(*term);
  }
  patch.replace(m.root->output(0), patch.node(bare.op, std::move(inputs), bare.attributes));
  return patch;
}

std::vector<double> repeated(const Value* constant, int64_t times) {
  std::vector<double> values;
  for (double v : constant->constant->to_doubles()) values.insert(values.end(), size_t(times), v);
  return values;
}

PatchOperand channel_constant(Patch& patch, DType dtype, const std::vector<double>& values) {
  return patch.constant(tensor_from_doubles(dtype, {static_cast<int64_t>(values.size())}, values));
}

/// PyTorch's exporters write group normalisation as instance normalisation of the groups.
std::optional<Patch> group_norm(const Match& m, PassContext&) {
  const Value *x = m.value("x"), *grouped = m.node("norm")->input(0);
  if (!x->type.has_rank() || x->type.rank() < 3 || !has_rank(grouped, 3) || !same_shape(x, m.root->output(0)))
    return std::nullopt;
  const SymbolTable& symbols = x->graph()->symbols();
  const Dim channels = symbols.resolve((*x->type.shape)[1]),
            groups = symbols.resolve((*grouped->type.shape)[1]);
  if (!channels.is_constant() || !groups.is_constant() ||
      !symbols.equal((*x->type.shape)[0], (*grouped->type.shape)[0]))
    return std::nullopt;
  const int64_t each = channels.value() / groups.value();
  if (each * groups.value() != channels.value()) return std::nullopt;
  Attributes attributes;
  attributes.set("epsilon", m.node("norm")->attributes.get<float>("epsilon", 1e-5f));
  attributes.set("num_groups", groups.value());
  Patch patch;
  const PatchOperand scale = channel_constant(patch, x->type.dtype, repeated(m.value("g"), each));
  const PatchOperand term = channel_constant(patch, x->type.dtype, repeated(m.value("b"), each));
  patch.replace(m.root->output(0),
                patch.node("GroupNormalization", {m.value("x"), scale, term}, std::move(attributes)));
  return patch;
}

/// group_norm(x, s, t) * g + b: factor and term per channel go into s and t.
std::optional<Patch> group_norm_parameters(const Match& m, PassContext&) {
  const Node& norm = *m.node("norm");
  const Value* x = m.value("x");
  std::vector<double> scale = m.value("s")->constant->to_doubles(),
                      term = m.value("t")->constant->to_doubles();
  const bool factor = m.value("g") != nullptr;
  const auto values = values_along(m.value(factor ? "g" : "b"), x->type.has_rank() ? x->type.rank() : 0, 1,
                                   int64_t(scale.size()));
  if (!values || !same_shape(x, m.root->output(0))) return std::nullopt;
  for (size_t i = 0; i < scale.size(); ++i) {
    if (factor) scale[i] *= (*values)[i];
    term[i] = factor ? term[i] * (*values)[i] : term[i] + (*values)[i];
  }
  Patch patch;
  const PatchOperand s = channel_constant(patch, x->type.dtype, scale),
                     t = channel_constant(patch, x->type.dtype, term);
  patch.replace(m.root->output(0), patch.node("GroupNormalization", {m.value("x"), s, t}, norm.attributes));
  return patch;
}

std::optional<Patch> softmax(const Match& m, PassContext&) {
  Value* x = m.value("x");
  std::optional<int64_t> axis;
  for (const Node* n : m.interior) {
    if (!n->op.starts_with("Reduce")) continue;
    const auto axes = known_ints(n->input(1));
    if (!axes || axes->size() != 1 || !keeps_dims(*n) || !x->type.has_rank()) return std::nullopt;
    const int64_t a = (*axes)[0] < 0 ? (*axes)[0] + x->type.rank() : (*axes)[0];
    if (axis && *axis != a) return std::nullopt;
    axis = a;
  }
  Attributes attributes;
  attributes.set("axis", *axis);
  Patch patch;
  patch.replace(m.root->output(0), patch.node("Softmax", {x}, std::move(attributes)));
  return patch;
}

/// PyTorch's normalize: the divisor is at least e. Without a kernel of their own for such rows, targets of
/// cheap launches keep the parts.
std::optional<Patch> lp_norm(const Match& m, PassContext& context) {
  Value* x = m.value("x");
  const Node& reduce = *m.node("norm");
  const auto axes = known_ints(reduce.input(1));
  if (!has_dear_launches(context.target) || !axes || axes->size() != 1 || !keeps_dims(reduce) ||
      !is_float_value(x) || !same_shape(x, m.root->output(0)) || m.number("e") < 0)
    return std::nullopt;
  Attributes attributes;
  attributes.set("axis", (*axes)[0]);
  attributes.set("p", int64_t(reduce.is("ReduceL1") ? 1 : 2));
  attributes.set("epsilon", static_cast<float>(m.number("e")));
  Patch patch;
  patch.replace(m.root->output(0), patch.node("LpNormalization", {x}, std::move(attributes)));
  return patch;
}

struct Spellings {
  std::vector<std::string> layer_norm, layer_norm_affine, rms_norm;
};

Spellings spellings() {
  const std::string centered = "Sub(x, ReduceMean(x, #a))";
  const std::string variance =
      "ReduceMean(Pow(" + centered + ", 2)|Mul(" + centered + ", " + centered + "), #c)";
  const std::string square = "ReduceMean(Pow(x, 2)|Mul(x, x), #a)";
  const auto root = [](const std::string& v) {
    return "(Sqrt(Add(" + v + ", $e))|Pow(Add(" + v + ", $e), 0.5))";
  };
  const auto inverse = [&](const std::string& v) {
    return "(Reciprocal(" + root(v) + ")|Div(1, " + root(v) + ")|Pow(Add(" + v + ", $e), -0.5))";
  };
  Spellings s;
  s.layer_norm = {"Div(" + centered + ", " + root(variance) + ")",
                  "Mul(" + centered + ", " + inverse(variance) + ")"};
  // tf2onnx: x * (inverse * g) + (b - mean * (inverse * g)).
  const std::string factor = "Mul(" + inverse(variance) + ", #g)";
  s.layer_norm_affine = {"Add(Mul(x, " + factor + "), Sub(#b, Mul(ReduceMean(x, #a), " + factor + ")))"};
  s.rms_norm = {"Div(x, " + root(square) + ")", "Mul(x, " + inverse(square) + ")"};
  return s;
}

bool run_recognise_norms(Graph& graph, PassContext& context) {
  static const Spellings s = spellings();
  static const RuleSet rules({
      {"(x - mean) / sqrt(variance + e) => layer_norm(x)", s.layer_norm, layer_norm},
      {"x f + (b - mean f), f = g / sqrt(variance + e) => layer_norm(x)", s.layer_norm_affine, layer_norm},
      {"x / sqrt(mean(x^2) + e) => rms_norm(x)", s.rms_norm, rms_norm},
      {"x / max(norm(x), e) => lp_norm(x)",
       {"Div(x, Expand(Clip(norm:ReduceL2(x, #a)|norm:ReduceL1(x, #a), $e), s))",
        "Div(x, Clip(norm:ReduceL2(x, #a)|norm:ReduceL1(x, #a), $e))",
        "Div(x, Max(norm:ReduceL2(x, #a)|norm:ReduceL1(x, #a), $e))"},
       lp_norm},
      {"layer_norm(x) * g => layer_norm(x, g)",
       {"Mul(norm:LayerNormalization(x, s), #g)", "Mul(norm:RMSNormalization(x, s), #g)"},
       add_parameters},
      {"layer_norm(x, g) + b => layer_norm(x, g, b)",
       {"Add(norm:LayerNormalization(x, s), #b)"},
       add_parameters},
      {"instance_norm of groups => group_norm(x)",
       {"Reshape(norm:InstanceNormalization(Reshape(x, s), #g, #b), t)"},
       group_norm},
      {"group_norm(x) * g => group_norm(x, g)",
       {"Mul(norm:GroupNormalization(x, #s, #t), #g)"},
       group_norm_parameters},
      {"group_norm(x) + b => group_norm(x, g, b)",
       {"Add(norm:GroupNormalization(x, #s, #t), #b)"},
       group_norm_parameters},
      {"e^x / sum(e^x) => softmax(x)",
       {"Div(Exp(Sub(x, ReduceMax(x, #m))), ReduceSum(Exp(Sub(x, ReduceMax(x, #m))), #a))",
        "Div(Exp(x), ReduceSum(Exp(x), #a))"},
       softmax},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass recognise_norms() {
  return {"recognise_norms", "Layer and RMS normalisation, and softmax, written out become one node each.",
          run_recognise_norms};
}

}  // namespace wootz
