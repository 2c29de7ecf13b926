// SPDX-License-Identifier: Apache-2.0
#include "tuning/check_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/region.h"
#include "ir/element.h"

namespace wootz {
namespace {

constexpr double kLargeMagnitude = 1e3, kLargeScores = 32;

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
    if (kind_ == InputKind::kTiny) return uniform * (pick < 8 ? 0x1p-130 : std::ldexp(1.0, -40 - int(pick)));
    if (pick == 0) return std::numeric_limits<double>::quiet_NaN();
    if (pick == 1) return std::numeric_limits<double>::infinity();
    if (pick == 2) return -std::numeric_limits<double>::infinity();
    return uniform;
  }

 private:
  InputKind kind_;
  double scale_;
};

Tensor draw_tensor(DType dtype, const Dims& dims, const Draw& draw, int most_integer, Numbers& numbers) {
  Tensor t = Tensor::zeros(dtype, dims);
  const int64_t n = t.size();
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
  return t;
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
    if (d.dtype == DType::kUndefined)
      inputs.emplace_back();
    else if (d.constant)
      inputs.emplace_back(*d.constant);
    else
      inputs.emplace_back(draw_tensor(d.dtype, d.dims, draw, most_integer, numbers));
  }
  return inputs;
}

double score_error(const Problem& problem, InputKind kind) {
  const Node* attention = attention_of(problem);
  if (!attention || kind != InputKind::kLarge) return 0;
  // Scores of uniform inputs spread as magnitude^2 / 3 * sqrt(head size); six times that is never exceeded.
  double head = 1;
  for (const TensorDesc& d : problem.inputs)
    if (!d.dims.empty()) head = std::max(head, double(d.dims.back()));
  const double scale = std::fabs(attention->attributes.get<float>("scale", 1));
  return 6 * scale * kLargeScores * kLargeScores / 3 * std::sqrt(head) * 0x1p-23;
}

}  // namespace wootz
