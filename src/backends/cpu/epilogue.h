// SPDX-License-Identifier: Apache-2.0
// What happens to the sums of a contraction before they leave the cache: bias, residual, activation, any
// pointwise tail.
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/pointwise/tile_program.h"
#include "device/region.h"

namespace wootz {

/// An input of a region as a matrix over the contraction's output: rows are all output dimensions but one,
/// columns are that one (channels of a convolution, N of a product). A stride is 0 where the operand is
/// broadcast.
struct EpilogueOperand {
  int input = -1;                          // of the region; -1: none
  std::shared_ptr<const Tensor> constant;  // instead of the run's pointer
  DType dtype = DType::kFloat32;           // or bool, float16, bfloat16
  Dims row_strides;                        // one for each of EpiloguePlan::row_dims_
  int64_t column_stride = 0;

  /// The tail cannot read the operand where it lies.
  bool gathers() const {
    return input >= 0 && (dtype != DType::kFloat32 || (column_stride != 0 && column_stride != 1));
  }
};

/// The epilogue bound to one run's memory.
struct Epilogue;

/// The epilogue of a problem, made once per kernel.
class EpiloguePlan {
 public:
  static constexpr int kMaxOperands = 16;

  /// Fills the plan, or tells why this tail cannot run here. `main_dims` are the dims of the main node's
  /// output, `column_axis` its column dimension, `bias` the main node's own bias among the body's inputs (or
  /// null).
  std::optional<std::string> prepare(const Problem& problem, const ContractionView& view,
                                     const Dims& main_dims, int column_axis, const Value* bias);

  Epilogue bind(const LaunchArgs& args) const noexcept;
  /// True when bias, residual and clamp say it all: kernels do that in registers.
  bool in_registers() const { return in_registers_; }
  bool has_addend() const { return addend_.input >= 0; }
  bool has_bias() const { return bias_.input >= 0; }
  bool has_own_bias() const { return own_bias_.input >= 0; }
  float low() const { return low_; }
  float high() const { return high_; }
  /// Whether Epilogue::apply_whole can run: for libraries that do less in registers than our kernels.
  bool has_program() const { return in_registers_ ? tail_.has_value() || is_empty_ : true; }

 private:
  friend struct Epilogue;
  std::optional<std::string> make_operand(const Problem& problem, int input, const Dims& main_dims,
                                          size_t column_axis, EpilogueOperand& operand) const;
  bool fold_into_registers(const ScalarProgram& program);
  void merge_rows();

  Dims row_dims_;                             // merged where all operands allow it
  EpilogueOperand own_bias_, bias_, addend_;  // of the main node; with the tail's folded in; the residual
  bool in_registers_ = true, is_empty_ = true, gathers_ = false;
  float low_ = -std::numeric_limits<float>::infinity();
  float high_ = std::numeric_limits<float>::infinity();
  std::optional<TileProgram> tail_;
  std::vector<EpilogueOperand> operands_;  // of tail_; entry 0 is the tile
};

struct Epilogue {
  const EpiloguePlan* plan = nullptr;
  const float* own_bias = nullptr;  // the main node's bias, by column, or null
  const float* bias = nullptr;      // by column, or null
  const float* addend = nullptr;    // element (row, column) at addend[row * ld_addend + column], or null
  int64_t ld_addend = 0;
  float low = 0, high = 0;
  bool has_tail = false;
  const void* operands[EpiloguePlan::kMaxOperands] = {};

  /// Runs the tail in place on a tile whose first element is output element (row, column). Nothing to do
  /// without one.
  void apply(float* tile, int64_t row, int64_t column, int64_t rows, int64_t columns,
             int64_t ld) const noexcept {
    if (has_tail) apply_whole(tile, row, column, rows, columns, ld);
  }
  /// The same for a tile that has had nothing but own_bias: also what our kernels do in registers.
  void apply_whole(float* tile, int64_t row, int64_t column, int64_t rows, int64_t columns,
                   int64_t ld) const noexcept;

 private:
  void apply_row(float* run, int64_t row, int64_t column, int64_t count) const noexcept;
};

/// The distance between consecutive rows of `desc` when all dimensions but `column_axis` are walked in order
/// and columns are adjacent; nothing when there is no single distance.
std::optional<int64_t> row_pitch(const TensorDesc& desc, int column_axis);

}  // namespace wootz
