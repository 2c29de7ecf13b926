// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 8-bit integers with what quantized models have behind them. Scales of sums are
// powers of two and biases whole numbers, so float32 is exact and results must be the references' bit by bit,
// but for bytes on a rounding tie, of which a product with the scale's reciprocal takes the other side.
#pragma once
#include "ir/element.h"
#include "tests/cuda/contraction_cases.h"

namespace wootz {

enum class End { kFloat, kHalf, kByte };

struct BytesCase {
  DType a = DType::kUint8;
  int a_zero = 0;
  End end = End::kByte;
  DType result = DType::kUint8;
  int result_zero = 0;
  float result_scale = 0.37f;
  bool residual = false;  // of the result's type: bytes with a zero point of 5, or float16
  bool relu = true;
  bool gelu = false;  // whose fast form may fall on the other side of a tie
};

inline Attributes to_type(DType type) {
  Attributes a;
  a.set("to", static_cast<int64_t>(type));
  return a;
}

inline Tensor zero_of(DType type, int value) {
  Tensor t = Tensor::zeros(type, {});
  *t.as<uint8_t>() = static_cast<uint8_t>(value);
  return t;
}

/// From -3 to 3, as float8e4m3fn.
inline Tensor small_integers(const Dims& dims, unsigned seed) {
  Tensor t = Tensor::zeros(DType::kFloat8E4M3FN, dims);
  for (int64_t i = 0; i < t.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const int x = static_cast<int>(seed >> 24) % 7 - 3;
    t.as<uint8_t>()[i] = small_from_float(t.dtype(), static_cast<float>(x), true);
  }
  return t;
}

class BytesRegion {
 public:
  BytesRegion(CudaCase& test, const BytesCase& c) : test_(test), c_(c) {}

  CudaCase& product(int64_t m, int64_t k, int64_t n) {
    operands({m, k}, {k, n}, Storage::kRowMajor, k);
    if (is_float8())
      test_.node("MatMulFloat8", {"0", "1"}, {"sum"}, {}, "wootz");
    else
      test_.node("MatMulInteger", {"0", "1", "2"}, {"sum"});
    finish({n}, {m, n}, Storage::kRowMajor, n);
    return test_;
  }

  CudaCase& convolution(const ConvolutionCase& p) {
    operands({p.n, p.c, p.h, p.w}, {p.m, p.c, p.kh, p.kw}, Storage::kChannelsLast, p.c * p.kh * p.kw);
    Attributes a;
    a.set("strides", Ints{p.stride, p.stride});
    a.set("dilations", Ints{p.dilation, p.dilation});
    a.set("pads", p.pads);
    test_.node("ConvInteger", {"0", "1", "2"}, {"sum"}, a);
    const int64_t oh = (p.h + p.pads[0] + p.pads[2] - (p.kh - 1) * p.dilation - 1) / p.stride + 1;
    const int64_t ow = (p.w + p.pads[1] + p.pads[3] - (p.kw - 1) * p.dilation - 1) / p.stride + 1;
    finish({p.m, 1, 1}, {p.n, p.m, oh, ow}, Storage::kChannelsLast, p.m);
    return test_;
  }

 private:
  bool is_float8() const { return c_.a == DType::kFloat8E4M3FN; }

  void operands(const Dims& a, const Dims& b, Storage storage, int64_t k) {
    if (is_float8()) {
      // Whole numbers of few digits: sums are exact in the 14 bits that the matrix unit keeps of them.
      test_.input(small_integers(a, 1), storage).constant(small_integers(b, 2));
      next_ = 2, shift_ = 4;
      return;
    }
    test_.input(random_tensor(c_.a, a, 1, 127), storage);
    test_.constant(random_tensor(DType::kInt8, b, 2, 127)).constant(zero_of(c_.a, c_.a_zero));
    // Results that a range of 8 bits holds for the most part.
    shift_ = 1;
    while (double(int64_t{1} << (2 * shift_)) < 40.0 * 40.0 * double(k)) ++shift_;
  }

