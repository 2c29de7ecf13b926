// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/contraction_cases.h"

namespace wootz {
namespace {

constexpr const char *kSm90 = "cuda.gemm.sm90", *kSplitK = "cuda.gemm.splitk_sm90", *kMma = "cuda.gemm.mma",
                     *kSimt = "cuda.gemm.simt", *kHalo = "cuda.conv.halo3x3_sm90",
                     *kStem = "cuda.conv.stem_sm90", *kDirect = "cuda.conv.direct",
                     *kRows = "cuda.depthwise.rows_sm90";

void expect_everywhere(const ConvolutionCase& p, std::initializer_list<const char*> tactics) {
  CudaCase test;
  add_convolution(test, p);
  for (const char* id : tactics) test.expect(id);
}
void expect_each(const ConvolutionCase& p, std::initializer_list<const char*> tactics) {
  CudaCase test;
  add_convolution(test, p);
  test.brief();
  for (const char* id : tactics) test.expect(id);
}

TEST(CudaConv, ImplicitProduct) {
  expect_everywhere({.n = 3, .c = 64, .h = 15, .w = 13, .m = 192}, {kSm90, kSplitK, kMma});
  expect_each({.n = 2, .c = 128, .h = 15, .w = 15, .m = 64, .stride = 2, .tail = TailKind::kResidualRelu},
              {kSm90, kSplitK, kMma});
}

TEST(CudaConv, ChannelsThatFillNoStep) {
  expect_each({.n = 2, .c = 24, .h = 12, .w = 10, .m = 40, .tail = TailKind::kResidualRelu},
              {kSm90, kSplitK, kMma});
  expect_each({.n = 1, .c = 96, .h = 9, .w = 9, .m = 72}, {kSm90, kMma});
}

TEST(CudaConv, FiltersStridesAndPads) {
  expect_each({.n = 2, .c = 64, .h = 12, .w = 20, .m = 64, .kh = 3, .kw = 1, .pads = {1, 0, 1, 0}},
              {kSm90, kMma});
  expect_each({.n = 1, .c = 64, .h = 14, .w = 11, .m = 64, .kh = 5, .kw = 3, .pads = {2, 0, 1, 3}},
              {kSm90, kSplitK, kMma});
  expect_each({.n = 1, .c = 64, .h = 16, .w = 16, .m = 64, .dilation = 2, .pads = {2, 2, 2, 2}},
              {kSm90, kMma});
  expect_each(
      {.n = 2, .c = 64, .h = 14, .w = 14, .m = 128, .kh = 1, .kw = 1, .stride = 2, .pads = {0, 0, 0, 0}},
      {kSm90, kSplitK, kMma});
}

TEST(CudaConv, Pointwise) {
  expect_each({.n = 2,
               .c = 40,
               .h = 7,
               .w = 9,
               .m = 72,
               .kh = 1,
               .kw = 1,
               .pads = {0, 0, 0, 0},
               .tail = TailKind::kResidualRelu},
              {kSm90, kSplitK, kMma});
  expect_each({.n = 2,
               .c = 32,
               .h = 8,
               .w = 8,
               .m = 16,
               .kh = 1,
               .kw = 1,
               .pads = {0, 0, 0, 0},
               .tail = TailKind::kScaleRows},
              {kSm90, kSplitK, kMma});
}

TEST(CudaConv, Float32AsTf32) {
  expect_each({.n = 2, .c = 64, .h = 15, .w = 13, .m = 64, .dtype = DType::kFloat32, .tf32 = true},
              {kSm90, kSplitK});
  expect_each({.n = 2,
               .c = 24,
               .h = 12,
               .w = 10,
               .m = 40,
               .stride = 2,
               .dtype = DType::kFloat32,
               .tail = TailKind::kResidualRelu,
               .tf32 = true},
              {kSm90, kSplitK});
  expect_each({.n = 2,
               .c = 100,
               .h = 7,
               .w = 9,
               .m = 72,
               .kh = 1,
               .kw = 1,
               .pads = {0, 0, 0, 0},
               .dtype = DType::kFloat32,
               .tf32 = true},
              {kSm90, kSplitK});
}

TEST(CudaConv, ResultsThatNoBulkCopyWrites) {
  const ConvolutionCase heads = {.n = 2, .c = 64, .h = 19, .w = 19, .m = 546, .to_float = true};
  expect_each(heads, {kSm90});
  for (const int64_t m : {16, 24, 91, 126, 364, 380}) {
    ConvolutionCase p = heads;
    p.m = m, p.tail = m == 16 ? TailKind::kNone : m == 24 ? TailKind::kResidualRelu : TailKind::kRelu;
    p.h = m == 364 ? 23 : 9;
    expect_each(p, {kSm90});
    p.to_float = false, p.dtype = m == 126 ? DType::kBFloat16 : DType::kFloat16;
    expect_each(p, {kSm90});
  }
  // Row-major results, and pixels of a few channels each.
  expect_each({.n = 3, .c = 64, .h = 12, .w = 10, .m = 72, .y_storage = Storage::kRowMajor}, {kSm90});
  expect_each({.n = 3, .c = 64, .h = 5, .w = 7, .m = 3, .y_storage = Storage::kRowMajor, .to_float = true},
              {kSm90});
  expect_each(
      {.n = 2, .c = 72, .h = 30, .w = 30, .m = 40, .kh = 1, .kw = 1, .pads = {0, 0, 0, 0}, .gated = true},
      {kSm90});
}

/// Some of the last eight rows are missing. With a bias, and with a residual of float32.
TEST(CudaConv, RowsWithoutGaps) {
  const ConvolutionCase p = {
      .n = 2, .c = 128, .h = 9, .w = 11, .m = 255, .kh = 1, .kw = 1, .pads = {0, 0, 0, 0}, .to_float = true};
  expect_each(p, {kSm90});
  ConvolutionCase narrow = p;
  narrow.m = 21, narrow.h = 30, narrow.tail = TailKind::kResidualRelu;
  expect_each(narrow, {kSm90});
}

TEST(CudaConv, ColumnsThatFillNoPanels) {
  // Enough tiles for weights that stay in shared memory, whole columns in one tile.
  expect_each({.n = 4, .c = 16, .h = 66, .w = 66, .m = 72, .kh = 1, .kw = 1, .pads = {0, 0, 0, 0}}, {kSm90});
  expect_each({.n = 1,
               .c = 24,
               .h = 20,
               .w = 20,
               .m = 144,
               .kh = 1,
               .kw = 1,
               .pads = {0, 0, 0, 0},
               .tail = TailKind::kResidualRelu},
              {kSm90});
}

TEST(CudaConv, FirstLayersReadFloats) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    // A wide row in two parts, one in three of which the last is short, and a plain one.
    expect_each({.n = 2,
                 .c = 3,
                 .h = 20,
                 .w = 640,
                 .m = 32,
                 .kh = 6,
                 .kw = 6,
                 .stride = 2,
                 .pads = {2, 2, 2, 2},
                 .dtype = dtype,
                 .x_storage = Storage::kRowMajor,
                 .from_float = true},
                {kStem});
    expect_each({.n = 1,
                 .c = 3,
                 .h = 9,
                 .w = 700,
                 .m = 64,
                 .dtype = dtype,
                 .x_storage = Storage::kRowMajor,
                 .from_float = true},
                {kStem});
    expect_each({.n = 3,
                 .c = 3,
                 .h = 33,
                 .w = 30,
                 .m = 24,
                 .stride = 2,
                 .dtype = dtype,
                 .x_storage = Storage::kChannelsLast,
                 .from_float = true},
                {kStem});
  }
}

