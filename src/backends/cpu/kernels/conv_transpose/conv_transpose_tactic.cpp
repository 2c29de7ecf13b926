// SPDX-License-Identifier: Apache-2.0
// Transposed convolution without scattering: outputs of one phase (their position modulo the strides) read
// the same taps, each from evenly spaced pixels, so a phase is a product of pixels and the taps' weights like
// a convolution of stride 1.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/blocked_product.h"
#include "ops/nn/conv_transpose.h"

namespace wootz::cpu_conv_transpose_tactic {
namespace {

/// Taps t of one axis with t * dilation in the given class modulo the stride.
std::vector<int64_t> taps_of_class(int64_t kernel, int64_t stride, int64_t dilation, int64_t residue) {
  std::vector<int64_t> taps;
  for (int64_t t = 0; t < kernel; ++t)
    if (t * dilation % stride == residue) taps.push_back(t);
  return taps;
}

/// What of a transposed convolution depends on attributes and weights alone: the taps and packed weights of
/// each class.
struct TapClasses {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t groups = 1, channels = 1, outputs = 1;  // channels and outputs of one group

  static TapClasses read(const Node& node, const Dims& w) {
    const auto a = read_attributes<ConvTransposeAttributes>(node.attributes);
    const auto at = [](const Ints& list, size_t i) { return list.empty() ? int64_t{1} : list[i]; };
    TapClasses t;
    t.groups = a.group;
    t.channels = w[0] / a.group;
    t.outputs = w[1];
    const size_t last = w.size() - 3;
    t.kernel_w = w.back(), t.stride_w = at(a.strides, last), t.dilation_w = at(a.dilations, last);
    if (last == 1) t.kernel_h = w[2], t.stride_h = at(a.strides, 0), t.dilation_h = at(a.dilations, 0);
    return t;
  }
  std::vector<int64_t> rows(int64_t residue) const {
    return taps_of_class(kernel_h, stride_h, dilation_h, residue);
  }
  std::vector<int64_t> columns(int64_t residue) const {
    return taps_of_class(kernel_w, stride_w, dilation_w, residue);
  }
  PackedPanels panels(const PanelKernels& kernels, int64_t taps) const {
    PackedPanels p;
    p.k = taps * channels;
    p.n = outputs;
    p.panel = choose_panel(kernels, outputs);
    p.width = kernels.width;
    return p;
  }
  /// Floats in front of a class's weights; classes are ordered by row, then column residue, and hold all
  /// groups.
  int64_t offset(const PanelKernels& kernels, int64_t row, int64_t column) const {
    int64_t floats = 0;
    for (int64_t r = 0; r < stride_h; ++r)
      for (int64_t c = 0; c < stride_w; ++c) {
        if (r == row && c == column) return floats;
        floats += groups * panels(kernels, int64_t(rows(r).size() * columns(c).size())).floats();
      }
    return floats;
  }
};

Tensor pack_classes(const PanelKernels& kernels, const TapClasses& t, const float* w) {
  Tensor packed = Tensor::zeros(DType::kFloat32, {t.offset(kernels, t.stride_h, 0)});
  const int64_t taps = t.kernel_h * t.kernel_w;
  for (int64_t r = 0; r < t.stride_h; ++r)
    for (int64_t c = 0; c < t.stride_w; ++c) {
      const auto rows = t.rows(r), columns = t.columns(c);
      const PackedPanels p = t.panels(kernels, int64_t(rows.size() * columns.size()));
      for (int64_t g = 0; g < t.groups; ++g) {
        float* out = packed.as<float>() + t.offset(kernels, r, c) + g * p.floats();
        int64_t k = 0;
        for (int64_t ky : rows)
          for (int64_t kx : columns) {
            pack_rows(p, out, k, t.channels, w + g * t.channels * t.outputs * taps + ky * t.kernel_w + kx,
                      t.outputs * taps, taps);
            k += t.channels;
          }
      }
    }
  return packed;
}

struct TransposeProblem {
  ContractionView view;
  TapClasses taps;
  EpiloguePlan epilogue;
  ImageStrides x;
  int x_input = -1, w_input = -1;
  int64_t batch = 1, in_h = 1, in_w = 1, out_h = 1, out_w = 1, pad_top = 0, pad_left = 0, y_pitch = 0;

