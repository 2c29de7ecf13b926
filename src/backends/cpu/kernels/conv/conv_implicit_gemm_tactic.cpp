// SPDX-License-Identifier: Apache-2.0
// Any float32 convolution as a product of pixels and packed weights, without an im2col matrix: the rows of a
// tap are found through pointers, or in a padded copy of a few input rows where channels are too few for that
// to pay.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_weights.h"
#include "backends/cpu/kernels/gemm/blocked_product.h"

namespace wootz::cpu_conv_implicit_gemm_tactic {
namespace {

constexpr int64_t kPadded = 1;         // config "copy"
constexpr int64_t kPanelColumns = 64;  // of the widest panel

/// What both methods share.
class ConvGemmKernel : public Kernel {
 public:
  ConvGemmKernel(ConvProblem conv, const PanelKernels& kernels, const Dims& weight_dims, Tensor packed,
                 int parts)
      : conv_(std::move(conv)),
        kernels_(kernels),
        panels_(conv_panel_shape(kernels, weight_dims, conv_.geometry.groups)),
        packed_(std::move(packed)),
        parts_(worthwhile_parts(conv_.geometry.pixels() * conv_.geometry.outputs * panels_.k, parts)) {}

 protected:
  PackedPanels group_panels(int64_t g) const {
    PackedPanels p = panels_;
    p.data = packed_.as<float>() + g * panels_.floats();
    return p;
  }

  ConvProblem conv_;
  const PanelKernels& kernels_;
  PackedPanels panels_;
  Tensor packed_;
  int parts_;
};

/// Pointers to every row of every tap of a block of pixels; taps outside of the image point at zeros.
class PointerKernel final : public ConvGemmKernel {
 public:
  template <class... Args>
  explicit PointerKernel(int64_t split, Args&&... args)
      : ConvGemmKernel(std::forward<Args>(args)...),
        split_(split),
        block_(std::min<int64_t>(conv_.geometry.pixels(),
                                 block_rows(kernels_, conv_.geometry.channels, conv_.geometry.outputs))),
        zeros_(Tensor::zeros(DType::kFloat32, {conv_.geometry.channels})) {}

  size_t workspace_bytes() const override {
    return static_cast<size_t>(parts_ * table_size()) * sizeof(const float*);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const ConvGeometry& g = conv_.geometry;
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t panels = g.groups == 1 ? panels_.panels() : 1;
      PartRange r = part_range(kernels_, g.pixels(), panels, panels_.k, part, parts);
      if (split_ == 1) r = {g.pixels() * part / parts, g.pixels() * (part + 1) / parts, 0, panels};
      if (split_ == 2) r = {0, g.pixels(), panels * part / parts, panels * (part + 1) / parts};
      auto** table = static_cast<const float**>(args.workspace) + part * table_size();
      const int64_t blocks = (r.r1 - r.r0 + block_ - 1) / block_;
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t r0 = r.r0 + (r.r1 - r.r0) * b / blocks, r1 = r.r0 + (r.r1 - r.r0) * (b + 1) / blocks;
        fill_table(table, x, r0, r1);
        block(table, y, r0, r1 - r0, r, epilogue);
      }
    });
  }

 private:
  int64_t table_size() const { return conv_.geometry.taps() * block_; }

  void block(const float* const* table, float* y, int64_t row, int64_t rows, const PartRange& range,
             const Epilogue& epilogue) const {
    const ConvGeometry& g = conv_.geometry;
    LeftRows left;
    left.rows = table;
    left.rows_pitch = block_;
    left.zeros = zeros_.as<float>();
    left.segments = g.taps();
    left.segment_length = g.group_channels();
    float* c = y + row * conv_.y_pitch;
    if (g.groups == 1) {
      multiply_block(kernels_, group_panels(0), left, rows, range.p0, range.p1, {c, conv_.y_pitch, row, 0},
                     epilogue);
      return;
    }
    Epilogue without_tail = epilogue;
    without_tail.has_tail = false;
    for (int64_t i = 0; i < g.groups; ++i) {
      const PackedPanels panels = group_panels(i);
      left.rows_offset = i * g.group_channels();
      const int64_t column = i * g.group_outputs();
      multiply_block(kernels_, panels, left, rows, 0, panels.panels(),
                     {c + column, conv_.y_pitch, row, column}, without_tail);
    }
    epilogue.apply(c, row, 0, rows, g.outputs, conv_.y_pitch);
  }

  /// Pixels of one output row at a time: within it a tap's pointers are evenly spaced.
  void fill_table(const float** table, const float* x, int64_t r0, int64_t r1) const {
    const ConvGeometry& g = conv_.geometry;
    for (int64_t r = r0; r < r1;) {
      const int64_t ox0 = r % g.out_w, line = r / g.out_w;
      const int64_t ox1 = std::min(g.out_w, ox0 + (r1 - r));
      const float* image = x + line / g.out_h * conv_.x.n;
      const int64_t y0 = line % g.out_h * g.stride_h - g.pad_top;
      for (int64_t ky = 0; ky < g.kernel_h; ++ky) {
        const int64_t iy = y0 + ky * g.dilation_h;
        const bool inside = iy >= 0 && iy < g.in_h;
        for (int64_t kx = 0; kx < g.kernel_w; ++kx) {
          const float** out = table + (ky * g.kernel_w + kx) * block_ + (r - r0);
          fill_tap(out, inside ? image + iy * conv_.x.h : nullptr, kx * g.dilation_w - g.pad_left, ox0, ox1);
        }
      }
      r += ox1 - ox0;
    }
  }
  void fill_tap(const float** out, const float* line, int64_t shift, int64_t ox0, int64_t ox1) const {
    const ConvGeometry& g = conv_.geometry;
    const float* zeros = zeros_.as<float>();
    if (!line) {
      std::fill(out, out + (ox1 - ox0), zeros);
      return;
    }
    // Columns ox with 0 <= ox * stride + shift < in_w.
    const int64_t lo = shift >= 0 ? 0 : (-shift + g.stride_w - 1) / g.stride_w;
    const int64_t hi = shift >= g.in_w ? 0 : (g.in_w - 1 - shift) / g.stride_w + 1;
    const int64_t a = std::clamp(lo, ox0, ox1), z = std::clamp(hi, a, ox1);
    std::fill(out, out + (a - ox0), zeros);
    const float* at = line + (a * g.stride_w + shift) * conv_.x.w;
    const int64_t step = g.stride_w * conv_.x.w;
    for (int64_t ox = a; ox < z; ++ox, at += step) out[ox - ox0] = at;
    std::fill(out + (z - ox0), out + (ox1 - ox0), zeros);
  }

  int64_t split_;  // 0: by the sizes, 1: pixels, 2: output channels
  int64_t block_;  // pixels
  Tensor zeros_;
};

