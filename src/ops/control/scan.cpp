// SPDX-License-Identifier: Apache-2.0
// Scan: runs body(states..., slices...) -> (states..., outputs...) over slices of the scan inputs along their
// axes; each scan output is stacked along its axis.
#include "ops/body.h"
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_scan {
namespace {

struct ScanAttributes {
  int64_t num_scan_inputs = 0;
  Ints scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions;
  template <class V>
  void reflect(V& v) {
    v("num_scan_inputs", num_scan_inputs);
    v("scan_input_axes", scan_input_axes);
    v("scan_input_directions", scan_input_directions);
    v("scan_output_axes", scan_output_axes);
    v("scan_output_directions", scan_output_directions);
  }
};

/// Opset 8's Scan iterates inside a batch axis and has lengths; it is an operator of its own here.
void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() >= 9) return;
  ctx.node().domain = "wootz";
  ctx.node().op = "BatchedScan";
}

int64_t at_or_zero(const Ints& list, size_t i) { return i < list.size() ? list[i] : 0; }

template <class Context>
size_t state_count(const Context& ctx, const ScanAttributes& a, const Graph& body) {
  const auto inputs = static_cast<int64_t>(ctx.input_count());
  ctx.check(a.num_scan_inputs >= 1 && a.num_scan_inputs <= inputs, "expected num_scan_inputs in [1, " +
                                                                       std::to_string(inputs) + "], found " +
                                                                       std::to_string(a.num_scan_inputs));
  const auto states = static_cast<size_t>(inputs - a.num_scan_inputs);
  ctx.check(static_cast<int64_t>(body.inputs().size()) == inputs && body.outputs().size() >= states,
            "expected a body of " + std::to_string(inputs) + " inputs and at least " +
                std::to_string(states) + " outputs");
  return states;
}

void infer(InferContext& ctx) {
  const auto a = ctx.attributes_as<ScanAttributes>();
  Graph& body = body_of(ctx.node(), "body");
  const size_t states = state_count(ctx, a, body);
  std::optional<Dim> length;
  std::vector<Type> initial;
  for (size_t i = 0; i < states; ++i) initial.push_back(ctx.input(i));
  for (size_t i = states; i < ctx.input_count(); ++i) {
    Type type = ctx.input(i);
    if (type.shape) {
      const auto axis =
          ctx.normalize_axis(at_or_zero(a.scan_input_axes, i - states), type.rank(), "scan_input_axes");
      const Dim& d = (*type.shape)[static_cast<size_t>(axis)];
      if (length)
        ctx.equate(*length, d, "length of the scan inputs");
      else
        length = d;
      type.shape->erase(type.shape->begin() + axis);
    }
    body.inputs()[i]->type = type;
  }
  const std::vector<Type> carried = infer_carried(ctx, body, 0, 0, initial);
  for (size_t i = 0; i < states; ++i) ctx.set_output(i, seen_from_outside(ctx, carried[i], &initial[i]));
  for (size_t i = states; i < body.outputs().size(); ++i) {
    Type type = seen_from_outside(ctx, body.outputs()[i]->type);
    if (type.shape) {
      const auto axis =
          ctx.normalize_axis(at_or_zero(a.scan_output_axes, i - states), type.rank() + 1, "scan_output_axes");
      type.shape->insert(type.shape->begin() + axis, length ? *length : ctx.unknown("trips"));
    }
    ctx.set_output(i, std::move(type));
  }
}

/// A scan input, cut along its axis.
struct Slices {
  const Tensor& whole;
  size_t axis;
  bool backwards;

