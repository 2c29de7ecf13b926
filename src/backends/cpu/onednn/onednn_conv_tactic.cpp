// SPDX-License-Identifier: Apache-2.0
// oneDNN convolutions, one single-threaded primitive for each part of the output.
#include <algorithm>
#include <mutex>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/onednn/onednn_library.h"

namespace wootz::cpu_onednn_conv_tactic {
namespace {

using namespace onednn;

/// A piece of the output: images [n0, n1) and output rows [o0, o1), with the input rows that it reads.
struct Piece {
  int64_t n0, n1, o0, o1;
  int64_t i0, in_h, pad_top, pad_bottom;
};

/// Images where there are enough of them, else output rows of each image. Channels are never cut: a channel
/// slice of the destination falls back to a reference implementation without a word.
std::vector<Piece> cut(const ConvGeometry& g, int64_t parts) {
  std::vector<Piece> pieces;
  if (g.batch >= parts || g.out_h < 2) {
    parts = std::min(parts, g.batch);
    for (int64_t p = 0; p < parts; ++p)
      pieces.push_back(
          {g.batch * p / parts, g.batch * (p + 1) / parts, 0, g.out_h, 0, g.in_h, g.pad_top, g.pad_bottom});
    return pieces;
  }
  parts = std::min(parts, g.out_h);
  for (int64_t p = 0; p < parts; ++p) {
    const int64_t o0 = g.out_h * p / parts, o1 = g.out_h * (p + 1) / parts;
    const int64_t first = o0 * g.stride_h - g.pad_top,
                  last = (o1 - 1) * g.stride_h - g.pad_top + (g.kernel_h - 1) * g.dilation_h;
    const int64_t i0 = std::clamp<int64_t>(first, 0, g.in_h - 1),
                  i1 = std::clamp<int64_t>(last + 1, i0 + 1, g.in_h);
    pieces.push_back({0, g.batch, o0, o1, i0, i1 - i0, i0 - first, last + 1 - i1});
  }
  return pieces;
}

/// Dense channels-last strides of [n, c, h, w].
Dims nhwc(int64_t c, int64_t h, int64_t w) { return {h * w * c, 1, w * c, c}; }

struct WeightDims {
  Dims dims, strides;  // grouped where there are groups
  explicit WeightDims(const ConvGeometry& g) {
    dims = {g.group_outputs(), g.group_channels(), g.kernel_h, g.kernel_w};
    if (g.groups > 1) dims.insert(dims.begin(), g.groups);
    strides = contiguous_strides(dims);
  }
};

/// Whether oneDNN itself adds the folded bias and clamps; otherwise it adds the node's bias and the tail runs
/// after.
bool clamps_inside(const EpiloguePlan& e) { return e.in_registers() && !e.has_addend(); }

PrimitiveDesc describe(const ConvProblem& conv, const Piece& piece) {
  const ConvGeometry& g = conv.geometry;
  const int64_t images = piece.o1 - piece.o0 == g.out_h ? piece.n1 - piece.n0 : 1,
                out_h = piece.o1 - piece.o0;
  const Desc x = strided_desc({images, g.channels, piece.in_h, g.in_w}, nhwc(g.channels, piece.in_h, g.in_w));
  const Desc y = strided_desc({images, g.outputs, out_h, g.out_w}, nhwc(g.outputs, out_h, g.out_w));
  const Desc w = any_desc(WeightDims(g).dims);
  const bool inside = clamps_inside(conv.epilogue);
  Desc bias;
  if (inside ? conv.epilogue.has_bias() : conv.epilogue.has_own_bias()) bias = strided_desc({g.outputs}, {1});
  const PrimitiveAttributes attributes = inside ? clamp_attributes(conv.epilogue.low(), conv.epilogue.high())
                                                : clamp_attributes(-std::numeric_limits<float>::infinity(),
                                                                   std::numeric_limits<float>::infinity());
  const dnnl_dims_t strides = {g.stride_h, g.stride_w}, dilates = {g.dilation_h - 1, g.dilation_w - 1};
  const dnnl_dims_t begin = {piece.pad_top, g.pad_left}, end = {piece.pad_bottom, g.pad_right};
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status = Library::get()->convolution_forward_primitive_desc_create(
      &desc, Library::get()->engine, dnnl_forward_inference, dnnl_convolution_direct, x.get(), w.get(),
      bias.get(), y.get(), strides, dilates, begin, end, attributes.get());
  return PrimitiveDesc(status == dnnl_success ? desc : nullptr);
}

class OneDnnConvKernel final : public Kernel {
 public:
  OneDnnConvKernel(const Problem& problem, ConvProblem conv)
      : conv_(std::move(conv)), pieces_(cut(conv_.geometry, problem.threads)) {
    const OneThread one(*Library::get());
    const Tensor& weights = conv_weights(problem);
    const WeightDims wd(conv_.geometry);
    const Desc plain = strided_desc(wd.dims, wd.strides);
    for (const Piece& piece : pieces_) {
      const PrimitiveDesc desc = describe(conv_, piece);
      if (!desc) throw Error(ErrorKind::kDevice, "oneDNN has no implementation of this convolution");
      const auto md = [&](dnnl_query_t what) {
        return Library::get()->primitive_desc_query_md(desc.get(), what, 0);
      };
      Bound b;
      b.primitive = make_primitive(desc.get());
      b.x = make_memory(md(dnnl_query_src_md), DNNL_MEMORY_NONE);
      b.y = make_memory(md(dnnl_query_dst_md), DNNL_MEMORY_NONE);
      b.w = make_memory(md(dnnl_query_weights_md), packed_.pack(desc.get(), plain.get(), weights.data()));
      if (clamps_inside(conv_.epilogue) ? conv_.epilogue.has_bias() : conv_.epilogue.has_own_bias())
        b.bias = make_memory(strided_desc({conv_.geometry.outputs}, {1}).get(), DNNL_MEMORY_NONE);
      bound_.push_back(std::move(b));
    }
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    pool_of(args)(static_cast<int>(pieces_.size()), [&](int part, int) {
      const OneThread one(*Library::get());
      const Piece& piece = pieces_[static_cast<size_t>(part)];
      if (piece.o1 - piece.o0 == conv_.geometry.out_h)
        return execute(static_cast<size_t>(part), x, y, piece.n0, piece.n1, epilogue);
      for (int64_t n = piece.n0; n < piece.n1; ++n)
        execute(static_cast<size_t>(part), x, y, n, n + 1, epilogue);
    });
  }