/// A band of input rows copied with its padding, channels fastest: then a kernel row's taps are one run of
/// memory. The input may have any strides.
class PaddedKernel final : public ConvGemmKernel {
 public:
  template <class... Args>
  explicit PaddedKernel(Args&&... args) : ConvGemmKernel(std::forward<Args>(args)...) {
    const ConvGeometry& g = conv_.geometry;
    // Few output rows (a 1-D convolution): cut the columns too, so that every part gets some.
    const int64_t lines = g.batch * g.out_h;
    cuts_ = lines >= 4 * parts_ ? 1
                                : std::clamp<int64_t>(4 * parts_ / std::max<int64_t>(1, lines), 1,
                                                      std::max<int64_t>(1, g.out_w / 48));
    cuts_ = std::max(cuts_, (g.out_w + kMostColumns - 1) / kMostColumns);
    columns_ = (g.out_w + cuts_ - 1) / cuts_;
    band_width_ = (columns_ - 1) * g.stride_w + window(g.kernel_w, g.dilation_w);
    const int64_t line_floats = band_width_ * g.channels;
    const int64_t fitting = kBandFloats / std::max<int64_t>(1, line_floats * g.stride_h);
    band_rows_ = std::clamp<int64_t>(fitting, 1, std::max<int64_t>(1, lines / (2 * parts_)));
    band_rows_ = std::min(band_rows_, g.out_h);
    band_floats_ = ((band_rows_ - 1) * g.stride_h + window(g.kernel_h, g.dilation_h)) * line_floats;
    band_floats_ = (band_floats_ + 15) / 16 * 16;
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(parts_ * band_floats_) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = conv_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[conv_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const ConvGeometry& g = conv_.geometry;
    const int64_t lines = g.batch * g.out_h;
    pool_of(args)(parts_, [&](int part, int parts) {
      float* band = static_cast<float*>(args.workspace) + part * band_floats_;
      // Work items are (line, cut) with the cut slower, so that a band of lines shares its input rows.
      const int64_t items = lines * cuts_;
      for (int64_t i = items * part / parts, end = items * (part + 1) / parts; i < end;) {
        const int64_t cut = i / lines, line = i % lines, oy = line % g.out_h;
        const int64_t rows = std::min({band_rows_, g.out_h - oy, lines - line, end - i});
        const int64_t ox0 = g.out_w * cut / cuts_, ox1 = g.out_w * (cut + 1) / cuts_;
        fill_band(band, x + line / g.out_h * conv_.x.n, oy, rows, ox0, ox1);
        for (int64_t row = 0; row < rows; ++row) multiply_line(band, y, line + row, row, ox0, ox1, epilogue);
        i += rows;
      }
    });
  }

 private:
  static constexpr int64_t kBandFloats = (192 << 10) / 4;
  static constexpr int64_t kMostColumns = 512;
  static int64_t window(int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; }

  void fill_band(float* band, const float* image, int64_t oy, int64_t rows, int64_t ox0, int64_t ox1) const {
    const ConvGeometry& g = conv_.geometry;
    const int64_t y0 = oy * g.stride_h - g.pad_top, x0 = ox0 * g.stride_w - g.pad_left;
    const int64_t height = (rows - 1) * g.stride_h + window(g.kernel_h, g.dilation_h);
    const int64_t width = (ox1 - ox0 - 1) * g.stride_w + window(g.kernel_w, g.dilation_w);
    const int64_t a = std::clamp<int64_t>(-x0, 0, width), z = std::clamp<int64_t>(g.in_w - x0, a, width);
    for (int64_t r = 0; r < height; ++r) {
      float* line = band + r * band_width_ * g.channels;
      const int64_t iy = y0 + r;
      if (iy < 0 || iy >= g.in_h) {
        std::fill(line, line + width * g.channels, 0.0f);
        continue;
      }
      std::fill(line, line + a * g.channels, 0.0f);
      copy_pixels(line + a * g.channels, image + iy * conv_.x.h + (x0 + a) * conv_.x.w, z - a);
      std::fill(line + z * g.channels, line + width * g.channels, 0.0f);
    }
  }
  void copy_pixels(float* to, const float* from, int64_t count) const {
    const int64_t channels = conv_.geometry.channels;
    if (conv_.x.c == 1 && conv_.x.w == channels) {
      std::copy(from, from + count * channels, to);
      return;
    }
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < count; ++i) to[i * channels + c] = from[c * conv_.x.c + i * conv_.x.w];
  }
  void multiply_line(const float* band, float* y, int64_t line, int64_t row, int64_t ox0, int64_t ox1,
                     const Epilogue& epilogue) const {
    const ConvGeometry& g = conv_.geometry;
    LeftRows left;
    left.a = band + row * g.stride_h * band_width_ * g.channels;
    left.lda = g.stride_w * g.channels;
    left.segments = g.kernel_h;
    left.segment_stride = g.dilation_h * band_width_ * g.channels;
    left.segment_length = g.kernel_w * g.channels;
    const int64_t pixel = line * g.out_w + ox0;
    multiply_block(kernels_, group_panels(0), left, ox1 - ox0, 0, panels_.panels(),
                   {y + pixel * conv_.y_pitch, conv_.y_pitch, pixel, 0}, epilogue);
  }

