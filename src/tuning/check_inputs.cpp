// SPDX-License-Identifier: Apache-2.0
#include "tuning/check_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "device/region.h"
#include "ir/element.h"
#include "ir/tensor_memory.h"
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

/// Between -1 and 1.
double uniform(Numbers& numbers) { return double(numbers.next() >> 11) * 0x1p-52 - 1; }

/// Large tensors repeat their first elements, a prime number of them: no row or channel is like its
/// neighbour, and what costs time is the copy alone.
constexpr int64_t kRandomElements = 65'521;

void draw(Tensor& t, const KindChange& change, int most_integer, Numbers& numbers) {
  const DType dtype = t.dtype();
  const int64_t n = std::min(t.size(), kRandomElements);
  visit_numeric(dtype, [&](auto element) {
    using T = decltype(element);
    T* p = t.as<T>();
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        p[i] = numbers.next() >> 63;
      else if constexpr (std::is_floating_point_v<T>)
        p[i] = static_cast<T>(uniform(numbers));
      else if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>)
        p[i] = T(uniform(numbers));
      else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
        p[i] = static_cast<T>(numbers.next());
      else if constexpr (std::is_integral_v<T>)
        p[i] = static_cast<T>((numbers.next() >> 32) % static_cast<uint64_t>(most_integer + 1));
      else
        p[i] = T(static_cast<int64_t>(numbers.next()));
    }
  });
  change(dtype, t.data(), t.data(), n);
  const size_t block = static_cast<size_t>(n) * dtype_size(dtype);
  for (size_t at = block; at < t.size_bytes(); at += block)
    std::memcpy(t.as<char>() + at, t.data(), std::min(block, t.size_bytes() - at));
}

/// The k-th of `spare` where it is such a tensor and nobody else's, a new one otherwise.
Tensor tensor_like(const TensorDesc& d, std::vector<Datum>& spare, size_t k) {
  if (k < spare.size() && spare[k].kind == Datum::Kind::kTensor && spare[k].tensor.dtype() == d.dtype &&
      spare[k].tensor.dims() == d.dims && spare[k].tensor.owner().use_count() == 1)
    return std::move(spare[k].tensor);
  return unset_tensor(d.dtype, d.dims);
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

namespace {

typedef float Lanes __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));
constexpr int64_t kLanes = 16;

/// Six bits that say what becomes of a value; the value's own, so that its place does not matter.
constexpr uint32_t kMix = 0x9e3779b1;

/// kTiny is by two powers, for 2^-130 is no normal float32 (2^-126 is the smallest).
template <InputKind kKind>
inline __attribute__((always_inline)) void change(Lanes& x, float large) {
  const Bits bits = reinterpret_cast<Bits>(x), pick = bits * kMix >> 26;
  if constexpr (kKind == InputKind::kLarge) x = x * large;
  if constexpr (kKind == InputKind::kSparse) x = pick < 8 ? x : Lanes{};
  if constexpr (kKind == InputKind::kTiny)
    x = x * (pick < 8 ? 0x1p-65f - Lanes{} : reinterpret_cast<Lanes>((127 - 40 - pick) << 23)) *
        (pick < 8 ? 0x1p-65f - Lanes{} : 1.0f - Lanes{});
  if constexpr (kKind == InputKind::kNonFinite) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    x = pick == 0 ? std::numeric_limits<float>::quiet_NaN() - Lanes{} : x;
    x = pick == 1 ? kInfinity - Lanes{} : x;
    x = pick == 2 ? -kInfinity - Lanes{} : x;
  }
}

template <InputKind kKind>
inline __attribute__((always_inline)) void change_all(const float* from, float* to, int64_t count,
                                                      float large) {
  Lanes x;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    std::memcpy(&x, from + i, sizeof x);
    change<kKind>(x, large);
    std::memcpy(to + i, &x, sizeof x);
  }
  x = Lanes{};
  const size_t rest = static_cast<size_t>(count - i) * sizeof(float);
  std::memcpy(&x, from + i, rest);
  change<kKind>(x, large);
  std::memcpy(to + i, &x, rest);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void change_floats(InputKind kind,
                                                                                const float* from, float* to,
                                                                                int64_t count, float large) {
  switch (kind) {
    case InputKind::kLarge: return change_all<InputKind::kLarge>(from, to, count, large);
    case InputKind::kSparse: return change_all<InputKind::kSparse>(from, to, count, large);
    case InputKind::kTiny: return change_all<InputKind::kTiny>(from, to, count, large);
    case InputKind::kNonFinite: return change_all<InputKind::kNonFinite>(from, to, count, large);
    case InputKind::kRandom: break;
  }
  if (to != from) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

KindChange::KindChange(const Problem& problem, InputKind kind)
    : kind_(kind), large_(static_cast<float>(attention_of(problem) ? kLargeScores : kLargeMagnitude)) {}

namespace {

/// What becomes of a 16-bit float, or any other than float32.
template <class T>
T changed(T value, InputKind kind, float large) {
  const auto x = static_cast<double>(value);
  auto to = static_cast<float>(x);
  change_floats(kind, &to, &to, 1, large);
  const bool is_scaled = x != 0 && std::isfinite(to);
  return T(is_scaled ? x * (static_cast<double>(to) / static_cast<double>(static_cast<float>(x)))
                     : static_cast<double>(to));
}

/// The same for every 16-bit pattern: a tensor of millions is then looked up. Made once a process.
template <class T>
const std::vector<T>& changed_patterns(InputKind kind, float large) {
  static std::mutex mutex;
  static std::map<std::pair<InputKind, float>, std::vector<T>> tables;
  const std::lock_guard lock(mutex);
  std::vector<T>& table = tables[{kind, large}];
  if (table.empty()) {
    table.resize(size_t{1} << 16);
    for (size_t bits = 0; bits < table.size(); ++bits) {
      T value;
      value.bits = static_cast<uint16_t>(bits);
      table[bits] = changed(value, kind, large);
    }
  }
  return table;
}

constexpr int64_t kWorthATable = 1 << 14;  // elements

}  // namespace

void KindChange::operator()(DType dtype, const void* from, void* to, int64_t count) const {
  if (dtype == DType::kFloat32)
    return change_floats(kind_, static_cast<const float*>(from), static_cast<float*>(to), count, large_);
  if (to != from) std::memcpy(to, from, static_cast<size_t>(count) * dtype_size(dtype));
  if (!is_float(dtype) || kind_ == InputKind::kRandom) return;
  visit_numeric(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>) {
      T* values = static_cast<T*>(to);
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        if (count >= kWorthATable) {
          const std::vector<T>& table = changed_patterns<T>(kind_, large_);
          for (int64_t i = 0; i < count; ++i) values[i] = table[values[i].bits];
          return;
        }
      for (int64_t i = 0; i < count; ++i) values[i] = changed(values[i], kind_, large_);
    }
  });
}

std::vector<Datum> make_inputs(const Problem& problem, InputKind kind, uint64_t seed, int most_integer,
                               std::vector<Datum> spare) {
  Numbers numbers(seed);
  const KindChange change(problem, kind);
  std::vector<Datum> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorDesc& d = problem.inputs[i];
    if (d.dtype == DType::kUndefined) {
      inputs.emplace_back();
    } else if (d.constant) {
      inputs.emplace_back(*d.constant);
    } else {
      Tensor t = tensor_like(d, spare, i);
      draw(t, change, most_integer, numbers);
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
