// SPDX-License-Identifier: Apache-2.0
// Regions of products and convolutions for the tests of the CUDA tactics.
#pragma once
#include "tests/cuda/cuda_case.h"

namespace wootz {

inline double tolerance_of(DType dtype) {
  return dtype == DType::kFloat32 ? 2e-6 : dtype == DType::kFloat16 ? 2e-3 : 1.6e-2;
}

/// What follows the product or convolution "y"; the last name is the result's.
enum class TailKind { kNone, kRelu, kResidualRelu, kGelu, kScaleRows, kClip };

/// Adds the tail to a case whose node's result is "y" with dims `dims`; returns the name of the result.
/// Inputs are numbered from `next`.
inline std::string add_tail(CudaCase& test, TailKind kind, DType dtype, const Dims& dims, Storage storage,
                            int next) {
  const std::string operand = std::to_string(next);
  switch (kind) {
    case TailKind::kNone: return "y";
    case TailKind::kRelu: test.node("Relu", {"y"}, {"z"}); return "z";
    case TailKind::kResidualRelu:
      test.input(random_tensor(dtype, dims, 11), storage);
      test.node("Add", {"y", operand}, {"r"}).node("Relu", {"r"}, {"z"});
      return "z";
    case TailKind::kGelu: test.node("Gelu", {"y"}, {"z"}); return "z";
    case TailKind::kScaleRows: {
      Dims row(dims.size(), 1);
      row[0] = dims[0];
      if (dims.size() == 4) row[1] = dims[1];  // a squeeze-and-excite gate
      test.input(random_tensor(dtype, row, 12));
      test.node("Mul", {operand, "y"}, {"z"});
      return "z";
    }
    case TailKind::kClip:
      test.constant(random_tensor(dtype, {}, 13, 0)).constant(Tensor(random_tensor(dtype, {}, 14, 1)));
      test.node("Abs", {"y"}, {"a"}).node("Sub", {"a", operand}, {"z"});
      return "z";
  }
  return "y";
}

struct ProductCase {
  Dims a, b;
  DType dtype = DType::kFloat16;
  TailKind tail = TailKind::kNone;
  bool constant_b = true;
  bool bias = false;
  Storage a_storage = Storage::kRowMajor, b_storage = Storage::kRowMajor;
  bool tf32 = false;  // float32 operands may lose bits
};

inline void add_product(CudaCase& test, const ProductCase& p) {
  test.input(random_tensor(p.dtype, p.a, 1, 1), p.a_storage);
  test.input(random_tensor(p.dtype, p.b, 2, 1), p.b_storage, p.constant_b);
  test.node("MatMul", {"0", "1"}, {p.bias ? "m" : "y"});
  int next = 2;
  const int64_t n = p.b.back();
  if (p.bias) {
    test.constant(random_tensor(p.dtype, {n}, 3, 1)).node("Add", {"m", "2"}, {"y"});
    ++next;
  }
  Dims dims(p.a.begin(), p.a.end() - 1);
  if (p.b.size() > p.a.size()) dims = Dims(p.b.begin(), p.b.end() - 2), dims.push_back(p.a[p.a.size() - 2]);
  dims.push_back(n);
  test.result(add_tail(test, p.tail, p.dtype, dims, Storage::kRowMajor, next));
  if (p.tf32) test.permit_tf32();
  const double k = static_cast<double>(p.a.back()), bound = tolerance_of(p.tf32 ? DType::kFloat16 : p.dtype);
  test.tolerance(bound, bound * std::sqrt(k));
}

struct ConvolutionCase {
  int64_t n, c, h, w, m;
  int64_t kh = 3, kw = 3, stride = 1, dilation = 1, group = 1;
  Ints pads = {1, 1, 1, 1};
  DType dtype = DType::kFloat16;
  TailKind tail = TailKind::kRelu;
  Storage x_storage = Storage::kChannelsLast, y_storage = Storage::kChannelsLast;
  bool constant_w = true;
  bool from_float = false;  // the input is float32, and cast first
  bool to_float = false;    // the result is cast to float32
  int64_t pool = 0;         // the windows of a pool that follows: 2, or 3 with padding
  bool pool_ceil = true;    // the last windows of 2x2 may reach over the end
  bool gated = false;       // the input is multiplied by one factor an image and channel first
  bool tf32 = false;        // float32 operands may lose bits
};

inline void add_convolution(CudaCase& test, const ConvolutionCase& p) {
  test.input(random_tensor(p.from_float ? DType::kFloat32 : p.dtype, {p.n, p.c, p.h, p.w}, 1, 1),
             p.x_storage);
  test.input(random_tensor(p.dtype, {p.m, p.c / p.group, p.kh, p.kw}, 2, 1), Storage::kRowMajor,
             p.constant_w);
  test.constant(random_tensor(p.dtype, {p.m}, 3, 1));
  Attributes a;
  a.set("strides", Ints{p.stride, p.stride});
  a.set("dilations", Ints{p.dilation, p.dilation});
  a.set("pads", p.pads);
  a.set("group", p.group);
  if (p.gated) test.input(random_tensor(p.dtype, {p.n, p.c, 1, 1}, 4, 1)).node("Mul", {"0", "3"}, {"gated"});
  if (p.from_float) {
    Attributes cast;
    cast.set("to", static_cast<int64_t>(p.dtype == DType::kBFloat16 ? 16 : 10));
    test.node("Cast", {"0"}, {"cast"}, cast);
  }
  test.node("Conv", {p.gated ? "gated" : p.from_float ? "cast" : "0", "1", "2"}, {"y"}, a);
  const int64_t oh = (p.h + p.pads[0] + p.pads[2] - (p.kh - 1) * p.dilation - 1) / p.stride + 1;
  const int64_t ow = (p.w + p.pads[1] + p.pads[3] - (p.kw - 1) * p.dilation - 1) / p.stride + 1;
  std::string result = add_tail(test, p.tail, p.dtype, {p.n, p.m, oh, ow}, p.y_storage, p.gated ? 4 : 3);
  if (p.to_float) {
    Attributes cast;
    cast.set("to", int64_t{1});
    test.node("Cast", {result}, {"float"}, cast);
    result = "float";
  }
  if (p.pool > 0) {
    Attributes pool;
    pool.set("kernel_shape", Ints{p.pool, p.pool});
    pool.set("strides", Ints{2, 2});
    if (p.pool == 2) pool.set("ceil_mode", int64_t{p.pool_ceil});
    if (p.pool == 3) pool.set("pads", Ints{1, 1, 1, 1});
    test.node("MaxPool", {result}, {"pooled"}, pool);
    result = "pooled";
  }
  test.result(result, p.y_storage);
  if (p.tf32) test.permit_tf32();
  const double k = static_cast<double>(p.c / p.group * p.kh * p.kw),
               bound = tolerance_of(p.tf32 ? DType::kFloat16 : p.dtype);
  test.tolerance(bound, bound * std::sqrt(k));
}

}  // namespace wootz
