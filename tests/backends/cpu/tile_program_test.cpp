// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/tile_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/cpu/pointwise/vector_target.h"

namespace wootz {
namespace {

using S = ScalarOp;
constexpr DType kF = DType::kFloat32;

/// Random operands, every stride pattern, sizes around vectors and tiles, against the scalar interpreter.
void check(const ScalarProgram& program, bool in_place = false) {
  const std::optional<TileProgram> tiles = TileProgram::compile(program);
  ASSERT_TRUE(tiles) << *TileProgram::refusal(program);
  const size_t operands = program.operands.size();
  for (int count : {1, 3, 16, 17, 64, 100, 1024, 3001})
    for (unsigned pattern = in_place ? 1 : 0; pattern < (1u << operands); pattern += in_place ? 2 : 1) {
      std::mt19937 generator(7);
      std::uniform_real_distribution<float> uniform(-3, 3);
      std::vector<std::vector<float>> data(operands);
      std::vector<TileOperand> in;
      for (size_t k = 0; k < operands; ++k) {
        for (int i = 0; i < count; ++i)
          data[k].push_back(program.operands[k] == DType::kBool ? uniform(generator) > 0
                                                                : uniform(generator));
        in.push_back({data[k].data(), static_cast<int>(pattern >> k & 1)});
      }
      const std::vector<std::vector<float>> before = data;
      std::vector<std::vector<float>> results(program.results.size(),
                                              std::vector<float>(static_cast<size_t>(count)));
      std::vector<float*> out;
      for (auto& r : results) out.push_back(r.data());
      if (in_place) out.back() = data[0].data();
      tiles->run(in.data(), out.data(), count);
      for (int i = 0; i < count; ++i) {
        std::vector<ScalarValue> values;
        for (size_t k = 0; k < operands; ++k) {
          const float x = before[k][static_cast<size_t>(i) * (pattern >> k & 1)];
          values.push_back({x, static_cast<int64_t>(x)});
        }
        for (const auto& [reg, value] : program.immediates) values[static_cast<size_t>(reg)] = {value, 0};
        const std::vector<ScalarValue> expected = run_scalar(program, values);
        for (size_t r = 0; r < results.size(); ++r)
          ASSERT_NEAR(out[r][i], expected[r].real, 2e-6 * (1 + std::fabs(expected[r].real)))
              << "result " << r << " element " << i << " of " << count << " pattern " << pattern;
      }
    }
}

TEST(TileProgram, PairsBecomeOneLoop) {
  check({{kF, kF, kF}, {{S::kMul, kF, 0, 1}, {S::kAdd, kF, 3, 2}, {S::kRelu, kF, 4}}, {5}, {}});
  check({{kF, kF}, {{S::kAdd, kF, 0, 1}, {S::kRelu, kF, 2}}, {3}, {}});
  check({{kF, kF}, {{S::kSigmoid, kF, 0}, {S::kMul, kF, 2, 1}}, {3}, {}});
  check({{kF}, {{S::kSigmoid, kF, 0}, {S::kMul, kF, 0, 1}}, {2}, {}});
  check({{kF, kF}, {{S::kAdd, kF, 0, 1}, {S::kClip, kF, 2, -1, -1, 0, 2}}, {3}, {}});
  check({{kF, kF}, {{S::kClip, kF, 0, 1, -1, 0, 2}}, {2}, {}});
}

TEST(TileProgram, SharedValuesAreNotMerged) {
  check({{kF, kF}, {{S::kMul, kF, 0, 1}, {S::kAdd, kF, 2, 2}, {S::kSub, kF, 3, 2}}, {4}, {}});
  check({{kF, kF}, {{S::kMul, kF, 0, 1}, {S::kAdd, kF, 2, 0}}, {3, 2}, {}});
}

TEST(TileProgram, SeveralResultsAndCopies) {
  check({{kF, kF}, {{S::kAdd, kF, 0, 1}, {S::kMul, kF, 2, 1}}, {2, 3, 0, 2}, {}});
  check({{kF}, {}, {0}, {}});
}

TEST(TileProgram, ImmediatesAndPowers) {
  for (double exponent : {2.0, 3.0, 0.5, -1.0, 1.7})
    check({{kF, kF}, {{S::kAbs, kF, 0}, {S::kPow, kF, 2, 1}}, {3}, {{1, exponent}}});
  check({{kF, kF, kF}, {{S::kClip, kF, 0, 1, 2}}, {3}, {{1, -1.0}, {2, 1.0}}});
}

TEST(TileProgram, ComparisonsAndWhere) {
  check({{kF, kF},
         {{S::kLess, DType::kBool, 0, 1}, {S::kNot, DType::kBool, 2}, {S::kWhere, kF, 3, 0, 1}},
         {4},
         {}});
  check({{DType::kBool, kF, kF}, {{S::kWhere, kF, 0, 1, 2}}, {3}, {}});
}

TEST(TileProgram, InPlace) {
  check({{kF, kF, kF}, {{S::kAdd, kF, 0, 1}, {S::kMul, kF, 3, 2}, {S::kAdd, kF, 4, 0}}, {5}, {}}, true);
  check({{kF, kF}, {{S::kAdd, kF, 0, 1}, {S::kMul, kF, 2, 0}}, {2, 3}, {}}, true);
}

TEST(TileProgram, ManyLiveValues) {
  ScalarProgram program{{kF}, {}, {}, {}};
  for (int i = 0; i < 20; ++i) program.instructions.push_back({S::kSin, kF, i});
  for (int i = 1; i <= 20; ++i)
    program.instructions.push_back({S::kAdd, kF, i, i == 1 ? 0 : 19 + i, -1, 0, 0});
  program.results = {40};
  check(program);
}

TEST(TileProgram, RefusesInWords) {
  const auto refusal = TileProgram::refusal({{DType::kInt64}, {{S::kNeg, DType::kInt64, 0}}, {1}, {}});
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->find("int64"), std::string::npos);
}

TEST(TileProgram, EveryInstructionSet) {
  const VectorTarget best = vector_target();
  for (VectorTarget target : {VectorTarget::kSse4, VectorTarget::kAvx2})
    if (set_vector_target(target))
      check({{kF, kF, kF},
             {{S::kMul, kF, 0, 1}, {S::kAdd, kF, 3, 2}, {S::kGelu, kF, 4}, {S::kTanh, kF, 5}},
             {6},
             {}});
  set_vector_target(best);
}

}  // namespace
}  // namespace wootz
