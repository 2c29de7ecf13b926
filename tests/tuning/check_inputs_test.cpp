// SPDX-License-Identifier: Apache-2.0
#include "tuning/check_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/device_backend.h"
#include "device/region.h"
#include "ops/strided_copy.h"
#include "tuning/problem_buffers.h"

namespace wootz {
namespace {

/// A region of one input that the strides say how to store.
struct OneInput {
  std::shared_ptr<Graph> body;
  std::unique_ptr<Graph> outer;
  Problem problem;

  OneInput(DType dtype, const Dims& dims, Dims strides) {
    const Type type = Type::tensor(dtype, Shape(dims.begin(), dims.end()));
    body = std::make_shared<Graph>();
    body->add_output(body->add_node("Relu", {body->add_input("a", type)})->add_output("b", type));
    outer = std::make_unique<Graph>(body->shared_symbols());
    Node* region = outer->add_node(kRegionDomain, kRegionOp, {outer->add_input("x", type)});
    region->attributes.set("body", body);
    region->add_output("y", type);
    problem = {region,
               {{dtype, dims, std::move(strides), nullptr}},
               {{dtype, dims, contiguous_strides(dims), nullptr}}};
  }
};

constexpr InputKind kExtremes[] = {InputKind::kLarge, InputKind::kTiny, InputKind::kSparse,
                                   InputKind::kNonFinite};

/// Row-major doubles of what lies in strided storage.
std::vector<double> in_order(const TensorDesc& d, const void* stored) {
  Tensor t = Tensor::zeros(d.dtype, d.dims);
  copy_strided(d.dtype, d.dims, stored, d.strides, t.data(), contiguous_strides(d.dims));
  return t.to_doubles();
}

TEST(CheckInputs, ChangedWhereTheyLieTheyAreThoseThatAreMadeInOrder) {
  const Backend& host = *find_backend(BackendRegistry::global(), "reference");
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64}) {
    const OneInput one(dtype, {2, 19, 3000}, {57'000, 1, 19});  // channels last
    const auto stream = host.make_stream(1);
    ProblemBuffers buffers(one.problem, host);
    buffers.fill(make_inputs(one.problem, InputKind::kRandom, 3), *stream);
    std::vector<Datum> spare;
    for (InputKind kind : kExtremes) {
      SCOPED_TRACE(std::string(input_kind_name(kind)) + " " + std::string(dtype_name(dtype)));
      buffers.change_inputs({one.problem, kind});
      std::vector<Datum> made = make_inputs(one.problem, kind, 3, 1, std::move(spare));
      const std::vector<double> want = made[0].tensor.to_doubles(),
                                found = in_order(one.problem.inputs[0], buffers.input(0));
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(want[i] == found[i] || (std::isnan(want[i]) && std::isnan(found[i]))) << i;
      spare = std::move(made);
    }
  }
}

TEST(CheckInputs, KindsAreWhatTheySay) {
  const OneInput one(DType::kFloat32, {40'000}, {1});
  const auto share = [&](InputKind kind, auto test) {
    const std::vector<double> x = make_inputs(one.problem, kind, 5)[0].tensor.to_doubles();
    return double(std::count_if(x.begin(), x.end(), test)) / double(x.size());
  };
  EXPECT_EQ(share(InputKind::kRandom, [](double v) { return std::fabs(v) <= 1; }), 1);
  EXPECT_NEAR(share(InputKind::kLarge, [](double v) { return std::fabs(v) > 500; }), 0.5, 0.02);
  EXPECT_NEAR(share(InputKind::kSparse, [](double v) { return v == 0; }), 0.875, 0.02);
  EXPECT_NEAR(share(InputKind::kTiny, [](double v) { return v != 0 && std::fabs(v) < 0x1p-126; }), 0.125,
              0.02);
  EXPECT_EQ(share(InputKind::kTiny, [](double v) { return std::fabs(v) > 1e-12; }), 0);
  EXPECT_NEAR(share(InputKind::kNonFinite, [](double v) { return std::isnan(v); }), 1.0 / 64, 0.005);
  EXPECT_NEAR(share(InputKind::kNonFinite, [](double v) { return std::isinf(v); }), 2.0 / 64, 0.007);
}

}  // namespace
}  // namespace wootz