  static std::optional<std::string> read(const Problem& problem, TransposeProblem& t) {
    auto view = view_contraction(problem.body(), {"ConvTranspose"});
    if (!view) return "not a transposed convolution with a pointwise tail";
    t.view = std::move(*view);
    const Node& node = *t.view.main;
    t.x_input = body_input_index(problem.body(), node.input(0));
    t.w_input = body_input_index(problem.body(), node.input(1));
    const TensorDesc& x = problem.inputs[static_cast<size_t>(t.x_input)];
    const TensorDesc& w = problem.inputs[static_cast<size_t>(t.w_input)];
    const TensorDesc& y = problem.outputs[0];
    for (const TensorDesc* d : {&x, &w, &y})
      if (d->dtype != DType::kFloat32)
        return "element type " + std::string(dtype_name(d->dtype)) + ", expected float32";
    if (x.dims.size() < 3 || x.dims.size() > 4)
      return "rank " + std::to_string(x.dims.size()) + ", expected 3 or 4";
    if (y.dims.size() != x.dims.size()) return "the tail enlarges the main result";
    if (y.size() == 0 || x.size() == 0) return "an empty operand";
    const Window window =
        conv_transpose_window(read_attributes<ConvTransposeAttributes>(node.attributes), x.dims, w.dims);
    t.taps = TapClasses::read(node, w.dims);
    t.batch = x.dims[0];
    t.in_w = x.dims.back(), t.out_w = y.dims.back(), t.pad_left = window.pads_begin.back();
    if (x.dims.size() == 4) t.in_h = x.dims[2], t.out_h = y.dims[2], t.pad_top = window.pads_begin[0];
    if (t.pad_top < 0 || t.pad_left < 0) return "negative padding";
    Dims main_dims = y.dims;
    main_dims[1] = t.taps.groups * t.taps.outputs;
    if (auto why = t.epilogue.prepare(problem, t.view, main_dims, 1, node.input(2))) return why;
    const auto pitch = row_pitch(y, 1);
    if (!pitch) return "the output is not channels-last with evenly spaced pixels";
    t.y_pitch = *pitch;
    t.x = image_strides(x);
    if (t.x.c != 1) return "the input is not channels-last";
    return std::nullopt;
  }
};

class TransposeKernel final : public Kernel {
 public:
  TransposeKernel(TransposeProblem problem, const PanelKernels& kernels, Tensor packed, int parts)
      : p_(std::move(problem)),
        kernels_(kernels),
        packed_(std::move(packed)),
        parts_(parts),
        zeros_(Tensor::zeros(DType::kFloat32, {p_.taps.groups * p_.taps.channels})) {
    const TapClasses& t = p_.taps;
    for (int64_t r = 0; r < t.stride_h; ++r) rows_.push_back(t.rows(r));
    for (int64_t c = 0; c < t.stride_w; ++c) columns_.push_back(t.columns(c));
    for (int64_t r = 0; r < t.stride_h; ++r)
      for (int64_t c = 0; c < t.stride_w; ++c) offsets_.push_back(t.offset(kernels, r, c));
    for (const auto& r : rows_)
      for (const auto& c : columns_)
        most_taps_ = std::max(most_taps_, static_cast<int64_t>(r.size() * c.size()));
    width_ = std::min<int64_t>(256, (p_.out_w + t.stride_w - 1) / t.stride_w);
    // Lines of one row phase share the weights that are in the cache.
    lines_ = std::clamp<int64_t>(96 / std::max<int64_t>(1, width_), 1, 16);
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(parts_ * table_size()) * sizeof(const float*);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = p_.epilogue.bind(args);
    const auto* x = static_cast<const float*>(args.inputs[p_.x_input]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const int64_t stride = p_.taps.stride_h;
    const int64_t phase_lines = (p_.out_h + stride - 1) / stride;  // of the largest phase
    const int64_t blocks = (phase_lines + lines_ - 1) / lines_;
    const int64_t cuts = (p_.out_w + width_ * p_.taps.stride_w - 1) / (width_ * p_.taps.stride_w);
    pool_of(args)(parts_, [&](int part, int parts) {
      auto** table = static_cast<const float**>(args.workspace) + part * table_size();
      const int64_t items = p_.batch * stride * blocks * cuts;
      for (int64_t i = items * part / parts; i < items * (part + 1) / parts; ++i) {
        const int64_t cut = i % cuts, block = i / cuts % blocks, phase = i / cuts / blocks % stride,
                      n = i / cuts / blocks / stride;
        const int64_t count = (p_.out_h - phase + stride - 1) / stride;  // lines of this phase
        const int64_t l0 = block * lines_, l1 = std::min(count, l0 + lines_);
        if (l0 >= l1) continue;
        const Block b{n, phase + l0 * stride, l1 - l0, cut * width_ * p_.taps.stride_w};
        run_block(table, x, y, b, epilogue);
      }
    });
  }

 private:
  /// Lines oy, oy + stride, ... of image n, columns from ox on.
  struct Block {
    int64_t n, oy, lines, ox;
  };
  int64_t table_size() const { return lines_ * std::max<int64_t>(1, most_taps_) * width_; }

  void run_block(const float** table, const float* x, float* y, const Block& b,
                 const Epilogue& epilogue) const {
    const TapClasses& t = p_.taps;
    const int64_t end = std::min(p_.out_w, b.ox + width_ * t.stride_w);
    for (int64_t px = 0; px < t.stride_w && b.ox + px < end; ++px) {
      const int64_t count = (end - b.ox - px + t.stride_w - 1) / t.stride_w;
      run_phase(table, x, y, b, px, count, epilogue);
    }
    for (int64_t line = 0; line < b.lines; ++line) {
      const int64_t pixel = (b.n * p_.out_h + b.oy + line * t.stride_h) * p_.out_w + b.ox;
      epilogue.apply(y + pixel * p_.y_pitch, pixel, 0, end - b.ox, t.groups * t.outputs, p_.y_pitch);
    }
  }

  void run_phase(const float** table, const float* x, float* y, const Block& b, int64_t px, int64_t count,
                 const Epilogue& epilogue) const {
    const TapClasses& t = p_.taps;
    const int64_t row_class = (b.oy + p_.pad_top) % t.stride_h,
                  column_class = (b.ox + px + p_.pad_left) % t.stride_w;
    const auto &rows = rows_[static_cast<size_t>(row_class)],
               &columns = columns_[static_cast<size_t>(column_class)];
    const int64_t taps = static_cast<int64_t>(rows.size() * columns.size());
    for (int64_t line = 0; line < b.lines; ++line)
      fill_line(table + line * most_taps_ * width_, x + b.n * p_.x.n, b.oy + line * t.stride_h, b.ox + px,
                count, rows, columns);
    PackedPanels panels = t.panels(kernels_, taps);
    LeftRows left;
    left.rows_pitch = width_;
    left.segments = taps;
    left.segment_length = t.channels;
    Epilogue e = epilogue;
    e.has_tail = false;
    e.ld_addend = epilogue.ld_addend * t.stride_w;
    for (int64_t g = 0; g < t.groups; ++g) {
      panels.data = packed_.as<float>() +
                    offsets_[static_cast<size_t>(row_class * t.stride_w + column_class)] +
                    g * panels.floats();
      left.rows_offset = g * t.channels;
      for (int64_t panel = 0; panel < panels.panels(); ++panel)
        for (int64_t line = 0; line < b.lines; ++line) {
          const int64_t pixel = (b.n * p_.out_h + b.oy + line * t.stride_h) * p_.out_w + b.ox + px;
          left.rows = table + line * most_taps_ * width_;
          e.addend = epilogue.addend ? epilogue.addend + pixel * epilogue.ld_addend : nullptr;
          multiply_block(kernels_, panels, left, count, panel, panel + 1,
                         {y + pixel * p_.y_pitch + g * t.outputs, p_.y_pitch * t.stride_w, 0, g * t.outputs},
                         e);
        }
    }
  }

  /// For each tap the pixels that output columns ox, ox + stride, ... read: neighbours of each other.
  void fill_line(const float** table, const float* image, int64_t oy, int64_t ox, int64_t count,
                 const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) const {
    const TapClasses& t = p_.taps;
    for (int64_t ky : rows) {
      const int64_t from = oy + p_.pad_top - ky * t.dilation_h, iy = from / t.stride_h;  // divides exactly
      const bool inside = from >= 0 && iy < p_.in_h;
      for (int64_t kx : columns) {
        const int64_t ix0 = (ox + p_.pad_left - kx * t.dilation_w) / t.stride_w;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t ix = ix0 + i;
          table[i] =
              inside && ix >= 0 && ix < p_.in_w ? image + iy * p_.x.h + ix * p_.x.w : zeros_.as<float>();
        }
        table += width_;
      }
    }
  }

