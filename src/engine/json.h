// SPDX-License-Identifier: Apache-2.0
// The JSON of engine files.
#pragma once
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace wootz {

/// Integers are read from integers that they can hold, and from nothing else: the library itself converts any
/// number, and a float outside of an integer's range has no value in C++.
template <class T, class = void>
struct PlanSerializer : nlohmann::adl_serializer<T> {};

template <class T>
struct PlanSerializer<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  template <class J>
  static void to_json(J& json, T value) {
    nlohmann::to_json(json, value);
  }
  template <class J>
  static void from_json(const J& json, T& value) {
    const auto* natural = json.template get_ptr<const typename J::number_unsigned_t*>();
    const auto* integer = json.template get_ptr<const typename J::number_integer_t*>();
    if (natural ? std::in_range<T>(*natural) : integer && std::in_range<T>(*integer))
      value = natural ? static_cast<T>(*natural) : static_cast<T>(*integer);
    else
      throw Error(ErrorKind::kInvalidEngine,
                  "the plan contradicts itself: expected an integer of " + std::to_string(8 * sizeof(T)) +
                      " bits, found " + json.dump(-1, ' ', false, J::error_handler_t::replace).substr(0, 40));
  }
};

/// Throws Error(kInvalidEngine): what is wrong with the file, and what to do.
[[noreturn]] inline void damaged(const std::string& what) {
  throw Error(ErrorKind::kInvalidEngine, what + "; the engine file is damaged, build it again");
}

using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, double,
                                  std::allocator, PlanSerializer>;

}  // namespace wootz