  std::string constant(Tensor t) {
    test_.constant(std::move(t));
    return std::to_string(next_++);
  }
  std::string scalar(float x) {
    const std::string name = "s" + std::to_string(scalars_++);
    test_.scalar(name, x);
    return name;
  }

  void finish(const Dims& by_column, const Dims& dims, Storage storage, int64_t n) {
    Tensor scales = Tensor::zeros(DType::kFloat32, by_column),
           bias = random_tensor(DType::kFloat32, by_column, 3, 1);
    for (int64_t i = 0; i < n; ++i) {
      scales.as<float>()[i] = std::ldexp(1.0f, static_cast<int>(i % 3) - shift_);
      bias.as<float>()[i] = std::nearbyintf(bias.as<float>()[i] * 32);
    }
    const std::string scale = constant(scales), add = constant(bias);
    if (!is_float8()) test_.node("Cast", {"sum"}, {"float"}, to_type(DType::kFloat32));
    test_.node("Mul", {is_float8() ? "sum" : "float", scale}, {"scaled"})
        .node("Add", {"scaled", add}, {"x0"});
    std::string x = "x0";
    if (c_.residual) x = add_residual(dims, storage);
    if (c_.relu) test_.node("Relu", {x}, {"x2"}), x = "x2";
    if (c_.gelu) test_.node("Gelu", {x}, {"x4"}), x = "x4";
    if (c_.end == End::kHalf) test_.node("Cast", {x}, {"x3"}, to_type(DType::kFloat16)), x = "x3";
    if (c_.end == End::kByte) x = quantize(x);
    test_.result(x, storage)
        .tolerance(c_.end == End::kHalf ? 1e-3 : 0, c_.gelu ? 1 : 0)
        .ties(c_.end == End::kByte && !is_float8() ? 1e-4 : 0);
  }

  std::string add_residual(const Dims& dims, Storage storage) {
    const DType type = c_.end == End::kByte ? DType::kUint8 : DType::kFloat16;
    test_.input(random_tensor(type, dims, 7, type == DType::kUint8 ? 120 : 8), storage);
    const std::string r = std::to_string(next_++);
    test_.node("Cast", {r}, {"r0"}, to_type(DType::kFloat32));
    std::string wide = "r0";
    if (type == DType::kUint8) {
      const std::string zero = scalar(5), step = scalar(0.5f);
      test_.node("Sub", {"r0", zero}, {"r1"}).node("Mul", {"r1", step}, {"r2"});
      wide = "r2";
    }
    test_.node("Add", {"x0", wide}, {"x1"});
    return "x1";
  }

  std::string quantize(const std::string& x) {
    if (c_.result == DType::kFloat8E4M3FN) {
      const std::string by = scalar(c_.result_scale);
      test_.node("Div", {x, by}, {"q0"}).node("Cast", {"q0"}, {"q1"}, to_type(c_.result));
      return "q1";
    }
    const bool is_signed = c_.result == DType::kInt8;
    const std::string step = scalar(c_.result_scale), low = scalar(is_signed ? -128 : 0),
                      high = scalar(is_signed ? 127 : 255);
    test_.node("Div", {x, step}, {"q0"}).node("Round", {"q0"}, {"q1"});
    std::string q = "q1";
    if (c_.result_zero != 0) {
      const std::string zero = scalar(static_cast<float>(c_.result_zero));
      test_.node("Add", {"q1", zero}, {"q2"}), q = "q2";
    }
    test_.node("Clip", {q, low, high}, {"q3"}).node("Cast", {"q3"}, {"q4"}, to_type(c_.result));
    return "q4";
  }

  CudaCase& test_;
  BytesCase c_;
  int next_ = 3, shift_ = 0, scalars_ = 0;
};

}  // namespace wootz