TEST(CudaConv, GatedInput) {
  // Images whose ends no tile knows, channels that end inside a step, several columns of tiles, a residual.
  for (const ConvolutionCase& shape : {ConvolutionCase{.n = 5, .c = 72, .h = 7, .w = 7, .m = 24},
                                       ConvolutionCase{.n = 2, .c = 200, .h = 14, .w = 14, .m = 264},
                                       ConvolutionCase{.n = 1, .c = 32, .h = 112, .w = 112, .m = 16},
                                       ConvolutionCase{.n = 3, .c = 64, .h = 9, .w = 5, .m = 128}})
    for (const TailKind tail : {TailKind::kRelu, TailKind::kResidualRelu}) {
      ConvolutionCase p = shape;
      p.kh = p.kw = 1, p.pads = {0, 0, 0, 0}, p.tail = tail, p.gated = true;
      p.dtype = tail == TailKind::kRelu || p.c != 72 ? DType::kFloat16 : DType::kBFloat16;
      expect_each(p, {kSm90});
    }
}

TEST(CudaConv, BFloat16) {
  expect_each({.n = 1, .c = 64, .h = 10, .w = 10, .m = 64, .dtype = DType::kBFloat16},
              {kSm90, kSplitK, kHalo, kMma});
}

TEST(CudaConv, AnyLayoutAndSize) {
  expect_everywhere({.n = 2, .c = 5, .h = 9, .w = 7, .m = 3}, {kMma, kSimt, kDirect});
  expect_each({.n = 1,
               .c = 17,
               .h = 6,
               .w = 5,
               .m = 70,
               .stride = 2,
               .x_storage = Storage::kRowMajor,
               .y_storage = Storage::kRowMajor},
              {kMma, kSimt});
  expect_each({.n = 1, .c = 12, .h = 11, .w = 10, .m = 20, .kh = 5, .pads = {2, 0, 1, 3}}, {kMma});
}

