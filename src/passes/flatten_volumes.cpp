// SPDX-License-Identifier: Apache-2.0
#include "passes/flatten_volumes.h"

#include "ops/strided_copy.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

/// The window along the depth.
struct Depth {
  int64_t taps = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  bool keeps_slices() const { return taps == 1 && stride == 1 && pad_begin == 0 && pad_end == 0; }
};

Ints behind_the_first(const Ints& values) { return {values.begin() + 1, values.end()}; }

/// Attributes of the convolution of pictures; `depth` receives the rest.
std::optional<Attributes> split_window(const Node& conv, const Tensor& w, Depth& depth) {
  const std::string auto_pad = conv.attributes.get<std::string>("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  const Ints ones(3, 1), strides = conv.attributes.get<Ints>("strides", ones),
                         dilations = conv.attributes.get<Ints>("dilations", ones),
                         pads = conv.attributes.get<Ints>("pads", Ints(6, 0));
  if (strides.size() != 3 || dilations.size() != 3 || pads.size() != 6) return std::nullopt;
  depth = {w.dims()[2], strides[0], dilations[0], pads[0], pads[3]};
  if (depth.pad_begin < 0 || depth.pad_end < 0) return std::nullopt;
  Attributes attributes;
  attributes.set("kernel_shape", Ints{w.dims()[3], w.dims()[4]});
  attributes.set("strides", behind_the_first(strides));
  attributes.set("dilations", behind_the_first(dilations));
  attributes.set("pads", Ints{pads[1], pads[2], pads[4], pads[5]});
  attributes.set("group", conv.attributes.get<int64_t>("group", 1));
  return attributes;
}

/// [M, C, taps, h, w] as [M, taps C, h, w].
Tensor taps_as_channels(const Tensor& w) {
  const Dims& d = w.dims();
  Tensor to = Tensor::zeros(w.dtype(), {d[0], d[1] * d[2], d[3], d[4]});
  const Ints perm = {0, 2, 1, 3, 4};
  copy_permuted(w.dtype(), d, perm, w.data(), to.data());
  return to;
}

PatchOperand ints(Patch& patch, std::vector<int64_t> values) {
  return patch.constant(Tensor::int64s(values));
}

/// x [N, C, D, H, W] with what each tap along the depth reads as channels of its own: [N, taps C, slices, H,
/// W].
PatchOperand unfold(Patch& patch, Value* x, const Depth& depth, int64_t slices) {
  PatchOperand padded = x;
  if (depth.pad_begin > 0 || depth.pad_end > 0)
    padded =
        patch.node("Pad", {x, ints(patch, {0, 0, depth.pad_begin, 0, 0, 0, 0, depth.pad_end, 0, 0})}, {}, 1);
  std::vector<PatchOperand> read;
  for (int64_t t = 0; t < depth.taps; ++t) {
    const int64_t first = t * depth.dilation, end = first + (slices - 1) * depth.stride + 1;
    read.push_back(patch.node("Slice", {padded, ints(patch, {first}), ints(patch, {end}), ints(patch, {2}),
                                        ints(patch, {depth.stride})}));
  }
  Attributes axis;
  axis.set("axis", int64_t{1});
  return patch.node("Concat", std::move(read), axis);
}

std::optional<Patch> pictures_of_volumes(const Match& m, PassContext&) {
  const Node& conv = *m.root;
  Value *x = m.value("x"), *out = conv.output(0), *bias = conv.input(2);
  const Tensor& w = *m.value("w")->constant;
  if (!x->type.has_rank() || x->type.rank() != 5 || !out->type.has_rank() || w.rank() != 5 || w.size() == 0)
    return std::nullopt;
  Depth depth;
  std::optional<Attributes> attributes = split_window(conv, w, depth);
  if (!attributes) return std::nullopt;
  const SymbolTable& symbols = x->graph()->symbols();
  const Shape &in = *x->type.shape, &to = *out->type.shape;
  const Dim slices = symbols.resolve(to[2]);
  const bool has_groups = attributes->get<int64_t>("group", 1) != 1;
  if (!slices.is_constant() || slices.value() < 1 || (!depth.keeps_slices() && has_groups))
    return std::nullopt;
  Patch patch;
  const Dim channels = depth.keeps_slices() ? in[1] : Dim(w.dims()[1] * w.dims()[2]);
  PatchOperand volume = depth.keeps_slices() ? PatchOperand(x) : unfold(patch, x, depth, slices.value());
  const bool is_flat = slices.value() == 1;
  if (!is_flat) volume = transpose(patch, volume, {0, 2, 1, 3, 4});
  const auto pictures = reshape(patch, volume, {in[0] * slices.value(), channels, in[3], in[4]}, symbols);
  if (!pictures) return std::nullopt;
  std::vector<PatchOperand> inputs = {*pictures, patch.constant(taps_as_channels(w))};
  if (bias) inputs.push_back(bias);
  PatchOperand y = patch.node("Conv", std::move(inputs), std::move(*attributes));
  Shape unfolded = to;
  if (!is_flat) std::swap(unfolded[1], unfolded[2]);
  const auto volumes = reshape(patch, y, unfolded, symbols);
  if (!volumes) return std::nullopt;
  patch.replace(out, is_flat ? *volumes : transpose(patch, *volumes, {0, 2, 1, 3, 4}));
  return patch;
}

bool run_flatten_volumes(Graph& graph, PassContext& context) {
  static const RuleSet rules(
      {{"conv of a volume => conv of its slices", {"Conv(x, #w)", "Conv(x, #w, #b)"}, pictures_of_volumes}});
  return rules.apply(graph, context);
}

}  // namespace

Pass flatten_volumes() {
  return {"flatten_volumes",
          "A convolution of three spatial axes is one of two on the slices along the depth.",
          run_flatten_volumes};
}

}  // namespace wootz
