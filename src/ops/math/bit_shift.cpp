// SPDX-License-Identifier: Apache-2.0
// A negative shift, or one by the width or more, leaves what the sign alone gives (opset 28): 0, or -1 to the
// right.
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_bit_shift {
namespace {

bool to_the_left(const Node& node) {
  const std::string& direction = node.attributes.require<std::string>("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    throw Error(ErrorKind::kInvalidModel, "direction: expected LEFT or RIGHT, found " + direction);
  return direction == "LEFT";
}

void evaluate(EvalContext& c) {
  const bool left = to_the_left(c.node());
  evaluate_binary(c,
                  {.integer =
                       [&](int64_t a, int64_t b) {
                         if (b < 0 || b > 63) return left || a >= 0 ? int64_t{0} : int64_t{-1};
                         return left ? static_cast<int64_t>(static_cast<uint64_t>(a) << b) : a >> b;
                       },
                   .natural = [&](uint64_t a, uint64_t b) { return b > 63 ? 0
                                                                   : left ? a << b
                                                                          : a >> b; }});
}

std::optional<ScalarOp> scalar(const Node& node) {
  return to_the_left(node) ? ScalarOp::kShiftLeft : ScalarOp::kShiftRight;
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  for (const char* direction : {"LEFT", "RIGHT"}) {
    Attributes attributes;
    attributes.set("direction", std::string(direction));
    for (Sample& sample : binary_samples(kIntegerTypes, {-99, 99}, {0, 9}, false, attributes))
      list.push_back(sample);
  }
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op(
      "BitShift", "The bits of a moved by b places; to the right, signed dtypes keep their sign.", 2, 11);
  def.attributes = {{"direction", std::nullopt}};
  def.infer = infer_same<kIntegerTypes>;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_bit_shift
