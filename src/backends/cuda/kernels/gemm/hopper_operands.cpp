// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/gemm/hopper_operands.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/codegen/program_source.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"

namespace wootz {
namespace {

constexpr int64_t kAlignBytes = 16;  // of rows and pixels that the copy engine reads and writes

bool is_eight_bits(DType dtype) { return dtype_size(dtype) == 1; }

cuda::MapType map_type(DType dtype) {
  if (is_eight_bits(dtype)) return cuda::MapType::kUint8;
  if (dtype == DType::kFloat32) return cuda::MapType::kTFloat32;  // rounds on the way
  return dtype == DType::kBFloat16 ? cuda::MapType::kBFloat16 : cuda::MapType::kFloat16;
}

int64_t pitch_of(const Dims& dims, const Dims& strides) {
  int64_t pitch = 0, rows = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (pitch == 0) pitch = strides[d];
    if (pitch == 0 || strides[d] != pitch * rows) return -1;
    rows *= dims[d];
  }
  return pitch;
}

/// Column 4q + i of every sixteen goes where lane q of the matrix unit has its result: to 2q + i % 2 of the
/// first or second eight.
Tensor in_order_of_lanes(const Tensor& columns) {
  const Dims& dims = columns.dims();
  const int64_t n = dims[0], bytes = dims[1] * dims[2];
  Tensor to = Tensor::zeros(columns.dtype(), {(n + 15) / 16 * 16, dims[1], dims[2]});
  for (int64_t column = 0; column < n; ++column) {
    const int64_t q = column % 16 / 4, i = column % 4;
    std::memcpy(to.as<char>() + (column / 16 * 16 + i / 2 * 8 + 2 * q + i % 2) * bytes,
                static_cast<const char*>(columns.data()) + column * bytes, static_cast<size_t>(bytes));
  }
  return to;
}

}  // namespace

bool HopperOperands::aligned(std::initializer_list<int64_t> strides) const {
  return std::all_of(strides.begin(), strides.end(),
                     [&](int64_t s) { return s * element_bytes() % kAlignBytes == 0; });
}

std::optional<std::string> HopperOperands::read(const CudaTarget& target, const Problem& problem,
                                                HopperOperands& o) {
  Contraction& c = o.c_;
  if (auto why = Contraction::read(problem, c)) return why;
  const bool is_tf32 = c.element == DType::kFloat32 && problem.region->attributes.contains("tf32");
  if (c.element != DType::kFloat16 && c.element != DType::kBFloat16 && !is_tf32)
    return "elements of type " + std::string(dtype_name(c.element)) +
           ", expected 16-bit floats, or float32 with TF32 permitted";
  return o.read_shapes(target, problem);
}

std::optional<std::string> HopperOperands::read_bytes(const CudaTarget& target, const Problem& problem,
                                                      HopperOperands& o) {
  Contraction& c = o.c_;
  const auto& nodes = problem.body().nodes();
  const bool floats =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return n->is("wootz", "MatMulFloat8"); });
  if (auto why = floats ? Contraction::read_float8(problem, c) : Contraction::read_integers(problem, c))
    return why;
  if (auto why = o.read_shapes(target, problem)) return why;
  if (!o.packs_b_) return "weights that are not constant";
  if (o.is_batched()) return "a batch of matrices";
  const ConvolutionShape& g = c.conv;
  const bool padded = g.pad_top > 0 || g.pad_left > 0 || g.pad_bottom > 0 || g.pad_right > 0;
  if (c.is_convolution && padded && c.a_zero != 0) return "padding with a zero point, where copies bring 0";
  const int64_t channels = o.is_im2col() ? g.channels : c.k;
  if (channels % 128 > 0 && channels % 128 <= 64 && channels < 256) o.row_bytes_ = 64;
  return std::nullopt;
}