  int64_t count() const { return whole.dims()[axis]; }
  /// Zeros where there are no slices.
  Tensor slice(int64_t trip) const {
    StridedSide from{0, contiguous_strides(whole.dims())};
    from.offset = (backwards ? count() - 1 - trip : trip) * from.strides[axis];
    Dims dims = whole.dims();
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    from.strides.erase(from.strides.begin() + static_cast<std::ptrdiff_t>(axis));
    Tensor out = Tensor::zeros(whole.dtype(), dims);
    if (count() == 0) return out;
    copy_strided(whole.dtype(), dims, whole.data(), from, out.data(), {0, contiguous_strides(dims)});
    return out;
  }
};

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<ScanAttributes>();
  const Graph& body = body_of(ctx.node(), "body");
  const size_t states = state_count(ctx, a, body);
  std::vector<Datum> carried;
  for (size_t i = 0; i < states; ++i) carried.push_back(ctx.datum(i));
  std::vector<Slices> scanned;
  for (size_t i = states; i < ctx.input_count(); ++i) {
    const auto axis =
        ctx.normalize_axis(at_or_zero(a.scan_input_axes, i - states), ctx.input(i).rank(), "scan_input_axes");
    scanned.push_back(
        {ctx.input(i), static_cast<size_t>(axis), at_or_zero(a.scan_input_directions, i - states) != 0});
    ctx.check(scanned.back().count() == scanned.front().count(),
              "expected scan inputs of one length, found " + std::to_string(scanned.front().count()) +
                  " and " + std::to_string(scanned.back().count()));
  }
  std::vector<Stacked> stacked(body.outputs().size() - states);
  for (int64_t trip = 0; trip < scanned.front().count(); ++trip) {
    for (const Slices& s : scanned) carried.push_back(s.slice(trip));
    std::vector<Datum> results = run_body(ctx, body, carried);
    for (size_t i = 0; i < stacked.size(); ++i) stacked[i].push(std::move(results[states + i].tensor));
    results.resize(states);
    carried = std::move(results);
  }
  if (scanned.front().count() == 0) {
    std::vector<Datum> first = carried;
    for (const Slices& s : scanned) first.push_back(s.slice(0));
    set_examples(ctx, body, first, states, stacked);
  }
  for (size_t i = 0; i < states; ++i) ctx.set_output(i, std::move(carried[i]));
  for (size_t i = 0; i < stacked.size(); ++i)
    ctx.set_output(states + i,
                   stacked[i].stack(ctx, body.outputs()[states + i]->type, at_or_zero(a.scan_output_axes, i),
                                    at_or_zero(a.scan_output_directions, i) != 0));
}

/// (state, row) -> (row, state): a delay by one.
GraphPtr delaying_body() {
  auto g = std::make_shared<Graph>();
  Value* state = g->add_input("state", Type::tensor(DType::kFloat32));
  Value* row = g->add_input("row", Type::tensor(DType::kFloat32));
  const std::vector<int64_t> none;
  Value* no_axes = g->add_constant("no_axes", Tensor::int64s(none));
  g->add_output(g->add_node("Unsqueeze", {row, no_axes})->add_output("next", Type{}));
  g->add_output(g->add_node("Unsqueeze", {state, no_axes})->add_output("delayed", Type{}));
  return g;
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor start = floats({2}, {-1, -2}), rows = counting(DType::kFloat32, {3, 2});
  auto attributes = [](std::vector<std::pair<std::string, Attribute>> more) {
    more.emplace_back("body", delaying_body());
    more.emplace_back("num_scan_inputs", int64_t{1});
    return more;
  };
  return {make("rows", {start, rows}, attributes({}), 2),
          make("columns", {start, counting(DType::kFloat32, {2, 3})},
               attributes({{"scan_input_axes", Ints{1}}}), 2),
          make("backwards", {start, rows}, attributes({{"scan_input_directions", Ints{1}}}), 2),
          make("output backwards", {start, rows}, attributes({{"scan_output_directions", Ints{1}}}), 2),
          make("output axis", {start, rows}, attributes({{"scan_output_axes", Ints{-1}}}), 2),
          make("no rows", {start, Tensor::zeros(DType::kFloat32, {0, 2})}, attributes({}), 2)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Scan";
  def.doc =
      "Runs body(states..., slices...) -> (states..., outputs...) over slices of the scan inputs along their "
      "axes; each scan "
      "output is stacked along its axis.";
  def.since = 8;
  def.min_inputs = 1;
  def.max_inputs = -1;
  def.max_outputs = -1;
  def.attributes = attribute_specs<ScanAttributes>();
  def.attributes.push_back({"body", std::nullopt});
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_scan
