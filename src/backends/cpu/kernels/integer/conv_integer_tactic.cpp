// SPDX-License-Identifier: Apache-2.0
// ConvInteger as exact 8-bit products of gathered patches. Padding is the data's zero point, so it counts as
// nothing.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/integer/integer_problem.h"

namespace wootz::cpu_conv_integer_tactic {
namespace {

constexpr int64_t kBlockPixels = 48;

struct ConvIntegerProblem {
  IntegerProblem integer;
  ConvGeometry geometry;
  ImageStrides x, y;
  int64_t y_pitch = 0;  // elements between output pixels whose channels are adjacent; 0: others

  static std::optional<std::string> read(const Problem& problem, ConvIntegerProblem& c) {
    const TensorDesc& y = problem.outputs[0];
    if (y.dims.size() < 3) return "rank " + std::to_string(y.dims.size()) + ", expected 3 or 4";
    if (auto why = IntegerProblem::read(problem, "ConvInteger", 1, c.integer)) return why;
    const TensorDesc& x = problem.inputs[static_cast<size_t>(c.integer.a_input)];
    const TensorDesc& w = problem.inputs[static_cast<size_t>(c.integer.b_input)];
    if (auto why = read_conv_geometry(*c.integer.view.main, x.dims, w.dims, c.geometry)) return why;
    const ConvGeometry& g = c.geometry;
    if (g.groups != 1 && c.integer.b_zero.count > 1)
      return "zero points per channel of a grouped convolution";
    Dims main_dims = {g.batch, g.outputs};
    if (x.dims.size() == 4) main_dims.push_back(g.out_h);
    main_dims.push_back(g.out_w);
    if (auto why = c.integer.epilogue.prepare(problem, c.integer.view, main_dims, 1, nullptr)) return why;
    if (!c.integer.epilogue.has_program()) return "the tail has no vector form";
    c.y_pitch = row_pitch(y, 1).value_or(0);
    if (c.integer.to_bytes && c.y_pitch == 0) return "an 8-bit result whose pixels are not evenly spaced";
    if (y.dims != main_dims) return "the tail enlarges the main result";
    if (y.size() == 0) return "an empty result";
    c.x = image_strides(x);
    c.y = image_strides(y);
    return std::nullopt;
  }
};

class ConvIntegerKernel final : public Kernel {
 public:
  ConvIntegerKernel(ConvIntegerProblem problem, Packed packed, int parts)
      : p_(std::move(problem)), packed_(std::move(packed)), parts_(parts) {
    const ConvGeometry& g = p_.geometry;
    panels_ = {nullptr, nullptr, g.taps() * g.group_channels(), g.group_outputs()};
    lda_ = panels_.groups() * 4;
    const ImageStrides& x = p_.x;
    dense_ = x.c == 1 && g.groups == 1 && x.w == g.channels && g.dilation_w == 1;
    in_place_ = dense_ && g.is_pointwise() && p_.integer.a_unsigned && lda_ == g.channels &&
                x.h == g.in_w * x.w && (g.batch == 1 || x.n == g.in_h * x.h) && !p_.integer.needs_row_sums();
  }

  size_t workspace_bytes() const override {
    return 2 * zero_bytes() + static_cast<size_t>(parts_) * part_bytes();
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = p_.integer.epilogue.bind(args);
    const auto* x = static_cast<const uint8_t*>(args.inputs[p_.integer.a_input]);
    if (p_.y_pitch > 0) return launch_rows(args, x, epilogue);
    auto* y = static_cast<int32_t*>(args.outputs[0]);
    char* space = static_cast<char*>(args.workspace);
    const ConvGeometry& g = p_.geometry;
    const IntegerZeroPoints zero = p_.integer.bind(args, g.outputs, reinterpret_cast<int32_t*>(space));
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t first = g.pixels() * part / parts, end = g.pixels() * (part + 1) / parts;
      auto* tile =
          reinterpret_cast<int32_t*>(space + 2 * zero_bytes() + static_cast<size_t>(part) * part_bytes());
      auto* sums = tile + kBlockPixels * g.outputs;
      auto* bytes = reinterpret_cast<uint8_t*>(sums + kBlockPixels);
      for (int64_t pixel = first; pixel < end; pixel += kBlockPixels) {
        const int64_t count = std::min(kBlockPixels, end - pixel);
        for (int64_t group = 0; group < g.groups; ++group) {
          for (int64_t i = 0; i < count; ++i)
            sums[i] = gather(bytes + i * lda_, x, pixel + i, group, static_cast<uint8_t>(zero.a));
          IntegerPanels panels = panels_;
          panels.data = packed_[0].as<int8_t>() + group * panels_.bytes();
          panels.column_sums = packed_[1].as<int32_t>() + group * panels_.n;
          multiply_integer(panels, {bytes, lda_, sums, count}, zero, 0, panels.panels(),
                           tile + group * panels_.n, g.outputs);
        }
        p_.integer.store(tile, g.outputs, nullptr, pixel, 0, count, g.outputs, epilogue, tile, g.outputs);
        for (int64_t i = 0; i < count; ++i) scatter(y, tile + i * g.outputs, pixel + i);
      }
    });
  }

