// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear between float32 and 8-bit integers, for the tensor or along an axis.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/loop_nest.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/tile_kernels.h"

namespace wootz::cpu_quantize_linear_tactic {
namespace {

constexpr int64_t kTile = 512;

void tile(ScalarOp op, const float* a, const float* b, int b_stride, float* out, int64_t count) {
  TileArgs args;
  args.in[0] = a, args.in[1] = b, args.stride[0] = 1, args.stride[1] = b_stride, args.out = out,
  args.count = static_cast<int>(count);
  tile_functions()[tile_kernel_id(op)](args);
}

/// Elements of float32, uint8 or int8, stride apart, as floats and back.
void load(DType dtype, const char* p, int64_t stride, int64_t count, float* to) {
  if (dtype == DType::kUint8 && stride == 1)
    return float_from_uint8(reinterpret_cast<const uint8_t*>(p), to, count);
  if (dtype == DType::kInt8 && stride == 1)
    return float_from_int8(reinterpret_cast<const int8_t*>(p), to, count);
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kUint8)
      to[i] = static_cast<float>(reinterpret_cast<const uint8_t*>(p)[i * stride]);
    else if (dtype == DType::kInt8)
      to[i] = static_cast<float>(reinterpret_cast<const int8_t*>(p)[i * stride]);
    else
      to[i] = reinterpret_cast<const float*>(p)[i * stride];
  }
}

/// `values` are whole numbers in range for the integers.
void store(DType dtype, float* values, char* p, int64_t stride, int64_t count) {
  if (dtype == DType::kUint8 && stride == 1)
    return uint8_from_float(values, reinterpret_cast<uint8_t*>(p), count);
  if (dtype == DType::kInt8 && stride == 1)
    return int8_from_float(values, reinterpret_cast<int8_t*>(p), count);
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kFloat32)
      reinterpret_cast<float*>(p)[i * stride] = values[i];
    else if (dtype == DType::kUint8)
      uint8_from_float(values + i, reinterpret_cast<uint8_t*>(p) + i * stride, 1);
    else
      int8_from_float(values + i, reinterpret_cast<int8_t*>(p) + i * stride, 1);
  }
}

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const NodeView& view)
      : quantizes_(view.is("QuantizeLinear")),
        x_(view.source(0)),
        scale_(view.source(1)),
        has_zero_(view.has_input(2)),
        from_(view.input(0).dtype),
        to_(view.output(0)->dtype) {
    const Dims& dims = view.input(0).dims;
    if (has_zero_) zero_ = view.source(2), zero_dtype_ = view.input(2).dtype;
    Dims per_axis(dims.size(), 0);
    const auto rank = static_cast<int64_t>(dims.size());
    if (view.input(1).size() != 1) {
      const int64_t axis = view.node().attributes.get<int64_t>("axis", 1);
      per_axis[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
    }
    nest_ = LoopNest::make(dims, {strides_of(view.input(0)), per_axis, view.output(0)->strides}, 2);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const char* x = x_.as<char>(args);
    const float* scale = scale_.as<float>(args);
    const char* zero = has_zero_ ? zero_.as<char>(args) : nullptr;
    char* y = static_cast<char*>(args.outputs[0]);
    const auto from_bytes = static_cast<int64_t>(dtype_size(from_)),
               to_bytes = static_cast<int64_t>(dtype_size(to_));
    const int64_t x_stride = nest_.strides[0].back(), s_stride = nest_.strides[1].back(),
                  y_stride = nest_.strides[2].back();
    parallel_ranges(
        pool_of(args), nest_.size(), 64, static_cast<double>(nest_.size()) * 0.4e-9,
        [&](int64_t begin, int64_t end) {
          nest_.for_each_run(begin, end, [&](const int64_t* at, int64_t count) {
            alignas(64) float values[kTile], zeros[kTile];
            for (int64_t start = 0; start < count; start += kTile) {
              const int64_t n = std::min(kTile, count - start), parameter = at[1] + start * s_stride;
              load(from_, x + (at[0] + start * x_stride) * from_bytes, x_stride, n, values);
              if (zero) load(zero_dtype_, zero + parameter, s_stride, s_stride ? n : 1, zeros);
              compute(values, scale + parameter, zero ? zeros : nullptr, static_cast<int>(s_stride), n);
              store(to_, values, y + (at[2] + start * y_stride) * to_bytes, y_stride, n);
            }
          });
        });
  }

 private:
  void compute(float* values, const float* scale, const float* zero, int stride, int64_t n) const {
    if (quantizes_) {
      tile(ScalarOp::kDiv, values, scale, stride, values, n);
      tile(ScalarOp::kRound, values, nullptr, 0, values, n);
      if (zero) tile(ScalarOp::kAdd, values, zero, stride, values, n);
    } else {
      if (zero) tile(ScalarOp::kSub, values, zero, stride, values, n);
      tile(ScalarOp::kMul, values, scale, stride, values, n);
    }
  }

  bool quantizes_;
  OperandSource x_, scale_, zero_;
  bool has_zero_;
  DType from_, to_, zero_dtype_ = DType::kUint8;
  LoopNest nest_;
};

class QuantizeLinear final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.quantize.tiles"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"QuantizeLinear", "DequantizeLinear"});
    if (!view) return "not one QuantizeLinear or DequantizeLinear";
    const auto is_byte = [](DType d) { return d == DType::kUint8 || d == DType::kInt8; };
    const TensorDesc &x = view->input(0), &scale = view->input(1), &y = *view->output(0);
    const bool quantizes = view->is("QuantizeLinear");
    if (!is_byte(quantizes ? y.dtype : x.dtype) || (quantizes ? x.dtype : y.dtype) != DType::kFloat32 ||
        scale.dtype != DType::kFloat32)
      return "not between float32 and 8-bit integers";
    const Attributes& a = view->node().attributes;
    if (a.get<int64_t>("block_size", 0) != 0) return "blocks";
    if (const int64_t p = a.get<int64_t>("precision", 0); p != 0 && p != 1)
      return "another precision than float32";
    if (view->has_input(2) && !is_byte(view->input(2).dtype))
      return "a zero point that is not an 8-bit integer";
    for (size_t i = 1; i < view->input_count(); ++i)
      if (view->has_input(i) && !view->input(i).constant && !view->input(i).is_row_major())
        return "scale or zero point that is not dense";
    if (x.dims.size() > LoopNest::kMaxDims) return "more than 16 dimensions";
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<QuantizeKernel>(*NodeView::of(problem, {"QuantizeLinear", "DequantizeLinear"}));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<QuantizeLinear>()); }

}  // namespace wootz::cpu_quantize_linear_tactic