  int64_t cuts_, columns_, band_width_, band_rows_, band_floats_;
};

class ConvImplicitGemmTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv.implicit_gemm"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv)) return why;
    if (!problem.inputs[static_cast<size_t>(conv.w_input)].constant) return "the weights are not constant";
    if (conv.geometry.pixels() == 0) return "an empty result";
    if (!serves_pointers(conv) && !serves_copy(conv))
      return "the input is not channels-last, and groups or dilation rule out a padded copy";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    ConvProblem conv;
    ConvProblem::read(problem, conv);
    const int64_t isa = static_cast<int64_t>(available_isas()[0]);
    std::vector<TacticConfig> list;
    const bool copy_first = conv.geometry.channels < 16 || !serves_pointers(conv);
    if (serves_copy(conv) && conv.geometry.channels <= 64)
      list.push_back({{{"isa", isa}, {"copy", kPadded}}});
    if (list.empty() && !serves_pointers(conv)) list.push_back({{{"isa", isa}, {"copy", kPadded}}});
    if (!serves_pointers(conv)) return list;
    std::vector<TacticConfig> pointers{{{{"isa", isa}, {"copy", 0}}}};
    // Output channels go to the parts one panel at a time, so few of them cannot be split.
    if (problem.threads > 1 && conv.geometry.groups == 1 && conv.geometry.channels >= 16)
      for (int64_t split : {1, 2})
        if (split == 1 || conv.geometry.outputs > kPanelColumns)
          pointers.push_back({{{"isa", isa}, {"copy", 0}, {"split", split}}});
    list.insert(copy_first ? list.end() : list.begin(), pointers.begin(), pointers.end());
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    const auto view = view_contraction(problem.body(), {"Conv"});
    const int64_t groups = view->main->attributes.get<int64_t>("group", 1);
    return {
        pack_conv_weights(panel_kernels(static_cast<Isa>(config.get("isa"))), conv_weights(problem), groups)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    ConvProblem conv;
    if (auto why = ConvProblem::read(problem, conv))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const PanelKernels& kernels = panel_kernels(static_cast<Isa>(config.get("isa")));
    const Dims w = problem.inputs[static_cast<size_t>(conv.w_input)].dims;
    if (config.get("copy") == kPadded)
      return std::make_unique<PaddedKernel>(std::move(conv), kernels, w, packed[0], problem.threads);
    return std::make_unique<PointerKernel>(config.get("split"), std::move(conv), kernels, w, packed[0],
                                           problem.threads);
  }

 private:
  static bool serves_pointers(const ConvProblem& conv) { return conv.x.c == 1; }
  static bool serves_copy(const ConvProblem& conv) {
    return conv.geometry.groups == 1 && (conv.geometry.dilation_w == 1 || conv.geometry.kernel_w == 1);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<ConvImplicitGemmTactic>()); }

}  // namespace wootz::cpu_conv_implicit_gemm_tactic