 private:
  size_t zero_bytes() const { return (static_cast<size_t>(p_.geometry.outputs) * 4 + 63) / 64 * 64; }
  size_t part_bytes() const {
    return (static_cast<size_t>(kBlockPixels) *
                (static_cast<size_t>(p_.geometry.outputs) * 4 + 4 + static_cast<size_t>(lda_)) +
            63) /
           64 * 64;
  }

  /// Channels are adjacent: a panel of them at a time while its sums are in the first cache.
  void launch_rows(const LaunchArgs& args, const uint8_t* x, const Epilogue& epilogue) noexcept {
    const ConvGeometry& g = p_.geometry;
    auto* y = static_cast<char*>(args.outputs[0]);
    char* space = static_cast<char*>(args.workspace);
    const IntegerZeroPoints zero = p_.integer.bind(args, g.outputs, reinterpret_cast<int32_t*>(space));
    auto* correction = reinterpret_cast<int32_t*>(space + zero_bytes());
    for (int64_t j = 0; j < g.outputs; ++j) correction[j] = zero.a * packed_[1].as<int32_t>()[j];
    const bool sums_needed = p_.integer.needs_row_sums();
    const auto each = static_cast<int64_t>(p_.integer.result_bytes());
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t first = g.pixels() * part / parts, end = g.pixels() * (part + 1) / parts;
      alignas(64) int32_t tile[kBlockPixels * IntegerPanels::kPanel], sums[kBlockPixels] = {};
      auto* bytes =
          reinterpret_cast<uint8_t*>(space + 2 * zero_bytes() + static_cast<size_t>(part) * part_bytes());
      for (int64_t pixel = first; pixel < end; pixel += kBlockPixels)
        for (int64_t group = 0; group < g.groups; ++group) {
          const int64_t count = std::min(kBlockPixels, end - pixel);
          for (int64_t i = 0; i < count && !in_place_; ++i)
            sums[i] = gather(bytes + i * lda_, x, pixel + i, group, static_cast<uint8_t>(zero.a));
          const IntegerRows rows{in_place_ ? x + pixel * lda_ : bytes, lda_, sums, count};
          IntegerPanels panels = panels_;
          panels.data = packed_[0].as<int8_t>() + group * panels_.bytes();
          panels.column_sums = packed_[1].as<int32_t>() + group * panels_.n;
          for (int64_t p = 0; p < panels.panels(); ++p) {
            const int64_t in_group = p * IntegerPanels::kPanel, column = group * panels.n + in_group;
            multiply_stored(panels, rows, p, tile, IntegerPanels::kPanel);
            if (sums_needed) remove_zero_points(panels, rows, zero, p, tile, IntegerPanels::kPanel);
            p_.integer.store(tile, IntegerPanels::kPanel, sums_needed ? nullptr : correction + column, pixel,
                             column, count, std::min(IntegerPanels::kPanel, panels.n - in_group), epilogue,
                             y + (pixel * p_.y_pitch + column) * each, p_.y_pitch);
          }
        }
    });
  }

  /// A pixel's patch where its rows are runs of memory and its sum is not wanted.
  void gather_runs(uint8_t* to, const uint8_t* x, int64_t ox, int64_t oy, int64_t n, uint8_t padding) const {
    const ConvGeometry& g = p_.geometry;
    const bool flip = !p_.integer.a_unsigned;
    const int64_t run = g.kernel_w * g.channels, ix = ox * g.stride_w - g.pad_left;
    const int64_t skip = std::clamp<int64_t>(-ix, 0, g.kernel_w);
    const int64_t taps = std::clamp<int64_t>(g.in_w - ix, skip, g.kernel_w) - skip;
    for (int64_t ky = 0; ky < g.kernel_h; ++ky, to += run) {
      const int64_t iy = oy * g.stride_h - g.pad_top + ky * g.dilation_h;
      if (iy < 0 || iy >= g.in_h || taps == 0) {
        std::fill(to, to + run, padding);
        continue;
      }
      const uint8_t* from = x + n * p_.x.n + iy * p_.x.h + (ix + skip) * p_.x.w;
      std::fill(to, to + skip * g.channels, padding);
      copy_stored(to + skip * g.channels, from, taps * g.channels, flip);
      std::fill(to + (skip + taps) * g.channels, to + run, padding);
    }
  }

  /// The patch of one output pixel in stored form, taps before channels; returns its sum.
  int32_t gather(uint8_t* to, const uint8_t* x, int64_t pixel, int64_t group, uint8_t padding) const {
    const ConvGeometry& g = p_.geometry;
    const int64_t ox = pixel % g.out_w, oy = pixel / g.out_w % g.out_h, n = pixel / g.out_w / g.out_h;
    const int64_t channels = g.group_channels();
    const bool flip = !p_.integer.a_unsigned;
    const uint8_t mask = flip ? 0x80 : 0;
    uint8_t* const start = to;
    if (dense_ && !p_.integer.needs_row_sums()) {
      gather_runs(to, x, ox, oy, n, padding);
      std::fill(to + g.taps() * channels, to + lda_, uint8_t{0});
      return 0;
    }
    int32_t sum = 0;
    for (int64_t ky = 0; ky < g.kernel_h; ++ky)
      for (int64_t kx = 0; kx < g.kernel_w; ++kx, to += channels) {
        const int64_t iy = oy * g.stride_h - g.pad_top + ky * g.dilation_h,
                      ix = ox * g.stride_w - g.pad_left + kx * g.dilation_w;
        if (iy < 0 || iy >= g.in_h || ix < 0 || ix >= g.in_w) {
          std::fill(to, to + channels, padding);
          sum += static_cast<int32_t>(channels) * padding;
          continue;
        }
        const uint8_t* from = x + n * p_.x.n + iy * p_.x.h + ix * p_.x.w + group * channels * p_.x.c;
        if (p_.x.c == 1) {
          sum += copy_bytes(to, from, channels, flip);
          continue;
        }
        for (int64_t c = 0; c < channels; ++c) {
          to[c] = from[c * p_.x.c] ^ mask;
          sum += to[c];
        }
      }
    std::fill(to, start + lda_, uint8_t{0});
    return sum;
  }

  void scatter(int32_t* y, const int32_t* row, int64_t pixel) const {
    const ConvGeometry& g = p_.geometry;
    int32_t* to = y + pixel / g.out_w / g.out_h * p_.y.n + pixel / g.out_w % g.out_h * p_.y.h +
                  pixel % g.out_w * p_.y.w;
    for (int64_t m = 0; m < g.outputs; ++m) to[m * p_.y.c] = row[m];
  }

  ConvIntegerProblem p_;
  Packed packed_;
  IntegerPanels panels_;
  int parts_;
  int64_t lda_ = 0;
  bool dense_ = false;     // kernel rows of a patch are runs of memory
  bool in_place_ = false;  // patches are the image's own bytes
};

