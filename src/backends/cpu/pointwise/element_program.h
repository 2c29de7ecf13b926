// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/pointwise/lane_program.h"
#include "backends/cpu/pointwise/tile_program.h"

namespace wootz {

/// A scalar program over runs of elements of any dtypes and strides: float programs as tile programs with
/// conversion and gathering at the edges of tiles, others as lane programs.
class ElementProgram {
 public:
  static constexpr int kMaxOperands = 32;  // results too

  /// Why a program cannot run here.
  static std::optional<std::string> refusal(const ScalarProgram& program);
  explicit ElementProgram(const ScalarProgram& program);

  /// Strides in elements; 0 repeats one element. A result may be the very memory of an operand with the same
  /// stride.
  void run(const void* const* operands, const int64_t* operand_strides, void* const* results,
           const int64_t* result_strides, int64_t count) const;
  /// A rough guess for one thread, for deciding on forks.
  double seconds_per_element() const { return seconds_per_element_; }
  bool is_float() const { return tiles_.has_value(); }
  const TileProgram& tiles() const { return *tiles_; }

 private:
  void run_tiles(const void* const* operands, const int64_t* operand_strides, void* const* results,
                 const int64_t* result_strides, int64_t count) const;

  std::vector<DType> operands_, results_;
  std::optional<TileProgram> tiles_;
  std::optional<LaneProgram> lanes_;
  double seconds_per_element_ = 0;
};

}  // namespace wootz
