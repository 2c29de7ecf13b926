// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/scalar.h"

namespace wootz {

/// A scalar program with integer or float64 registers, one loop per instruction over short tiles. Float
/// registers share the vector loops of tile programs; integers are exact int64 lanes brought back to their
/// dtype after each instruction.
class LaneProgram {
 public:
  static constexpr int kTile = 64;
  static constexpr int kMaxRegisters = 128;

  /// Why a program cannot run here.
  static std::optional<std::string> refusal(const ScalarProgram& program);
  explicit LaneProgram(ScalarProgram program) : program_(std::move(program)) {}

  /// Up to kTile elements. Operands and results are elements of the program's dtypes, strides apart.
  void run_tile(const void* const* operands, const int64_t* operand_strides, void* const* results,
                const int64_t* result_strides, int count) const;

 private:
  ScalarProgram program_;
};

}  // namespace wootz