std::optional<std::string> HopperOperands::read_shapes(const CudaTarget& target, const Problem& problem) {
  if (!target.arch.has_wgmma()) return "wgmma is there on sm_90a only";
  if (auto why = TailSource::refusal(c_)) return why;
  if (auto why = Gather::refusal(problem, c_)) return why;
  packs_b_ = Gather::packs_b(problem, c_);
  a_pitch_ = c_.a_pitch();
  y_pitch_ = c_.y_pitch();
  if (!c_.is_convolution) return read_product();
  if (a_pitch_ && aligned({*a_pitch_})) return std::nullopt;
  a_pitch_.reset();
  return read_convolution();
}

std::optional<std::string> HopperOperands::read_product() {
  const ProductShape& p = c_.product;
  if (c_.k != 1 && p.a_k != 1) return "the rows of A are not adjacent along k";
  if (c_.matrices() == 1) {
    if (!aligned({a_pitch_.value_or(1)})) return "rows of A do not begin on multiples of 16 bytes";
  } else if (!aligned({p.a_row})) {
    return "rows of A do not begin on multiples of 16 bytes";
  }
  if (!packs_b_ && (p.b_k != 1 || !aligned({p.b_n})))
    return "columns of B are not adjacent along k on 16 bytes";
  // Batch dimensions that every operand steps through evenly become one.
  struct Axis {
    int64_t size, a, b, y;
  };
  std::vector<Axis> dims;
  for (size_t d = 0; d < p.batch.size(); ++d) {
    if (p.batch[d] == 1) continue;
    const Axis next{p.batch[d], p.a_batch[d], p.b_batch[d], p.y_batch[d]};
    if (!dims.empty() && dims.back().a == next.a * next.size && dims.back().b == next.b * next.size &&
        dims.back().y == next.y * next.size)
      dims.back() = {dims.back().size * next.size, next.a, next.b, next.y};
    else
      dims.push_back(next);
  }
  if (dims.size() > 2) return "more than two batch dimensions";
  for (const Axis& d : dims)
    if (!aligned({d.a, d.b})) return "matrices of a batch do not begin on multiples of 16 bytes";
  if (!dims.empty()) {
    const Axis& d = dims.back();
    batch_.inner = d.size, batch_.a_inner = d.a, batch_.b_inner = d.b, batch_.y_inner = d.y;
  }
  if (dims.size() == 2) {
    const Axis& d = dims.front();
    batch_.outer = d.size, batch_.a_outer = d.a, batch_.b_outer = d.b, batch_.y_outer = d.y;
  }
  return std::nullopt;
}

std::optional<std::string> HopperOperands::read_convolution() const {
  const ConvolutionShape& g = c_.conv;
  if (g.groups != 1) return "groups";
  if (g.x_c != 1 || !aligned({g.x_w, g.x_h, g.x_n}))
    return "the input is not channels-last with pixels on 16 bytes";
  const int64_t span_h = (g.kernel_h - 1) * g.dilation_h, span_w = (g.kernel_w - 1) * g.dilation_w;
  // Fields of the im2col mode: corners of 8 bits, offsets of 8 bits, element strides up to 8.
  const auto fits = [](int64_t pad, int64_t end, int64_t span, int64_t stride) {
    return pad <= 128 && span - end <= 128 && end - span <= 127 && span <= 255 && stride <= 8;
  };
  if (!fits(g.pad_top, g.pad_bottom, span_h, g.stride_h) ||
      !fits(g.pad_left, g.pad_right, span_w, g.stride_w))
    return "pads, filter or stride beyond the im2col mode of tensor maps";
  return std::nullopt;
}

