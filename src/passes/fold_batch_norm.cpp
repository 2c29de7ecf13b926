// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "passes/pattern/constants.h"
#include "passes/pattern/rule.h"

namespace wootz {
namespace {

/// Weights of a contraction with constant weights: where output channels lie in the weights and in the
/// result.
struct Weights {
  const Node* node = nullptr;
  const Tensor* weight = nullptr;
  const Value* bias = nullptr;  // constant, or null
  int64_t channels = 0;
  int64_t rank = 0, axis = 0;  // of the result; its channel axis
  int64_t weight_axis = 0;     // axis of output channels in the weights (ConvTranspose: per group)
  int64_t groups = 1;          // ConvTranspose only
  bool takes_bias = true;
};

std::optional<Weights> weights_of(const Node& node) {
  Weights w;
  w.node = &node;
  const Value* weight = node.input(1);
  if (!weight || !weight->is_constant() || !is_float(weight->type.dtype) || !node.output(0)->type.has_rank())
    return std::nullopt;
  if (node.input(2) && !node.input(2)->is_constant()) return std::nullopt;
  w.weight = weight->constant.get();
  w.bias = node.input(2);
  w.rank = node.output(0)->type.rank();
  w.axis = 1;
  const Dims& dims = w.weight->dims();
  if (node.op == "Conv") {
    w.channels = dims[0];
  } else if (node.op == "ConvTranspose") {
    w.groups = node.attributes.get<int64_t>("group", 1);
    w.weight_axis = 1;
    w.channels = dims[1] * w.groups;
  } else if (node.op == "Gemm") {
    if (node.attributes.get<float>("alpha", 1) != 1 || node.attributes.get<float>("beta", 1) != 1)
      return std::nullopt;
    w.weight_axis = node.attributes.get<int64_t>("transB", 0) ? 0 : 1;
    w.channels = dims[size_t(w.weight_axis)];
    if (w.bias && !values_along(w.bias, 2, 1, w.channels)) return std::nullopt;
  } else {
    if (w.weight->rank() != 2 || w.rank < 1) return std::nullopt;
    w.weight_axis = 1;
    w.axis = w.rank - 1;
    w.channels = dims[1];
    w.takes_bias = false;
  }
  return w;
}

Tensor scaled_weight(const Weights& w, const std::vector<double>& factors) {
  if (w.groups == 1) return scale_slices(*w.weight, w.weight_axis, factors);
  // [C, M / groups, ...]: the factor depends on the group, that is on the block of input channels.
  const Dims& dims = w.weight->dims();
  int64_t inner = 1;
  for (size_t i = 2; i < dims.size(); ++i) inner *= dims[i];
  const int64_t per_group_in = dims[0] / w.groups, per_group_out = dims[1];
  std::vector<double> values = w.weight->to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t out = (int64_t(i) / inner) % per_group_out, in = int64_t(i) / (inner * per_group_out);
    values[i] *= factors[size_t(in / per_group_in * per_group_out + out)];
  }
  return tensor_from_doubles(w.weight->dtype(), dims, values);
}

std::vector<double> bias_values(const Weights& w) {
  if (!w.bias) return std::vector<double>(size_t(w.channels), 0.0);
  std::vector<double> values = w.bias->constant->to_doubles();
  if (values.size() == 1) values.assign(size_t(w.channels), values[0]);
  return values;
}

PatchOperand remake(Patch& patch, const Weights& w, PatchOperand weight,
                    std::optional<std::vector<double>> bias) {
  std::vector<PatchOperand> inputs{w.node->input(0), weight};
  if (bias) inputs.push_back(patch.constant(tensor_from_doubles(w.weight->dtype(), {w.channels}, *bias)));
  return patch.node(w.node->op, std::move(inputs), w.node->attributes);
}

std::optional<Patch> scale(const Match& m, const std::function<double(double)>& factor_of) {
  const std::optional<Weights> w = weights_of(*m.node("main"));
  if (!w) return std::nullopt;
  std::optional<std::vector<double>> factors = values_along(m.value("c"), w->rank, w->axis, w->channels);
  if (!factors) return std::nullopt;
  for (double& f : *factors) f = factor_of(f);
  std::optional<std::vector<double>> bias;
  if (w->bias) {
    bias = bias_values(*w);
    for (size_t i = 0; i < bias->size(); ++i) (*bias)[i] *= (*factors)[i];
  }
  Patch patch;
  patch.replace(m.root->output(0), remake(patch, *w, patch.constant(scaled_weight(*w, *factors)), bias));
  return patch;
}

std::optional<Patch> fold_factor(const Match& m, PassContext&) {
  return scale(m, [](double c) { return c; });
}

std::optional<Patch> fold_divisor(const Match& m, PassContext&) {
  return scale(m, [](double c) { return 1.0 / c; });
}

std::optional<Patch> fold_term(const Match& m, PassContext&) {
  const std::optional<Weights> w = weights_of(*m.node("main"));
  if (!w || !w->takes_bias) return std::nullopt;
  const std::optional<std::vector<double>> terms = values_along(m.value("c"), w->rank, w->axis, w->channels);
  if (!terms) return std::nullopt;
  std::vector<double> bias = bias_values(*w);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] += (*terms)[i];
  Patch patch;
  patch.replace(m.root->output(0), remake(patch, *w, m.node("main")->input(1), bias));
  return patch;
}

