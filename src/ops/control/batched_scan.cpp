// SPDX-License-Identifier: Apache-2.0
// wootz.BatchedScan: opset 8's Scan. Every state and scan input has a batch axis first, scan inputs a
// sequence axis second; the body sees neither. A sequence ends at its length in sequence_lens; scan outputs
// are zero beyond it.
#include "ops/body.h"
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_batched_scan {
namespace {

struct BatchedScanAttributes {
  int64_t num_scan_inputs = 0;
  Ints directions;
  template <class V>
  void reflect(V& v) {
    v("num_scan_inputs", num_scan_inputs);
    v("directions", directions);
  }
};

/// Input 0 is sequence_lens; states and scan inputs follow.
template <class Context>
size_t state_count(const Context& ctx, const BatchedScanAttributes& a, const Graph& body) {
  const auto inputs = static_cast<int64_t>(ctx.input_count()) - 1;
  ctx.check(a.num_scan_inputs >= 1 && a.num_scan_inputs <= inputs,
            "expected num_scan_inputs in [1, number of inputs - 1]");
  const auto states = static_cast<size_t>(inputs - a.num_scan_inputs);
  ctx.check(static_cast<int64_t>(body.inputs().size()) == inputs && body.outputs().size() >= states,
            "expected a body of " + std::to_string(inputs) + " inputs and at least " +
                std::to_string(states) + " outputs");
  return states;
}

Type without_leading(Type type, size_t count) {
  if (!type.shape) return type;
  type.shape->erase(type.shape->begin(),
                    type.shape->begin() + static_cast<std::ptrdiff_t>(std::min(count, type.shape->size())));
  return type;
}

void infer(InferContext& ctx) {
  const auto a = ctx.attributes_as<BatchedScanAttributes>();
  Graph& body = body_of(ctx.node(), "body");
  const size_t states = state_count(ctx, a, body);
  std::optional<Dim> batch, length;
  std::vector<Type> initial;
  for (size_t i = 1; i < ctx.input_count(); ++i) {
    const bool scanned = i > states;
    const Type& type = ctx.input(i);
    if (type.shape && type.rank() < (scanned ? 2 : 1))
      ctx.fail("expected a batch axis" + std::string(scanned ? " and a sequence axis" : ""));
    if (type.shape) batch = (*type.shape)[0];
    if (type.shape && scanned) length = (*type.shape)[1];
    if (scanned)
      body.inputs()[i - 1]->type = without_leading(type, 2);
    else
      initial.push_back(without_leading(type, 1));
  }
  if (!batch) batch = ctx.unknown("batch");
  if (!length) length = ctx.unknown("trips");
  const std::vector<Type> carried = infer_carried(ctx, body, 0, 0, initial);
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    Type type = seen_from_outside(ctx, i < states ? carried[i] : body.outputs()[i]->type);
    if (type.shape && i >= states) type.shape->insert(type.shape->begin(), *length);
    if (type.shape) type.shape->insert(type.shape->begin(), *batch);
    ctx.set_output(i, std::move(type));
  }
}

/// Row `i` of a tensor's first axis.
Tensor row(const Tensor& t, int64_t i) {
  Dims dims(t.dims().begin() + 1, t.dims().end());
  Tensor out = Tensor::zeros(t.dtype(), dims);
  copy_elements(t.dtype(), t.data(), i * out.size(), out.data(), 0, out.size());
  return out;
}

/// A batch's results with zero rows up to `rows`; `like` gives the dims where the sequence was empty.
Tensor padded(const Tensor& t, int64_t rows, const Tensor& like) {
  Dims dims = (t.dims()[0] > 0 ? t : like).dims();
  dims[0] = rows;
  Tensor out = Tensor::zeros(t.dtype(), dims);
  if (t.dims()[0] > 0) copy_elements(t.dtype(), t.data(), 0, out.data(), 0, t.size());
  return out;
}

/// Stacks what the batches gave, each padded to `rows`.
Tensor stacked_batches(const EvalContext& ctx, const std::vector<Tensor>& batches, int64_t rows,
                       Type declared) {
  Stacked all;
  const Tensor* like = batches.empty() ? nullptr : &batches.front();
  for (const Tensor& t : batches)
    if (t.dims()[0] > 0) like = &t;
  for (const Tensor& t : batches) all.push(padded(t, rows, *like));
  if (declared.shape) declared.shape->insert(declared.shape->begin(), Dim(rows));
  return all.stack(ctx, declared, 0, false);
}

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<BatchedScanAttributes>();
  const Graph& body = body_of(ctx.node(), "body");
  const size_t states = state_count(ctx, a, body);
  const Tensor& first = ctx.input(1 + states);
  ctx.check(first.rank() >= 2, "expected scan inputs with a batch and a sequence axis");
  const int64_t batch = first.dims()[0], longest = first.dims()[1];
  const Ints lengths =
      ctx.has_input(0) ? ctx.input(0).to_int64s() : Ints(static_cast<size_t>(batch), longest);
  ctx.check(static_cast<int64_t>(lengths.size()) == batch,
            "expected one length for each of the " + std::to_string(batch) + " batches");
  for (size_t i = 1; i < ctx.input_count(); ++i)
    ctx.check(ctx.input(i).rank() >= (i > states ? 2 : 1) && ctx.input(i).dims()[0] == batch &&
                  (i <= states || ctx.input(i).dims()[1] == longest),
              "expected one batch size, and one length of the scan inputs");
  std::vector<Stacked> finals(states);
  std::vector<std::vector<Tensor>> outputs(body.outputs().size() - states);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Datum> carried;
    std::vector<Tensor> scanned;
    for (size_t i = 0; i < states; ++i) carried.emplace_back(row(ctx.input(i + 1), b));
    for (size_t i = states + 1; i < ctx.input_count(); ++i) scanned.push_back(row(ctx.input(i), b));
    const int64_t length = lengths[static_cast<size_t>(b)];
    ctx.check(length >= 0 && length <= longest,
              "expected sequence lengths in [0, " + std::to_string(longest) + "]");
    std::vector<Stacked> stacked(body.outputs().size() - states);
    for (int64_t trip = 0; trip < length; ++trip) {
      for (size_t i = 0; i < scanned.size(); ++i) {
        const bool backwards = i < a.directions.size() && a.directions[i] != 0;
        carried.emplace_back(row(scanned[i], backwards ? length - 1 - trip : trip));
      }
      std::vector<Datum> out = run_body(ctx, body, carried);
      for (size_t i = 0; i < stacked.size(); ++i) stacked[i].push(std::move(out[states + i].tensor));
      out.resize(states);
      carried = std::move(out);
    }
    for (size_t i = 0; i < states; ++i) finals[i].push(carried[i].tensor);
    for (size_t i = 0; i < stacked.size(); ++i)
      outputs[i].push_back(stacked[i].stack(ctx, body.outputs()[states + i]->type, 0, false));
  }
  for (size_t i = 0; i < states; ++i)
    ctx.set_output(i, finals[i].stack(ctx, body.outputs()[i]->type, 0, false));
  for (size_t i = 0; i < outputs.size(); ++i)
    ctx.set_output(states + i, stacked_batches(ctx, outputs[i], longest, body.outputs()[states + i]->type));
}

