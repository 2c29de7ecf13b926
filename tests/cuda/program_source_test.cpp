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

}  // namespace
}  // namespace wootz