TEST(CudaConv, Groups) {
  expect_each({.n = 1, .c = 12, .h = 9, .w = 9, .m = 18, .group = 3}, {kMma, kSimt, kDirect});
  expect_each({.n = 2, .c = 64, .h = 8, .w = 8, .m = 64, .group = 2, .tail = TailKind::kResidualRelu},
              {kMma});
  expect_each({.n = 1, .c = 6, .h = 9, .w = 9, .m = 12, .group = 6}, {kDirect});
}

TEST(CudaConv, WeightsThatVary) {
  expect_each({.n = 1, .c = 20, .h = 8, .w = 8, .m = 24, .constant_w = false}, {kDirect});
}

TEST(CudaConv, Halo) {
  expect_each({.n = 3, .c = 64, .h = 15, .w = 15, .m = 64}, {kHalo});
  expect_each({.n = 2, .c = 64, .h = 6, .w = 56, .m = 64, .tail = TailKind::kGelu}, {kHalo});
  // Parts of a row: even ones, and a last one that is shorter.
  expect_each({.n = 2, .c = 64, .h = 7, .w = 300, .m = 64}, {kHalo});
  expect_each({.n = 1, .c = 64, .h = 6, .w = 271, .m = 64, .dtype = DType::kBFloat16}, {kHalo});
}

TEST(CudaConv, PoolBehind) {
  expect_each({.n = 2, .c = 64, .h = 8, .w = 12, .m = 64, .pool = 2}, {kHalo, kSm90});
  expect_each({.n = 1, .c = 64, .h = 7, .w = 135, .m = 64, .pool = 2}, {kHalo});
  for (const bool ceil : {true, false}) {
    expect_each({.n = 3, .c = 72, .h = 9, .w = 7, .m = 200, .pool = 2, .pool_ceil = ceil}, {kSm90});
    expect_each({.n = 2, .c = 64, .h = 5, .w = 9, .m = 64, .pool = 2, .pool_ceil = ceil}, {kHalo});
  }
  expect_each({.n = 2,
               .c = 16,
               .h = 10,
               .w = 6,
               .m = 136,
               .kh = 5,
               .kw = 1,
               .pads = {0, 0, 1, 0},
               .dtype = DType::kBFloat16,
               .tail = TailKind::kGelu,
               .pool = 2},
              {kSm90});
  expect_each({.n = 2, .c = 64, .h = 6, .w = 8, .m = 64, .kh = 1, .kw = 1, .pads = {0, 0, 0, 0}, .pool = 2},
              {kSm90});
}

TEST(CudaConv, FirstLayersWithPools) {
  // Even and odd sides, few channels, a stride of 1, rows that no tile divides.
  expect_each({.n = 2,
               .c = 3,
               .h = 36,
               .w = 32,
               .m = 64,
               .kh = 7,
               .kw = 7,
               .stride = 2,
               .pads = {3, 3, 3, 3},
               .x_storage = Storage::kRowMajor,
               .from_float = true,
               .pool = 3},
              {kStem});
  expect_each({.n = 1, .c = 3, .h = 13, .w = 11, .m = 24, .dtype = DType::kBFloat16, .pool = 3}, {kStem});
  expect_each({.n = 1,
               .c = 4,
               .h = 21,
               .w = 58,
               .m = 40,
               .stride = 2,
               .tail = TailKind::kClip,
               .x_storage = Storage::kChannelsLast,
               .pool = 3},
              {kStem});
}

