// SPDX-License-Identifier: Apache-2.0
#include "ops/canonicalize.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_prelu {
namespace {

constexpr DTypeSet kTypes =
    kRealTypes | DTypeSet{DType::kUint32, DType::kUint64, DType::kInt32, DType::kInt64};

/// Before opset 7 a slope of rank 1 holds one number a channel (dimension 1).
void canonicalize(CanonicalizeContext& c) {
  Node& node = c.node();
  node.attributes.erase("consumed_inputs");
  if (c.opset() >= 7 || !node.input(0) || !node.input(1)) return;
  const Type &x = node.input(0)->type, &slope = node.input(1)->type;
  if (!slope.has_rank() || slope.rank() != 1 || (*slope.shape)[0].is(1)) return;
  if (!x.has_rank()) c.fail("expected an input of known rank; run shape inference on the model");
  if (x.rank() > 2) widen_operand(c, x.rank() - 2);
}

void evaluate(EvalContext& c) {
  evaluate_binary(c, {
                         .real = [](double a, double slope) { return a < 0 ? slope * a : a; },
                         .integer =
                             [](int64_t a, int64_t slope) {
                               return a < 0 ? static_cast<int64_t>(static_cast<uint64_t>(a) *
                                                                   static_cast<uint64_t>(slope))
                                            : a;
                             },
                         .natural = [](uint64_t a, uint64_t) { return a; },
                     });
}

std::vector<Sample> samples() { return binary_samples(kTypes, {-4, 4}, {-2, 2}); }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("PRelu", "x where x >= 0, else slope x.", 2, 1);
  def.canonicalize = canonicalize;
  def.infer = infer_same<kTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kPrelu>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_prelu
