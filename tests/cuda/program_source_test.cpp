// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/program_source.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

std::string statements(const std::vector<ScalarInstruction>& instructions) {
  const ScalarProgram program{{DType::kFloat32}, instructions, {static_cast<int>(instructions.size())}, {}};
  const std::vector<std::string> operands = {"x"};
  return program_text(program, operands).statements;
}

TEST(CudaProgramSource, ApproximatesWhatOnlyARoundingTo16BitsSees) {
  const ScalarInstruction gelu{ScalarOp::kGelu, DType::kFloat32, 0};
  const ScalarInstruction cast{ScalarOp::kCast, DType::kFloat16, 1};
  EXPECT_NE(statements({gelu, cast}).find("wz::fast::gelu"), std::string::npos);
  EXPECT_EQ(statements({gelu}).find("fast"), std::string::npos) << "a float32 result";
  const ScalarInstruction sum{ScalarOp::kAdd, DType::kFloat32, 1, 0};
  const ScalarInstruction cast_sum{ScalarOp::kCast, DType::kFloat16, 2};
  EXPECT_EQ(statements({gelu, sum, cast_sum}).find("fast"), std::string::npos) << "read by a sum in float32";
}

/// x / 0.5 rounded, plus 3, clipped to a byte; an instruction in front may be approximate.
TEST(CudaProgramSource, QuantizationsTakeNoDivision) {
  ScalarProgram program{{DType::kFloat32, DType::kFloat32, DType::kFloat32}, {}, {8}, {{1, 0.5}, {2, 3.0}}};
  program.instructions = {{ScalarOp::kGelu, DType::kFloat32, 0},
                          {ScalarOp::kDiv, DType::kFloat32, 3, 1},
                          {ScalarOp::kRound, DType::kFloat32, 4},
                          {ScalarOp::kAdd, DType::kFloat32, 5, 2},
                          {ScalarOp::kClip, DType::kFloat32, 6, -1, -1, 0, 255},
                          {ScalarOp::kCast, DType::kUint8, 7}};
  const std::vector<std::string> operands = {"x", "", ""};
  const std::string text = program_text(program, operands).statements;
  EXPECT_NE(text.find("wz::quantized<false, 3>(t3, 0x1p-1f, 0x1p+1f)"), std::string::npos) << text;
  EXPECT_NE(text.find("wz::fast::gelu"), std::string::npos) << text;
  program.instructions[4].beta = 127;  // not the whole range
  EXPECT_EQ(program_text(program, operands).statements.find("quantized"), std::string::npos);
}

}  // namespace
}  // namespace wootz