 private:
  struct Bound {
    Primitive primitive;
    Memory x, y, w, bias;
  };

  void execute(size_t part, const float* x, float* y, int64_t n0, int64_t n1,
               const Epilogue& epilogue) const {
    const Library& l = *Library::get();
    const ConvGeometry& g = conv_.geometry;
    const Piece& piece = pieces_[part];
    const Bound& b = bound_[part];
    const bool inside = clamps_inside(conv_.epilogue);
    const int64_t pixel = (n0 * g.out_h + piece.o0) * g.out_w;
    float* out = y + pixel * g.outputs;
    l.memory_set_data_handle(b.x.get(),
                             const_cast<float*>(x) + (n0 * g.in_h + piece.i0) * g.in_w * g.channels);
    l.memory_set_data_handle(b.y.get(), out);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, b.x.get()},
                              {DNNL_ARG_DST, b.y.get()},
                              {DNNL_ARG_WEIGHTS, b.w.get()},
                              {DNNL_ARG_BIAS, b.bias.get()}};
    if (b.bias)
      l.memory_set_data_handle(b.bias.get(), const_cast<float*>(inside ? epilogue.bias : epilogue.own_bias));
    l.primitive_execute(b.primitive.get(), l.stream, b.bias ? 4 : 3, args);
    if (inside) return;
    const int64_t pixels = (n1 - n0) * (piece.o1 - piece.o0) * g.out_w;
    epilogue.apply_whole(out, pixel, 0, pixels, g.outputs, g.outputs);
  }

  ConvProblem conv_;
  std::vector<Piece> pieces_;
  PackedWeights packed_;
  std::vector<Bound> bound_;
};

class OneDnnConvTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv.onednn"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    if (!Library::get()) return "oneDNN (libdnnl.so.3) was not found";
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv)) return why;
    const ConvGeometry& g = conv.geometry;
    if (!problem.inputs[static_cast<size_t>(conv.x_input)].is_channels_last())
      return "the input is not dense channels-last";
    if (conv.y_pitch != g.outputs)
      return "the output is a slice of channels, for which oneDNN has no fast implementation";
    if (g.pixels() == 0) return "an empty result";
    if (g.pad_top < 0 || g.pad_left < 0 || g.pad_bottom < 0 || g.pad_right < 0) return "negative padding";
    if (!problem.inputs[static_cast<size_t>(conv.w_input)].constant) return "the weights are not constant";
    if (!conv.epilogue.has_program()) return "the tail has no vector form";
    const OneThread one(*Library::get());
    for (const Piece& piece : cut(g, problem.threads)) {
      const PrimitiveDesc desc = describe(conv, piece);
      if (!desc) return "oneDNN has no implementation of this convolution";
      const std::string name = implementation(desc.get());
      if (name.starts_with("ref") || name.starts_with("simple"))
        return "oneDNN has only its reference (" + name + ")";
    }
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<OneDnnConvKernel>(problem, std::move(conv));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<OneDnnConvTactic>(), CpuTactics::kLast);
}

}  // namespace wootz::cpu_onednn_conv_tactic
