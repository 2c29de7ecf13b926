// SPDX-License-Identifier: Apache-2.0
// Loop: runs body(i, cond, states...) -> (cond, states..., scan outputs...) while i < M and cond; each scan
// output is stacked along a new first axis. A missing M is no limit, a missing cond starts true; the body's
// cond always counts. A state may start as an optional and go on as what that holds.
#include "ops/body.h"
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_loop {
namespace {

/// True where the body's condition output is its condition input or the constant true.
bool never_stops(const Graph& body) {
  const Value* cond = body.outputs()[0];
  while (cond->producer() && cond->producer()->is("Identity")) cond = cond->producer()->input(0);
  if (cond == body.inputs()[1]) return true;
  const Tensor* value = cond->constant.get();
  if (!value && cond->producer() && cond->producer()->is("Constant"))
    if (const Attribute* a = cond->producer()->attributes.find("value")) value = std::get_if<Tensor>(a);
  return value && value->dtype() == DType::kBool && value->size() == 1 && *value->as<bool>();
}

Dim trip_count(InferContext& ctx, const Graph& body) {
  const auto limit = ctx.has_input(0) ? small_contents(ctx, 0) : std::nullopt;
  const bool starts = !ctx.has_input(1) || scalar_int(ctx, 1).value_or(0) != 0;
  if (!limit || limit->size() != 1) return ctx.unknown("trips");
  const Dim trips = ctx.symbols().max(limit->front(), 0);
  return starts && never_stops(body) ? trips : ctx.unknown("trips", known_upper(ctx.symbols(), trips));
}

bool is_optional(const Value& v) { return v.type.kind == Type::Kind::kOptional; }

void infer(InferContext& ctx) {
  Graph& body = body_of(ctx.node(), "body");
  const size_t count = ctx.input_count() < 2 ? 0 : ctx.input_count() - 2;
  ctx.check(body.inputs().size() == count + 2 && body.outputs().size() >= count + 1,
            "expected a body of " + std::to_string(count + 2) + " inputs and at least " +
                std::to_string(count + 1) + " outputs, found " + std::to_string(body.inputs().size()) +
                " and " + std::to_string(body.outputs().size()));
  ctx.check(ctx.node().outputs().size() <= body.outputs().size() - 1,
            "expected at most " + std::to_string(body.outputs().size() - 1) + " outputs");
  body.inputs()[0]->type = Type::tensor(DType::kInt64, Shape{});
  body.inputs()[1]->type = Type::tensor(DType::kBool, Shape{});
  std::vector<Type> initial;
  for (size_t i = 0; i < count; ++i) initial.push_back(ctx.input(i + 2));
  const std::vector<Type> states = infer_carried(ctx, body, 2, 1, initial);
  for (size_t i = 0; i < count; ++i) {
    const bool fills = states[i].kind == Type::Kind::kOptional && !is_optional(*body.outputs()[i + 1]);
    ctx.set_output(i, fills ? seen_from_outside(ctx, *states[i].element)
                            : seen_from_outside(ctx, states[i], &initial[i]));
  }
  const Dim trips = trip_count(ctx, body);
  for (size_t i = count; i + 1 < body.outputs().size(); ++i) {
    Type type = seen_from_outside(ctx, body.outputs()[i + 1]->type);
    if (type.shape) type.shape->insert(type.shape->begin(), trips);
    ctx.set_output(i, std::move(type));
  }
}

bool truth(const EvalContext& ctx, const Tensor& cond) {
  ctx.check(cond.dtype() == DType::kBool && cond.size() == 1, "expected the condition to be one bool");
  return *cond.as<bool>();
}

void evaluate(EvalContext& ctx) {
  const Graph& body = body_of(ctx.node(), "body");
  int64_t limit = INT64_MAX;
  if (ctx.has_input(0)) {
    ctx.check(ctx.input(0).size() == 1, "expected M to be one integer");
    limit = ctx.input(0).to_int64s()[0];
  }
  bool keep_going = !ctx.has_input(1) || truth(ctx, ctx.input(1));
  std::vector<Datum> carried(2);
  for (size_t i = 2; i < ctx.input_count(); ++i) carried.push_back(ctx.has_input(i) ? ctx.datum(i) : Datum{});
  const size_t states = carried.size() - 2;
  ctx.check(body.outputs().size() > states,
            "expected a body with at least " + std::to_string(states + 1) + " outputs");
  std::vector<Stacked> stacked(body.outputs().size() - 1 - states);
  if ((limit <= 0 || !keep_going) && !stacked.empty()) {
    carried[0] = Tensor::scalar_int64(0);
    carried[1] = sample::bools({}, {1});
    set_examples(ctx, body, carried, states + 1, stacked);
  }
  for (int64_t trip = 0; trip < limit && keep_going; ++trip) {
    carried[0] = Tensor::scalar_int64(trip);
    carried[1] = sample::bools({}, {1});
    std::vector<Datum> results = run_body(ctx, body, carried);
    keep_going = truth(ctx, results[0].tensor);
    for (size_t i = 0; i < states; ++i) carried[i + 2] = std::move(results[i + 1]);
    for (size_t i = 0; i < stacked.size(); ++i) stacked[i].push(std::move(results[states + 1 + i].tensor));
  }
  for (size_t i = 0; i < states; ++i) {
    Datum& state = carried[i + 2];
    // An optional that the body turns into what it holds.
    if (state.kind == Datum::Kind::kOptional && !is_optional(*body.outputs()[i + 1])) {
      ctx.check(!state.elements.empty(),
                "expected a trip that fills the optional state " + std::to_string(i) + ", found none");
      state = Datum(state.elements[0]);
    }
    ctx.set_output(i, std::move(state));
  }
  for (size_t i = 0; i < stacked.size(); ++i)
    if (ctx.wants_output(states + i))
      ctx.set_output(states + i, stacked[i].stack(ctx, body.outputs()[states + 1 + i]->type, 0, false));
}

/// Concatenates the trip number to the state and hands out the state's size; stops before trip `stop`.
GraphPtr growing_body() {
  auto g = std::make_shared<Graph>();
  Value* trip = g->add_input("trip", Type::tensor(DType::kInt64, Shape{}));
  Value* cond = g->add_input("cond", Type::tensor(DType::kBool, Shape{}));
  Value* state = g->add_input("state", Type::tensor(DType::kInt64));
  Value* zero = g->add_constant("zero", Tensor::int64s(std::vector<int64_t>{0}));
  Value* row = g->add_node("Unsqueeze", {trip, zero})->add_output("row", Type{});
  Node* concat = g->add_node("Concat", {state, row});
  concat->attributes.set("axis", int64_t{0});
  Value* longer = concat->add_output("longer", Type{});
  g->add_output(cond);
  g->add_output(longer);
  g->add_output(g->add_node("Size", {longer})->add_output("size", Type{}));
  return g;
}

/// Shapes stay: the state is transposed, and copied out.
GraphPtr transposing_body() {
  auto g = std::make_shared<Graph>();
  g->add_input("trip", Type::tensor(DType::kInt64, Shape{}));
  Value* cond = g->add_input("cond", Type::tensor(DType::kBool, Shape{}));
  Value* state = g->add_input("state", Type::tensor(DType::kFloat32));
  Value* turned = g->add_node("Transpose", {state})->add_output("turned", Type{});
  g->add_output(cond);
  g->add_output(turned);
  g->add_output(g->add_node("Flatten", {turned})->add_output("flat", Type{}));
  return g;
}

std::vector<Sample> samples() {
  using namespace sample;
  auto body = [](GraphPtr g) {
    return std::vector<std::pair<std::string, Attribute>>{{"body", std::move(g)}};
  };
  const Tensor three = Tensor::scalar_int64(3), yes = bools({}, {1}), no = bools({}, {0});
  const Tensor square = counting(DType::kFloat32, {2, 2});
  return {make("growing state", {three, Datum{}, ints({7})}, body(growing_body()), 2),
          make("no trip", {Tensor::scalar_int64(0), yes, ints({7})}, body(growing_body()), 2),
          make("false from the start", {three, no, ints({7})}, body(growing_body()), 2),
          make("negative limit", {Tensor::scalar_int64(-2), Datum{}, ints({7})}, body(growing_body()), 2),
          make("one-element limit", {ints({2}), Datum{}, ints({7})}, body(growing_body()), 2),
          make("stable shapes", {three, yes, square}, body(transposing_body()), 2),
          make("only the state", {three, yes, square}, body(transposing_body()), 1)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Loop";
  def.doc =
      "Runs body(i, cond, states...) -> (cond, states..., scan outputs...) while i < M and cond; scan "
      "outputs are stacked "
      "along a new first axis.";
  def.min_inputs = 2;
  def.max_inputs = -1;
  def.max_outputs = -1;
  def.attributes = {{"body", std::nullopt}};
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_loop