std::optional<std::string> HopperOperands::pool(const TensorDesc& result) {
  if (auto why = TailSource::column_refusal(c_)) return why;
  ConvolutionShape& g = c_.conv;
  if (!c_.is_convolution || g.stride_h != 1 || g.stride_w != 1 || result.dims.size() != 4)
    return "a pool behind something else than a convolution in steps of 1";
  a_pitch_.reset();
  if (auto why = read_convolution()) return why;
  conv_h_ = g.out_h, conv_w_ = g.out_w;
  g.stride_h = g.stride_w = 2;
  g.out_h = result.dims[2], g.out_w = result.dims[3];
  const Dims& s = result.strides;
  if (result.dtype != c_.element || c_.result != c_.element || s[1] != 1 || s[2] != s[3] * g.out_w ||
      s[0] != s[2] * g.out_h || !aligned({s[3]}))
    return "the pool's result is not dense and channels-last with pixels on 16 bytes";
  c_.row_dims = {g.batch * g.out_h * g.out_w};
  c_.y_rows = {s[3]};
  c_.y_column = 1;
  for (TailOperand& o : c_.operands) o.row_strides = {0};
  y_pitch_ = s[3];
  return std::nullopt;
}

bool HopperOperands::has_result_map() const {
  if (is_tf32()) return false;  // panels hold 16-bit elements
  const bool same = is_eight_bits(c_.element) ? dtype_size(c_.result) <= 2 : c_.result == c_.element;
  if (!same || (c_.n != 1 && c_.y_column != 1)) return false;
  const auto on_chunks = [&](int64_t stride) {
    return stride * static_cast<int64_t>(dtype_size(c_.result)) % kAlignBytes == 0;
  };
  if (is_batched())
    return on_chunks(c_.product.y_row) && on_chunks(batch_.y_inner) && on_chunks(batch_.y_outer);
  return y_pitch_ && on_chunks(*y_pitch_);
}

int64_t HopperOperands::k() const {
  if (!is_im2col()) return c_.k;
  return c_.conv.taps() * ((c_.conv.channels + step_k() - 1) / step_k() * step_k());
}

TensorMapSpec HopperOperands::matrices_map(DType element, int64_t rows, int64_t columns, int64_t row,
                                           int64_t inner, int64_t outer, int64_t box_rows,
                                           int64_t row_bytes) const {
  const auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
  const auto bytes = static_cast<int64_t>(dtype_size(element));
  TensorMapSpec spec;
  spec.type = map_type(element);
  spec.dims = {u(columns), u(rows)};
  spec.strides = {u(std::max(row * bytes, kAlignBytes))};
  spec.box = {static_cast<uint32_t>(row_bytes / bytes), static_cast<uint32_t>(box_rows)};
  if (row_bytes == 64) spec.swizzle = cuda::MapSwizzle::k64Bytes;
  if (!is_batched()) return spec;
  // A dimension along which the operand is the same has one element; the kernel's coordinate stays 0.
  for (const auto& [size, stride] : {std::pair{batch_.inner, inner}, std::pair{batch_.outer, outer}}) {
    spec.dims.push_back(u(stride == 0 ? 1 : size));
    spec.strides.push_back(u(std::max(stride * bytes, kAlignBytes)));
    spec.box.push_back(1);
  }
  return spec;
}

TensorMapSpec HopperOperands::a_map(int64_t rows) const {
  if (!is_im2col()) {
    const int64_t row = c_.matrices() == 1 ? *a_pitch_ : c_.product.a_row;
    return matrices_map(c_.element, this->rows(), c_.k, row, batch_.a_inner, batch_.a_outer, rows,
                        row_bytes_);
  }
  const auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
  const ConvolutionShape& g = c_.conv;
  TensorMapSpec spec;
  const uint64_t bytes = dtype_size(c_.element);
  spec.type = map_type(c_.element);
  if (row_bytes_ == 64) spec.swizzle = cuda::MapSwizzle::k64Bytes;
  spec.dims = {u(g.channels), u(g.in_w), u(g.in_h), u(g.batch)};
  spec.strides = {u(g.x_w) * bytes, u(g.x_h) * bytes, u(g.x_n) * bytes};
  spec.steps = {1, static_cast<uint32_t>(g.stride_w), static_cast<uint32_t>(g.stride_h), 1};
  // The corners bound where the filter's first tap goes.
  spec.lower_corner = {static_cast<int>(-g.pad_left), static_cast<int>(-g.pad_top)};
  spec.upper_corner = {static_cast<int>(g.pad_right - (g.kernel_w - 1) * g.dilation_w),
                       static_cast<int>(g.pad_bottom - (g.kernel_h - 1) * g.dilation_h)};
  if (is_pooled())  // up to the first of the last window's four; the others are a pixel to the right and
                    // below
    spec.upper_corner = {static_cast<int>(2 * (g.out_w - 1) - g.pad_left - (g.in_w - 1)),
                         static_cast<int>(2 * (g.out_h - 1) - g.pad_top - (g.in_h - 1))};
  spec.channels_per_pixel = static_cast<uint32_t>(step_k());
  spec.pixels_per_column = static_cast<uint32_t>(rows);
  return spec;
}

