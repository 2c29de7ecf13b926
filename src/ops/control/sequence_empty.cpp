// SPDX-License-Identifier: Apache-2.0
// SequenceEmpty: a sequence without tensors, of the element type `dtype`.
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/sequence.h"

namespace wootz::op_sequence_empty {
namespace {

struct SequenceEmptyAttributes {
  int64_t dtype = 1;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
  }
};

template <class Context>
DType checked_dtype(const Context& ctx) {
  const int64_t dtype = ctx.template attributes_as<SequenceEmptyAttributes>().dtype;
  ctx.check(dtype > 0 && dtype < kDTypeCount,
            "expected an element type number as dtype, found " + std::to_string(dtype));
  return static_cast<DType>(dtype);
}

void infer(InferContext& ctx) { ctx.set_output(0, Type::sequence(Type::tensor(checked_dtype(ctx)))); }

void evaluate(EvalContext& ctx) { ctx.set_output(0, sequence_of({}, checked_dtype(ctx))); }

std::vector<Sample> samples() {
  using namespace sample;
  std::vector<Sample> all{make("default", {})};
  for (int64_t dtype : {7, 8, 9, 10})
    all.push_back(make("dtype " + std::to_string(dtype), {}, {{"dtype", dtype}}));
  return all;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SequenceEmpty";
  def.doc = "A sequence without tensors, of the element type `dtype`.";
  def.since = 11;
  def.attributes = attribute_specs<SequenceEmptyAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_sequence_empty
