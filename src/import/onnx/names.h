// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

namespace wootz::onnx {

bool is_utf8(std::string_view text);

/// Hands out value names that are unique in the whole model, so that inlined functions and branches with
/// equal names stay apart.
class UniqueNames {
 public:
  void reserve(std::string_view name) { used_.emplace(name, 1); }
  /// `wanted`, or `wanted` with a number behind it.
  std::string make(const std::string& wanted);

 private:
  std::unordered_map<std::string, int> used_;  // name -> last number tried
};

}  // namespace wootz::onnx