TensorMapSpec HopperOperands::b_map(int64_t columns, const Packed& packed) const {
  if (packs_b_) {
    // As they were packed, perhaps at another batch, where the images of a pointwise convolution were rows.
    const Dims& dims = packed.at(0).dims();
    const int64_t pitch = dims[1] * dims[2];
    return matrices_map(c_.element, dims[0], pitch, pitch, 0, 0, columns, row_bytes_);
  }
  return matrices_map(c_.element, c_.n, c_.k, c_.product.b_n, batch_.b_inner, batch_.b_outer, columns,
                      row_bytes_);
}

TensorMapSpec HopperOperands::result_map(int64_t rows, int64_t row_bytes) const {
  const int64_t row = is_batched() ? c_.product.y_row : *y_pitch_;
  return matrices_map(c_.result, this->rows(), c_.n, row, batch_.y_inner, batch_.y_outer, rows, row_bytes);
}

TensorMapSpec HopperOperands::residual_map(const TailOperand& residual, int64_t rows,
                                           int64_t row_bytes) const {
  return matrices_map(residual.dtype, this->rows(), c_.n, pitch_of(c_.row_dims, residual.row_strides), 0, 0,
                      rows, row_bytes);
}

void HopperOperands::add_b(CudaLaunch& launch, const Packed& packed, int64_t columns) const {
  if (packs_b_)
    launch.map_constant(packed.at(0), b_map(columns, packed));
  else
    launch.map_input(static_cast<size_t>(c_.b_input), b_map(columns, packed));
}

Packed HopperOperands::pack(const Problem& problem) const {
  if (!packs_b_) return {};
  Tensor columns = pack_columns(problem, c_, is_im2col() ? step_k() : kAlignBytes / element_bytes());
  if (!is_eight_bits(c_.element)) return {std::move(columns)};
  Packed packed{in_order_of_lanes(columns)};
  if (c_.a_zero != 0) packed.push_back(zero_point_sums(problem, c_));
  return packed;
}

std::string HopperOperands::constants() const {
  const ConvolutionShape& g = c_.conv;
  std::string text;
  define(text, "CONVOLUTION", is_im2col());
  define(text, "BATCHED", is_batched());
  define(text, "B_CONSTANT", packs_b_);
  define(text, "K", k());
  define(text, "ROW_BYTES", row_bytes_);
  define(text, "CHANNELS", g.channels);
  define(text, "FILTER_W", g.kernel_w);
  define(text, "STRIDE_H", g.stride_h);
  define(text, "STRIDE_W", g.stride_w);
  define(text, "DILATION_H", g.dilation_h);
  define(text, "DILATION_W", g.dilation_w);
  define(text, "PAD_TOP", g.pad_top);
  define(text, "PAD_LEFT", g.pad_left);
  define(text, "POOL", is_pooled());
  define(text, "CONV_H", conv_h_);
  define(text, "CONV_W", conv_w_);
  return text;
}

StagedOperands HopperOperands::staged(bool directly) const {
  StagedOperands s = stageable_operands(c_);
  if (directly) s.residual = -1;
  if (s.residual >= 0) {
    const TailOperand& r = c_.operands[static_cast<size_t>(s.residual)];
    if (is_batched() || pitch_of(c_.row_dims, r.row_strides) <= 0) s.residual = -1;
  }
  return s;
}

