// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/backends/strided_case.h"

namespace wootz {
namespace {

constexpr Storage kStorages[] = {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed,
                                 Storage::kPadded};
using P = AttributePair;

TEST(LayerNorm, AxesLayoutsAndTails) {
  for (int64_t axis : {-1, 1})
    for (Storage s : kStorages) {
      const Dims inner = axis == -1 ? Dims{50} : Dims{7, 50};
      StridedCase()
          .input(random_tensor(DType::kFloat32, {5, 7, 50}), s)
          .constant(random_tensor(DType::kFloat32, inner, 2))
          .constant(random_tensor(DType::kFloat32, inner, 3))
          .node("LayerNormalization", {"0", "1", "2"}, {"y"}, attributes_of(P("axis", axis)))
          .result("y", s)
          .tolerance(1e-5, 1e-5)
          .expect("cpu.layer_norm.rows");
    }
  StridedCase()
      .input(random_tensor(DType::kFloat32, {5, 7, 64}))
      .constant(random_tensor(DType::kFloat32, {64}, 2))
      .input(random_tensor(DType::kFloat32, {5, 7, 64}, 4))
      .node("LayerNormalization", {"0", "1"}, {"n"})
      .node("Add", {"n", "2"}, {"y"})
      .result("y")
      .tolerance(1e-5, 1e-5)
      .expect("cpu.layer_norm.rows");
  StridedCase()
      .input(random_tensor(DType::kFloat16, {5, 64}))
      .constant(random_tensor(DType::kFloat16, {64}, 2))
      .constant(random_tensor(DType::kFloat16, {64}, 3))
      .node("LayerNormalization", {"0", "1", "2"}, {"y"})
      .result("y")
      .tolerance(4e-3, 4e-3)
      .expect("cpu.layer_norm.rows");
}

TEST(LayerNorm, FarFromZero) {
  Tensor x = random_tensor(DType::kFloat32, {4, 256});
  for (int64_t i = 0; i < x.size(); ++i) x.as<float>()[i] += 1000;
  StridedCase()
      .input(x)
      .constant(random_tensor(DType::kFloat32, {256}, 2))
      .node("LayerNormalization", {"0", "1"}, {"y"})
      .result("y")
      .tolerance(1e-3, 1e-3)
      .expect("cpu.layer_norm.rows");
}

TEST(ChannelNorm, InstanceAndBatch) {
  for (Storage s : {Storage::kRowMajor, Storage::kChannelsLast})
    for (int64_t channels : {3, 32, 70}) {
      const auto row = [&](int seed) { return random_tensor(DType::kFloat32, {channels}, seed); };
      Tensor variance = row(5);
      for (int64_t i = 0; i < channels; ++i)
        variance.as<float>()[i] = std::fabs(variance.as<float>()[i]) + 0.1f;
      StridedCase()
          .input(random_tensor(DType::kFloat32, {2, channels, 30, 31}), s)
          .constant(row(2))
          .constant(row(3))
          .node("InstanceNormalization", {"0", "1", "2"}, {"y"})
          .result("y", s)
          .tolerance(2e-5, 2e-5)
          .expect("cpu.channel_norm.two_pass");
      StridedCase()
          .input(random_tensor(DType::kFloat32, {2, channels, 9, 10}), s)
          .constant(row(2))
          .constant(row(3))
          .constant(row(4))
          .constant(variance)
          .node("BatchNormalization", {"0", "1", "2", "3", "4"}, {"y"})
          .result("y", s)
          .tolerance(2e-5, 2e-5)
          .expect("cpu.channel_norm.two_pass");
    }
}

}  // namespace
}  // namespace wootz
