// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/scalar.h"

namespace wootz {

/// One operand of a run over `count` elements: contiguous float32 (stride 1), or one value for all of them
/// (stride 0). Boolean operands are passed as 0.0f and 1.0f, float16 and bfloat16 ones converted.
struct TileOperand {
  const float* ptr = nullptr;  // may be null for a register that the program lists as an immediate
  int stride = 1;
};

/// A floating-point scalar program as vector code over contiguous runs: one vector loop per instruction over
/// tiles that stay in the L1 cache. Every register is float32 lanes (bool: 0 or 1; NaN and infinities as IEEE
/// says).
class TileProgram {
 public:
  /// Nothing when refusal() has a reason.
  static std::optional<TileProgram> compile(const ScalarProgram& program);
  /// Why a program cannot run here (integer lanes, float64, too many live values).
  static std::optional<std::string> refusal(const ScalarProgram& program);

  int operand_count() const { return operand_count_; }
  int result_count() const { return static_cast<int>(results_.size()); }

  /// Computes results[r][0..count) for each result r. A result may be the very memory of an operand (in
  /// place), not overlap it otherwise. Allocates nothing; safe from several threads at once.
  void run(const TileOperand* operands, float* const* results, int count) const;

 private:
  struct Ref {
    enum class Kind : uint8_t { kNone, kOperand, kConstant, kSlot, kResult };
    Kind kind = Kind::kNone;
    int16_t index = 0;
  };
  struct Step {
    int16_t kernel = 0;
    Ref in[3];
    Ref out;
    float alpha = 0, beta = 0;
  };
  friend class TileCompiler;
  void run_tile(const TileOperand* operands, float* const* results, int count) const;

  int operand_count_ = 0;
  int slots_ = 0;
  int tile_ = 0;  // elements per tile
  std::vector<float> constants_;
  std::vector<Step> steps_;
  std::vector<Ref> results_;
};

}  // namespace wootz