class ConvIntegerTactic final : public Tactic {
 public:
  int version() const override { return 3; }
  std::string_view id() const override { return "cpu.conv_integer.gather"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ConvIntegerProblem p;
    if (auto why = ConvIntegerProblem::read(problem, p)) return why;
    if (!problem.inputs[static_cast<size_t>(p.integer.b_input)].constant)
      return "the weights are not constant";
    return std::nullopt;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    const auto view = view_contraction(problem.body(), {"ConvInteger"});
    const Tensor& w =
        *problem.inputs[static_cast<size_t>(body_input_index(problem.body(), view->main->input(1)))].constant;
    const int64_t groups = view->main->attributes.get<int64_t>("group", 1);
    const int64_t outputs = w.dims()[0] / groups, channels = w.dims()[1];
    const int64_t taps = w.size() / std::max<int64_t>(1, w.dims()[0] * channels);
    const IntegerPanels shape{nullptr, nullptr, taps * channels, outputs};
    Tensor bytes = Tensor::zeros(DType::kInt8, {groups * shape.bytes()}),
           sums = Tensor::zeros(DType::kInt32, {groups * outputs});
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t t = 0; t < taps; ++t)
        pack_integer(shape, w.dtype() == DType::kUint8, w.as<uint8_t>() + g * outputs * channels * taps + t,
                     t * channels, channels, taps, channels * taps, bytes.as<int8_t>() + g * shape.bytes(),
                     sums.as<int32_t>() + g * outputs);
    return {bytes, sums};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    ConvIntegerProblem p;
    if (auto why = ConvIntegerProblem::read(problem, p))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<ConvIntegerKernel>(std::move(p), packed, problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<ConvIntegerTactic>()); }

}  // namespace wootz::cpu_conv_integer_tactic