/// Whether weights of 16 bits keep their digits when they take the factor over.
bool is_moderate(double factor) { return std::fabs(factor) >= 0.25 && std::fabs(factor) <= 1024; }

/// Padding is zero before and behind a factor, so the weights can take it. Only where every reader of the
/// product is such a convolution: else it stays.
std::optional<Patch> fold_factor_before(const Match& m, PassContext&) {
  const Value *x = m.value("x"), *product = m.node("product")->output(0);
  const bool all_fold = std::all_of(product->uses().begin(), product->uses().end(), [&](const Use& u) {
    return u.node->is("Conv") && u.index == 0 && u.node->graph() == product->graph() && u.node->input(1) &&
           u.node->input(1)->is_constant() && u.node->attributes.get<int64_t>("group", 1) == 1;
  });
  if (!all_fold || product->graph()->is_output(product) || !x->type.has_rank() || !same_shape(x, product))
    return std::nullopt;
  const Tensor& weight = *m.value("w")->constant;
  const auto factors = values_along(m.value("c"), x->type.rank(), 1, weight.dims()[1]);
  if (!factors || !std::all_of(factors->begin(), factors->end(), is_moderate)) return std::nullopt;
  Patch patch;
  std::vector<PatchOperand> inputs(m.root->inputs().begin(), m.root->inputs().end());
  inputs[0] = m.value("x");
  inputs[1] = patch.constant(scale_slices(weight, 1, *factors));
  patch.replace(m.root->output(0), patch.node("Conv", std::move(inputs), m.root->attributes));
  return patch;
}

std::optional<Patch> split_batch_norm(const Match& m, PassContext&) {
  const Node& node = *m.root;
  const Value* x = m.value("x");
  if (node.attributes.get<int64_t>("training_mode", 0) != 0 ||
      node.attributes.get<int64_t>("spatial", 1) != 1 || !x->type.has_rank() || x->type.rank() < 2)
    return std::nullopt;
  for (size_t i = 1; i < node.outputs().size(); ++i)
    if (node.output(i)) return std::nullopt;
  const double epsilon = node.attributes.get<float>("epsilon", 1e-5f);
  std::vector<double> scale = m.value("scale")->constant->to_doubles(),
                      term = m.value("b")->constant->to_doubles();
  const std::vector<double> mean = m.value("mean")->constant->to_doubles(),
                            variance = m.value("var")->constant->to_doubles();
  for (size_t i = 0; i < scale.size(); ++i) {
    scale[i] /= std::sqrt(variance[i] + epsilon);
    term[i] -= mean[i] * scale[i];
  }
  Dims dims(size_t(x->type.rank() - 1), 1);
  dims[0] = static_cast<int64_t>(scale.size());
  Patch patch;
  const PatchOperand product =
      patch.node("Mul", {m.value("x"), patch.constant(tensor_from_doubles(x->type.dtype, dims, scale))});
  patch.replace(node.output(0),
                patch.node("Add", {product, patch.constant(tensor_from_doubles(x->type.dtype, dims, term))}));
  return patch;
}

bool run_fold_batch_norm(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"batch_norm(x) => x * scale + term",
       {"BatchNormalization(x, #scale, #b, #mean, #var)"},
       split_batch_norm},
      {"conv(x, w, b) * c => conv(x, w * c, b * c)",
       {"Mul(main:Conv(..)|main:ConvTranspose(..)|main:Gemm(..)|main:MatMul(..), #c)"},
       fold_factor},
      {"conv(x, w, b) / c => conv(x, w / c, b / c)",
       {"Div(main:Conv(..)|main:ConvTranspose(..)|main:Gemm(..)|main:MatMul(..), #c)"},
       fold_divisor},
      {"conv(x, w, b) + c => conv(x, w, b + c)",
       {"Add(main:Conv(..)|main:ConvTranspose(..)|main:Gemm(..), #c)"},
       fold_term},
      {"conv(x * c, w) => conv(x, w * c)",
       {"Conv(product:Mul(x, #c), #w, ..)", "Conv(product:Mul(x, #c), #w)"},
       fold_factor_before,
       true},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass fold_batch_norm() {
  return {"fold_batch_norm",
          "Batch normalisation, and constant factors and terms per channel, go into the weights before them.",
          run_fold_batch_norm};
}

}  // namespace wootz
