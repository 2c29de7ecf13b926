// SPDX-License-Identifier: Apache-2.0
#include "tuning/check_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/region.h"
#include "ir/element.h"
#include "ops/strided_copy.h"

namespace wootz {
namespace {

constexpr double kLargeMagnitude = 1e3, kLargeScores = 32;
constexpr double kPerturbation = 0x1p-21;  // some roundings of a float32

const Node* attention_of(const Problem& problem) {
  for (const auto& node : problem.body().nodes())
    if (node->is("wootz", "Attention")) return node.get();
  return nullptr;
}

/// SplitMix64: a tensor of millions of elements must cost less than the kernel that reads it.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

class Draw {
 public:
  Draw(InputKind kind, double large) : kind_(kind), scale_(kind == InputKind::kLarge ? large : 1) {}

  double operator()(Numbers& numbers) const {
    const uint64_t bits = numbers.next();
    const double uniform = double(bits >> 11) * 0x1p-52 - 1;
    if (kind_ == InputKind::kRandom || kind_ == InputKind::kLarge) return uniform * scale_;
    const unsigned pick = bits & 63;
    if (kind_ == InputKind::kSparse) return pick < 8 ? uniform : 0.0;
    // 2^-126 is the smallest normal float32.
    if (kind_ == InputKind::kTiny)
      return uniform * (pick < 8 ? 0x1p-130 : 0x1p-40 / double(uint64_t{1} << pick));
    if (pick == 0) return std::numeric_limits<double>::quiet_NaN();
    if (pick == 1) return std::numeric_limits<double>::infinity();
    if (pick == 2) return -std::numeric_limits<double>::infinity();
    return uniform;
  }

 private:
  InputKind kind_;
  double scale_;
};

/// Large tensors repeat their first elements, a prime number of them: no row or channel is like its
/// neighbour, and what costs time is the copy alone.
constexpr int64_t kRandomElements = 65'521;

Tensor draw_tensor(DType dtype, const Dims& dims, const Draw& draw, int most_integer, Numbers& numbers) {
  Tensor t = Tensor::zeros(dtype, dims);
  const int64_t n = std::min(t.size(), kRandomElements);
  visit_numeric(dtype, [&](auto element) {
    using T = decltype(element);
    T* p = t.as<T>();
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        p[i] = numbers.next() >> 63;
      else if constexpr (std::is_floating_point_v<T>)
        p[i] = static_cast<T>(draw(numbers));
      else if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>)
        p[i] = T(draw(numbers));
      else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
        p[i] = static_cast<T>(numbers.next());
      else if constexpr (std::is_integral_v<T>)
        p[i] = static_cast<T>((numbers.next() >> 32) % static_cast<uint64_t>(most_integer + 1));
      else
        p[i] = T(static_cast<int64_t>(numbers.next()));
    }
  });
  const size_t block = static_cast<size_t>(n) * dtype_size(dtype);
  for (size_t at = block; at < t.size_bytes(); at += block)
    std::memcpy(t.as<char>() + at, t.data(), std::min(block, t.size_bytes() - at));
  return t;
}

/// Elements that share memory (a broadcast view's) get one value.
void unify(const TensorDesc& d, Tensor& t) {
  bool is_shared = false;
  int64_t last = 0;
  for (size_t i = 0; i < d.dims.size(); ++i) {
    is_shared = is_shared || (d.strides[i] == 0 && d.dims[i] > 1);
    last += (d.dims[i] - 1) * d.strides[i];
  }
  if (!is_shared || t.size() == 0) return;
  Tensor storage = Tensor::zeros(d.dtype, {last + 1});
  const Dims dense = contiguous_strides(d.dims);
  copy_strided(d.dtype, d.dims, t.data(), dense, storage.data(), d.strides);
  copy_strided(d.dtype, d.dims, storage.data(), d.strides, t.data(), dense);
}

}  // namespace

std::string_view input_kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::kRandom: return "random";
    case InputKind::kLarge: return "large";
    case InputKind::kTiny: return "tiny";
    case InputKind::kSparse: return "sparse";
    case InputKind::kNonFinite: return "non-finite";
  }
  return "?";
}

std::vector<Datum> make_inputs(const Problem& problem, InputKind kind, uint64_t seed, int most_integer) {
  Numbers numbers(seed);
  const Draw draw(kind, attention_of(problem) ? kLargeScores : kLargeMagnitude);
  std::vector<Datum> inputs;
  for (const TensorDesc& d : problem.inputs) {
    if (d.dtype == DType::kUndefined) {
      inputs.emplace_back();
    } else if (d.constant) {
      inputs.emplace_back(*d.constant);
    } else {
      Tensor t = draw_tensor(d.dtype, d.dims, draw, most_integer, numbers);
      unify(d, t);
      inputs.emplace_back(std::move(t));
    }
  }
  return inputs;
}

std::vector<Datum> perturbed(const Problem& problem, std::span<const Datum> inputs, uint64_t seed) {
  Numbers numbers(seed);
  std::vector<double> factors(kRandomElements);
  for (double& f : factors) f = 1 + (numbers.next() >> 63 ? kPerturbation : -kPerturbation);
  std::vector<Datum> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorDesc& d = problem.inputs[i];
    if (d.constant || !is_float(d.dtype)) {
      result.push_back(inputs[i]);
      continue;
    }
    Tensor t = Tensor::zeros(d.dtype, d.dims);
    visit_numeric(d.dtype, [&](auto element) {
      using T = decltype(element);
      if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>)
        for (int64_t start = 0; start < t.size(); start += kRandomElements) {
          const T* from = inputs[i].tensor.as<T>() + start;
          T* to = t.as<T>() + start;
          const int64_t n = std::min(kRandomElements, t.size() - start);
          for (int64_t k = 0; k < n; ++k)
            to[k] = T(static_cast<double>(from[k]) * factors[static_cast<size_t>(k)]);
        }
    });
    result.emplace_back(std::move(t));
  }
  return result;
}

}  // namespace wootz