  TransposeProblem p_;
  const PanelKernels& kernels_;
  Tensor packed_;
  int parts_;
  Tensor zeros_;
  std::vector<std::vector<int64_t>> rows_, columns_;
  std::vector<int64_t> offsets_;
  int64_t most_taps_ = 0, width_ = 1, lines_ = 1;
};

class ConvTransposeTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.conv_transpose.phases"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    TransposeProblem p;
    if (auto why = TransposeProblem::read(problem, p)) return why;
    if (!problem.inputs[static_cast<size_t>(p.w_input)].constant) return "the weights are not constant";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {{{{"isa", static_cast<int64_t>(available_isas()[0])}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    const auto view = view_contraction(problem.body(), {"ConvTranspose"});
    const int input = body_input_index(problem.body(), view->main->input(1));
    const Tensor& w = *problem.inputs[static_cast<size_t>(input)].constant;
    const PanelKernels& kernels = panel_kernels(static_cast<Isa>(config.get("isa")));
    return {pack_classes(kernels, TapClasses::read(*view->main, w.dims()), w.as<float>())};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    TransposeProblem p;
    if (auto why = TransposeProblem::read(problem, p))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<TransposeKernel>(std::move(p), panel_kernels(static_cast<Isa>(config.get("isa"))),
                                             packed[0], problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<ConvTransposeTactic>()); }

}  // namespace wootz::cpu_conv_transpose_tactic
