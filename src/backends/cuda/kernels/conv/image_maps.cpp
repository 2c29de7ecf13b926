// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/conv/image_maps.h"

namespace wootz {
namespace {

TensorMapSpec map_of(DType element, Dims dims, Dims strides, int64_t rows, int64_t width, int64_t channels) {
  TensorMapSpec spec;
  spec.type = element == DType::kBFloat16 ? cuda::MapType::kBFloat16 : cuda::MapType::kFloat16;
  for (int64_t d : dims) spec.dims.push_back(static_cast<uint64_t>(d));
  for (int64_t s : strides) spec.strides.push_back(static_cast<uint64_t>(s) * 2);
  spec.box = {static_cast<uint32_t>(channels), static_cast<uint32_t>(width), static_cast<uint32_t>(rows), 1};
  return spec;
}

}  // namespace

TensorMapSpec image_map(const Contraction& c, int64_t rows, int64_t width, int64_t channels,
                        cuda::MapSwizzle swizzle) {
  const ConvolutionShape& g = c.conv;
  TensorMapSpec spec =
      map_of(c.element, {g.channels, g.in_w, g.in_h, g.batch}, {g.x_w, g.x_h, g.x_n}, rows, width, channels);
  spec.swizzle = swizzle;
  return spec;
}

TensorMapSpec result_image_map(const Problem& problem, const Contraction& c, int64_t rows, int64_t width,
                               int64_t channels) {
  const ConvolutionShape& g = c.conv;
  const ResultStrides s = result_strides(problem, c);
  return map_of(c.element, {c.n, g.out_w, g.out_h, g.batch}, {s.w, s.h, s.n}, rows, width, channels);
}

TensorMapSpec pooled_image_map(const TensorDesc& pooled, const Contraction& c, int64_t channels) {
  const Dims &d = pooled.dims, &s = pooled.strides;
  return map_of(c.element, {c.n, d[3], d[2], d[0]}, {s[3], s[2], s[0]}, 1, d[3], channels);
}

std::optional<std::string> result_image_refusal(const Problem& problem, const Contraction& c) {
  const ResultStrides s = result_strides(problem, c);
  if (c.result != c.element) return "a result of another type than the operands";
  if (c.y_column != 1 || s.n % 8 != 0 || s.h % 8 != 0 || s.w % 8 != 0)
    return "the result is not channels-last with pixels on 16 bytes";
  return std::nullopt;
}

ResultStrides result_strides(const Problem& problem, const Contraction& c) {
  const Dims& s = problem.outputs[0].strides;
  return {s[0], s.size() == 4 ? s[2] : c.conv.out_w * s.back(), s.back()};
}

}  // namespace wootz