TEST(CudaConv, FirstLayers) {
  expect_each({.n = 2,
               .c = 3,
               .h = 33,
               .w = 38,
               .m = 64,
               .kh = 7,
               .kw = 7,
               .stride = 2,
               .pads = {3, 3, 3, 3},
               .x_storage = Storage::kRowMajor},
              {kStem, kMma});
  expect_each(
      {.n = 2, .c = 3, .h = 24, .w = 32, .m = 32, .stride = 2, .pads = {0, 0, 1, 1}, .tail = TailKind::kGelu},
      {kStem});
  expect_each({.n = 1, .c = 3, .h = 20, .w = 30, .m = 64, .x_storage = Storage::kRowMajor}, {kStem});
  expect_each({.n = 1,
               .c = 3,
               .h = 32,
               .w = 32,
               .m = 24,
               .kh = 6,
               .kw = 6,
               .stride = 2,
               .pads = {2, 2, 2, 2},
               .dtype = DType::kBFloat16},
              {kStem});
}

TEST(CudaConv, Depthwise) {
  expect_everywhere({.n = 2, .c = 48, .h = 14, .w = 14, .m = 48, .group = 48}, {kRows, kDirect});
  expect_each(
      {.n = 1, .c = 32, .h = 15, .w = 17, .m = 32, .kh = 5, .kw = 5, .group = 32, .pads = {2, 2, 2, 2}},
      {kRows});
  expect_each({.n = 2, .c = 96, .h = 16, .w = 16, .m = 96, .stride = 2, .group = 96}, {kRows});
  expect_each({.n = 1,
               .c = 16,
               .h = 19,
               .w = 12,
               .m = 16,
               .kh = 5,
               .kw = 5,
               .stride = 2,
               .group = 16,
               .pads = {2, 2, 2, 2},
               .tail = TailKind::kGelu},
              {kRows});
  expect_each({.n = 1,
               .c = 64,
               .h = 14,
               .w = 14,
               .m = 64,
               .kh = 7,
               .kw = 7,
               .group = 64,
               .pads = {3, 3, 3, 3},
               .dtype = DType::kBFloat16},
              {kRows, kDirect});
  expect_each({.n = 1, .c = 19, .h = 10, .w = 11, .m = 19, .stride = 2, .group = 19}, {kDirect});
}

TEST(CudaConv, DepthwiseWithMeans) {
  // Strips that end with the image and inside it, columns that do not divide the width, several blocks of
  // channels.
  for (const ConvolutionCase& shape :
       {ConvolutionCase{.n = 3, .c = 32, .h = 7, .w = 7, .m = 32},
        ConvolutionCase{.n = 2, .c = 240, .h = 29, .w = 27, .m = 240, .stride = 2},
        ConvolutionCase{.n = 1, .c = 48, .h = 58, .w = 61, .m = 48}}) {
    CudaCase test;
    ConvolutionCase p = shape;
    p.group = p.c;
    if (p.n == 3) p.kh = p.kw = 5, p.pads = {2, 2, 2, 2}, p.dtype = DType::kBFloat16;
    add_convolution(test, p);
    test.constant(Tensor::int64s(std::vector<int64_t>{2, 3}))
        .node("ReduceMean", {"z", "3"}, {"mean"})
        .result("mean");
    test.brief();
    test.expect(kRows);
  }
}

TEST(CudaConv, Float32) {
  expect_each(
      {.n = 2, .c = 19, .h = 9, .w = 8, .m = 70, .dtype = DType::kFloat32, .tail = TailKind::kResidualRelu},
      {kSimt});
  expect_each({.n = 1,
               .c = 3,
               .h = 32,
               .w = 30,
               .m = 32,
               .stride = 2,
               .pads = {0, 0, 1, 1},
               .dtype = DType::kFloat32,
               .x_storage = Storage::kRowMajor},
              {kSimt, kDirect});
  expect_each({.n = 1, .c = 12, .h = 9, .w = 9, .m = 12, .group = 12, .dtype = DType::kFloat32}, {kDirect});
}

TEST(CudaConv, RefusalsNameTheReason) {
  CudaCase rows;
  add_convolution(rows, {.n = 1, .c = 32, .h = 8, .w = 8, .m = 16, .x_storage = Storage::kRowMajor});
  EXPECT_NE(rows.refusal("sm_90a", kSm90).value_or("").find("channels-last"), std::string::npos);
  CudaCase residual;
  add_convolution(residual, {.n = 1, .c = 64, .h = 8, .w = 8, .m = 64, .tail = TailKind::kResidualRelu});
  EXPECT_NE(residual.refusal("sm_90a", kHalo).value_or("").find("differs between the rows"),
            std::string::npos);
}

}  // namespace
}  // namespace wootz
