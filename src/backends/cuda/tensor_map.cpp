// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/tensor_map.h"

#include <string>

#include "backends/cuda/driver.h"

namespace wootz {
namespace {

template <class T>
std::string list(const std::vector<T>& v) {
  std::string s = "[";
  for (const T& x : v) s += (s.size() > 1 ? "," : "") + std::to_string(x);
  return s + "]";
}

}  // namespace

TensorMapSpec matrix_map(uint64_t rows, uint64_t columns, uint64_t row_bytes, uint32_t box_rows,
                         uint32_t box_columns, cuda::MapType type) {
  TensorMapSpec spec;
  spec.type = type;
  spec.dims = {columns, rows};
  spec.strides = {row_bytes};
  spec.box = {box_columns, box_rows};
  return spec;
}

cuda::TensorMap encode(const TensorMapSpec& spec, cuda::DevicePtr address) {
  cuda::TensorMap map;
  const auto rank = static_cast<uint32_t>(spec.dims.size());
  const std::vector<uint32_t> ones(rank, 1);
  const uint32_t* steps = spec.steps.empty() ? ones.data() : spec.steps.data();
  void* const base = reinterpret_cast<void*>(address);  // NOLINT: a number on the device
  const auto& driver = cuda::Driver::get();
  constexpr int kZeros = 0;  // outside the array
  const std::string what =
      "dims " + list(spec.dims) + " strides " + list(spec.strides) + " box " + list(spec.box);
  if (!spec.box.empty()) {
    cuda::check(driver->cuTensorMapEncodeTiled(
                    &map, spec.type, rank, base, spec.dims.data(), spec.strides.data(), spec.box.data(),
                    steps, cuda::MapInterleave::kNone, spec.swizzle, spec.promotion, kZeros),
                "cuTensorMapEncodeTiled", what);
  } else {
    cuda::check(
        driver->cuTensorMapEncodeIm2col(&map, spec.type, rank, base, spec.dims.data(), spec.strides.data(),
                                        spec.lower_corner.data(), spec.upper_corner.data(),
                                        spec.channels_per_pixel, spec.pixels_per_column, steps,
                                        cuda::MapInterleave::kNone, spec.swizzle, spec.promotion, kZeros),
        "cuTensorMapEncodeIm2col", what);
  }
  return map;
}

}  // namespace wootz
