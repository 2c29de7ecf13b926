// SPDX-License-Identifier: Apache-2.0
// What the kernels of first layers share: how stem_prepare.cu laid the input out, and operands without swizzle.
//
// The input has its padding written out and lies in units of 16 bytes: one pixel of eight channels where the stride is 1, two
// of four channels where it is 2. Either way a step of the filter is one unit, and TAPS units (a multiple of 2) cover a row of
// the filter; surplus taps and channels have weight zero. The matrix unit reads the overlapping windows from plain rows in
// shared memory, because in the layout without swizzle consecutive rows of an operand are 16 bytes apart and the distance
// between its 8-element columns is free: 16 bytes as well. Weights come packed as [FILTER_H * TAPS / 2 steps of K][2][64
// channels][8].

constexpr int kStepsRow = TAPS / 2;
constexpr int kSteps = FILTER_H * kStepsRow;
constexpr int kBytesWholeRow = UNITS * 16;
constexpr int kBytesImage = PADDED_H * kBytesWholeRow;
constexpr int kBytesWeights = kSteps * 2048;

// Operand without swizzle: eight rows of 16 bytes are adjacent, the next eight follow; `column` bytes to the next 8 of K.
__device__ __forceinline__ u64 plain_operand(u32 address, u32 column) {
  return (u64)((address & 0x3FFFF) >> 4) | (u64)(column >> 4) << 16 | (u64)(128 >> 4) << 32;
}

// Of 64 channels a warp has sixteen; where the layer has none of them, it finishes and stores nothing.
__device__ __forceinline__ bool has_channels(int warp) { return N > 48 || warp * 16 < N; }
