// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "backends/cpu/pointwise/vector_target.h"
#include "ops/scalar.h"

namespace wootz {

/// Kernels beyond the scalar instructions: specialisations and pairs of instructions in one loop.
enum class TileExtra : int16_t {
  kMulAdd,      // a * b + c
  kMulSigmoid,  // a * sigmoid(b)
  kAddRelu,     // max(a + b, 0)
  kAddClip,     // a + b between alpha and beta
  kClipConst,   // a between alpha and beta
  kCube,        // a^3
  kPowHalf,     // a^0.5
  kToBool,      // a != 0
  kToHalf,      // rounded to float16 and back
  kToBFloat16,  // rounded to bfloat16 and back
  kCount
};
inline constexpr int kScalarOpCount = static_cast<int>(ScalarOp::kWhere) + 1;
inline constexpr int kTileKernelCount = kScalarOpCount + static_cast<int>(TileExtra::kCount);
constexpr int tile_kernel_id(ScalarOp op) { return static_cast<int>(op); }
constexpr int tile_kernel_id(TileExtra op) { return kScalarOpCount + static_cast<int>(op); }

/// One vector loop: out[i] = f(in[k][i * stride[k]]...) for count elements; strides are 0 or 1; out may be an
/// input.
struct TileArgs {
  const float* in[3] = {};
  int stride[3] = {};
  float* out = nullptr;
  int count = 0;
  float alpha = 0, beta = 0;
};
using TileFunction = void (*)(const TileArgs&);

/// The loops of the chosen instruction set, by kernel id; null where a scalar instruction has no float32
/// form.
const TileFunction* tile_functions();

// The parts of the table. Scalar tiles are rare in models: one C library call an element.
void add_arithmetic_tiles(VectorTarget target, TileFunction* table);
void add_math_tiles(VectorTarget target, TileFunction* table);
void add_scalar_tiles(TileFunction* table);

}  // namespace wootz