/// (state, x) -> (x, state)
GraphPtr delaying_body() {
  auto g = std::make_shared<Graph>();
  Value* state = g->add_input("state", Type::tensor(DType::kFloat32));
  Value* x = g->add_input("x", Type::tensor(DType::kFloat32));
  Value* no_axes = g->add_constant("no_axes", Tensor::zeros(DType::kInt64, {0}));
  g->add_output(g->add_node("Unsqueeze", {x, no_axes})->add_output("next", Type{}));
  g->add_output(g->add_node("Unsqueeze", {state, no_axes})->add_output("delayed", Type{}));
  return g;
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor start = floats({2, 1}, {-1, -2}), x = counting(DType::kFloat32, {2, 3, 1});
  auto with = [](std::vector<std::pair<std::string, Attribute>> more) {
    more.emplace_back("body", delaying_body());
    more.emplace_back("num_scan_inputs", int64_t{1});
    return more;
  };
  return {make("full length", {Datum{}, start, x}, with({}), 2),
          make("lengths", {ints({3, 1}), start, x}, with({}), 2),
          make("backwards", {Datum{}, start, x}, with({{"directions", Ints{1}}}), 2),
          make("nothing", {ints({0, 2}), start, x}, with({}), 2),
          make("no steps", {Datum{}, start, Tensor::zeros(DType::kFloat32, {2, 0, 1})}, with({}), 2)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.domain = "wootz";
  def.name = "BatchedScan";
  def.doc =
      "Opset 8's Scan: over the second axis of the scan inputs, for each element of the batch (the first "
      "axis).";
  def.min_inputs = 2;
  def.max_inputs = -1;
  def.max_outputs = -1;
  def.attributes = attribute_specs<BatchedScanAttributes>();
  def.attributes.push_back({"body", std::nullopt});
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_batched_scan
