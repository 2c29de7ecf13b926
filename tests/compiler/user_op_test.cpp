// SPDX-License-Identifier: Apache-2.0
// Operators of the caller, by the C interface: a shape function, a reference and a kernel.
#include <wootz/c_api.h>

#include <cstring>

#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

/// y = x shifted by `steps` along the last axis, zeros from the left; its dims are those of x, the last one
/// longer.
wootz_status infer_shift(wootz_op_call* call, void*) {
  wootz_tensor x;
  if (wootz_op_input(call, 0, &x) != WOOTZ_OK) return WOOTZ_INTERNAL;
  const int64_t steps = wootz_op_int(call, "steps", 1);
  if (steps < 0) {
    wootz_op_fail(call, "steps: expected a positive number");
    return WOOTZ_INVALID_MODEL;
  }
  const std::string last = std::string(wootz_op_input_dim(call, 0, 1)) + " + " + std::to_string(steps);
  const char* dims[] = {wootz_op_input_dim(call, 0, 0), last.c_str()};
  return wootz_op_set_output(call, 0, x.dtype, 2, dims);
}

void shift(const wootz_tensor& x, const wootz_tensor& y) {
  const int64_t rows = x.dims[0], from = x.dims[1], to = y.dims[1];
  auto* out = static_cast<float*>(y.data);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < to - from; ++i) out[r * to + i] = 0;
    for (int64_t i = 0; i < from; ++i)
      out[r * to + to - from + i] = static_cast<const float*>(x.data)[r * from + i];
  }
}

wootz_status evaluate_shift(wootz_op_call* call, void* user) {
  ++*static_cast<int*>(user);
  wootz_tensor x, y;
  if (wootz_op_input(call, 0, &x) != WOOTZ_OK) return WOOTZ_INTERNAL;
  y = x;
  y.dims[1] += wootz_op_int(call, "steps", 1);
  if (wootz_op_output(call, 0, &y) != WOOTZ_OK) return WOOTZ_INTERNAL;
  shift(x, y);
  return WOOTZ_OK;
}

wootz_status run_shift(wootz_op_call* call, void*) {
  wootz_tensor x, y;
  if (wootz_op_input(call, 0, &x) != WOOTZ_OK || wootz_op_output(call, 0, &y) != WOOTZ_OK)
    return WOOTZ_INTERNAL;
  shift(x, y);
  return WOOTZ_OK;
}

int evaluations = 0;

wootz_op shift_op(const char* name, wootz_op_function kernel) {
  static const char* const attributes[] = {"steps"};
  return {"test.c", name, 1, 1, 1, attributes, 1, infer_shift, evaluate_shift, kernel, &evaluations};
}

constexpr const char* kModel = R"(graph(%x: float32[n,w]) -> (%y) {
%s = test.c::OP(%x) {steps=2}
%y = Neg(%s)
})";

std::string model_of(const char* op) {
  std::string text = kModel;
  return text.replace(text.find("OP"), 2, op);
}

TEST(UserOp, ReferenceAloneIsEnough) {
  const wootz_op op = shift_op("Slow", nullptr);
  ASSERT_EQ(wootz_add_op(&op), WOOTZ_OK) << wootz_last_error();
  expect_matches_reference(model_of("Slow"), compile_text(model_of("Slow")), {ramp({2, 3})});
  EXPECT_GT(evaluations, 0);
}

TEST(UserOp, KernelRunsAndShapesVary) {
  const wootz_op op = shift_op("Fast", run_shift);
  ASSERT_EQ(wootz_add_op(&op), WOOTZ_OK) << wootz_last_error();
  const auto engine = compile_text(model_of("Fast"));
  bool chosen = false;
  for (const StepRecord& step : engine->steps)
    for (const TacticChoice& choice : step.choices) chosen |= choice.tactic_id == "user.test.c.Fast.kernel";
  EXPECT_TRUE(chosen);
  for (const Dims& dims : {Dims{2, 3}, Dims{1, 1}, Dims{4, 7}})
    expect_matches_reference(model_of("Fast"), engine, {ramp(dims)});
}

TEST(UserOp, RefusalsAreTold) {
  wootz_op op = shift_op("Refused", nullptr);
  ASSERT_EQ(wootz_add_op(&op), WOOTZ_OK) << wootz_last_error();
  EXPECT_EQ(wootz_add_op(&op), WOOTZ_INVALID_ARGUMENT);
  op.domain = "";
  op.name = "NoDomain";
  EXPECT_EQ(wootz_add_op(&op), WOOTZ_INVALID_ARGUMENT);
  std::string text = model_of("Refused");
  text.replace(text.find("=2"), 2, "=-2");
  try {
    compile_text(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("expected a positive number"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace wootz::compile_tests
