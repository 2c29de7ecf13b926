// SPDX-License-Identifier: Apache-2.0
// What ScatterElements and ScatterND do with an element that is written: none, add, mul, max, min.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>

#include "ir/element.h"
#include "ir/tensor.h"

namespace wootz {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

inline std::optional<ScatterReduction> scatter_reduction(const std::string& name) {
  if (name == "none") return ScatterReduction::kNone;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return std::nullopt;
}

template <class W>
W reduced(W a, W b, ScatterReduction reduction) {
  if constexpr (std::is_floating_point_v<W>) {
    if (std::isnan(a) || std::isnan(b)) return reduction == ScatterReduction::kAdd ? a + b : a * b;
  }
  switch (reduction) {
    case ScatterReduction::kNone: return b;
    case ScatterReduction::kMax: return a < b ? b : a;
    case ScatterReduction::kMin: return b < a ? b : a;
    case ScatterReduction::kAdd:
    case ScatterReduction::kMul: break;
  }
  if constexpr (std::is_integral_v<W>) {  // wraps like two's complement
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<W>(reduction == ScatterReduction::kAdd ? x + y : x * y);
  } else {
    return reduction == ScatterReduction::kAdd ? a + b : a * b;
  }
}

/// target = reduction(target, update) for one element, computed wide.
template <class T>
void reduce_into(T& target, const T& update, ScatterReduction reduction) {
  if constexpr (std::is_same_v<T, bool>) {
    const bool any = reduction == ScatterReduction::kAdd || reduction == ScatterReduction::kMax;
    target = any ? target || update : target && update;
  } else if constexpr (std::is_arithmetic_v<T>) {
    target = reduced(target, update, reduction);
  } else if constexpr (requires { static_cast<int64_t>(update); }) {
    target = T(reduced(static_cast<int64_t>(target), static_cast<int64_t>(update), reduction));
  } else {
    target = T(reduced(static_cast<float>(target), static_cast<float>(update), reduction));
  }
}

/// Writes `count` neighbouring updates over the target.
inline void scatter_run(Tensor& target, int64_t to, const Tensor& updates, int64_t from, int64_t count,
                        ScatterReduction reduction) {
  visit_numeric(target.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i)
      reduce_into(target.as<T>()[to + i], updates.as<T>()[from + i], reduction);
  });
}

}  // namespace wootz
