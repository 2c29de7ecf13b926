// SPDX-License-Identifier: Apache-2.0
// If: the outputs of then_branch where cond is true, else those of else_branch. The branches may give other
// shapes.
#include "ops/body.h"
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_if {
namespace {

/// Infers a branch; false when it cannot run with these shapes, which is no error as long as it is not taken.
bool infer_branch(Graph& branch) {
  try {
    infer_graph(branch);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidModel) throw;
    return false;
  }
}

void set_from_branch(InferContext& ctx, size_t i, const Value* value) {
  ctx.set_output(i, value->type);
  keep_contents(ctx, i, value->contents);
}

void infer(InferContext& ctx) {
  Graph &then_branch = body_of(ctx.node(), "then_branch"), &else_branch = body_of(ctx.node(), "else_branch");
  const size_t count = ctx.node().outputs().size();
  ctx.check(then_branch.outputs().size() == count && else_branch.outputs().size() == count,
            "expected both branches to have " + std::to_string(count) + " outputs, found " +
                std::to_string(then_branch.outputs().size()) + " and " +
                std::to_string(else_branch.outputs().size()));
  const auto cond = scalar_int(ctx, 0);
  const bool then_runs = infer_branch(then_branch), else_runs = infer_branch(else_branch);
  for (size_t i = 0; i < count; ++i) {
    const Value *a = then_branch.outputs()[i], *b = else_branch.outputs()[i];
    if (cond) {
      set_from_branch(ctx, i, *cond ? a : b);
    } else if (!then_runs || !else_runs) {
      set_from_branch(ctx, i, then_runs ? a : b);
    } else {
      ctx.set_output(i, joined(ctx, a->type, b->type));
      if (a->contents && a->contents == b->contents) keep_contents(ctx, i, a->contents);
    }
  }
}

void evaluate(EvalContext& ctx) {
  const Tensor& cond = ctx.input(0);
  ctx.check(cond.dtype() == DType::kBool && cond.size() == 1, "expected cond to be one bool");
  const Graph& branch = body_of(ctx.node(), *cond.as<bool>() ? "then_branch" : "else_branch");
  std::vector<Datum> results = run_body(ctx, branch, {});
  for (size_t i = 0; i < results.size(); ++i) ctx.set_output(i, std::move(results[i]));
}

GraphPtr constant_branch(Tensor value) {
  auto graph = std::make_shared<Graph>();
  Type type = Type::tensor(value.dtype(), Shape(value.dims().begin(), value.dims().end()));
  Node* node = graph->add_node("Constant", {});
  node->attributes.set("value", std::move(value));
  graph->add_output(node->add_output("result", std::move(type)));
  return graph;
}

std::vector<Sample> samples() {
  using namespace sample;
  auto branches = [](Tensor a, Tensor b) {
    return std::vector<std::pair<std::string, Attribute>>{{"then_branch", constant_branch(std::move(a))},
                                                          {"else_branch", constant_branch(std::move(b))}};
  };
  const Tensor yes = bools({}, {1}), no = bools({}, {0});
  return {make("then", {yes}, branches(ints({1, 2}), ints({3, 4}))),
          make("else", {no}, branches(ints({1, 2}), ints({3, 4}))),
          make("other length", {no}, branches(ints({1, 2}), ints({3}))),
          make("other rank", {yes}, branches(floats({2, 1}, {1, 2}), floats({}, {3}))),
          make("one-element condition", {bools({1}, {1})}, branches(ints({1}), ints(std::vector<int64_t>{}))),
          make("strings", {no}, branches(counting(DType::kString, {1}), counting(DType::kString, {2})))};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "If";
  def.doc = "The outputs of then_branch where cond is true, else those of else_branch.";
  def.min_inputs = def.max_inputs = 1;
  def.max_outputs = -1;
  def.attributes = {{"then_branch", std::nullopt}, {"else_branch", std::nullopt}};
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_if