std::string wgmma_bytes_source(int64_t n, DType a, DType b) {
  const bool floats = a == DType::kFloat8E4M3FN;
  const auto name = [](DType d) {
    return std::string(d == DType::kFloat8E4M3FN ? "e4m3" : d == DType::kUint8 ? "u8" : "s8");
  };
  const std::string count = std::to_string(n / 2);
  std::string text = "using Sum = " + std::string(floats ? "float" : "i32") +
                     ";\nWZ_FN void wgmma(Sum (&d)[" + count +
                     "], u64 a, u64 b, int accumulate) {\n#ifdef WZ_EMULATED\n  multiply_bytes_emulated<" +
                     std::string(memory_type(a)) + ", " + std::string(memory_type(b)) +
                     ">(d, a, b, accumulate);\n#else\n  asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %" +
                     std::to_string(n / 2 + 2) + ", 0;\\n" + "wgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(n) + "k32." + (floats ? "f32." : "s32.") + name(a) + "." + name(b) + " {";
  for (int64_t i = 0; i < n / 2; ++i) text += (i ? ",%" : "%") + std::to_string(i);
  text += "}, %" + count + ", %" + std::to_string(n / 2 + 1) +
          (floats ? ", p, 1, 1; }\"\n  : " : ", p; }\"\n  : ");
  const std::string operand = floats ? "\"+f\"(d[" : "\"+r\"(d[";
  for (int64_t i = 0; i < n / 2; ++i) text += (i ? "," : "") + operand + std::to_string(i) + "])";
  return text + "\n  : \"l\"(a), \"l\"(b), \"r\"(accumulate));\n#endif\n}\n";
}

std::string wgmma_source(int64_t n, DType element, OperandA a, OperandB b, std::string_view name) {
  const bool is_tf32 = element == DType::kFloat32;
  const std::string type = is_tf32 ? "tf32" : element == DType::kBFloat16 ? "bf16" : "f16";
  const std::string emulated = is_tf32 ? "multiply_tf32_emulated"
                                       : "multiply_emulated<" +
                                             std::string(element == DType::kBFloat16 ? "true" : "false") +
                                             ", " + (b == OperandB::kAlongN ? "true" : "false") + ">";
  const int64_t count = n / 2;
  const auto number = [](int64_t x) { return std::to_string(x); };
  const bool shared = a == OperandA::kShared;
  const int64_t b_at = count + (shared ? 1 : 4);
  const auto list = [&](int64_t first, int64_t end) {
    std::string text = "{";
    for (int64_t i = first; i < end; ++i) text += (i > first ? ",%" : "%") + number(i);
    return text + "}";
  };
  std::string out =
      "WZ_FN void " + std::string(name) + "(float (&d)[" + number(count) + "], " +
      (shared ? "u64 a" : "const u32 (&a)[4]") + ", u64 b, int accumulate) {\n" + "#ifdef WZ_EMULATED\n  " +
      emulated + "(d, a, b, accumulate);\n#else\n" + "  asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %" +
      number(b_at + 1) + ", 0;\\n" + "wgmma.mma_async.sync.aligned.m64n" + number(n) +
      (is_tf32 ? "k8.f32." : "k16.f32.") + type + "." + type + " " + list(0, count) + ", " +
      (shared ? std::string("%").append(number(count)) : list(count, b_at)) + ", %" + number(b_at) +
      ", p, 1, 1" +
      (is_tf32 ? "" : std::string(shared ? ", 0" : "") + (b == OperandB::kAlongN ? ", 1" : ", 0")) +
      "; }\"\n  : ";
  for (int64_t i = 0; i < count; ++i) out += (i ? ",\"+f\"(d[" : "\"+f\"(d[") + number(i) + "])";
  return out + "\n  : " + (shared ? R"("l"(a))" : R"("r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))") +
         R"(, "l"(b), "r"(accumulate));)" + "\n#endif\n}\n";
}

}  // namespace wootz
