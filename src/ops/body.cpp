// SPDX-License-Identifier: Apache-2.0
#include "ops/body.h"

#include "ops/body_runner.h"
#include "ops/contents.h"
#include "ops/strided_copy.h"

namespace wootz {
namespace {

constexpr int kMaxWidenings = 4;

/// True for a dim that a widening made: it stands for every value already.
bool is_widened(const Dim& d, const SymbolTable& symbols, size_t first_fresh) {
  if (d.constant() != 0 || d.terms().size() != 1 || d.terms()[0].second != 1) return false;
  const SymbolId id = d.terms()[0].first;
  return static_cast<size_t>(id) >= first_fresh && symbols.is_unknown(id);
}

/// The state's type with the dims that differ from those of `next` made unknown, once. A state that starts as
/// an optional may go on as what that holds.
Type widened(InferContext& context, const Type& state, const Type& next, size_t first_fresh) {
  if (state.kind == Type::Kind::kOptional && next.kind != Type::Kind::kOptional && state.element)
    return Type::optional(joined(context, *state.element, next));
  Type type = joined(context, state, next);
  if (!type.shape) return type;
  for (size_t i = 0; i < type.shape->size(); ++i) {
    const Dim& before = (*state.shape)[i];
    Dim& d = (*type.shape)[i];
    if (is_widened(before, context.symbols(), first_fresh))
      d = before;
    else if (!context.symbols().equal(d, before))
      d = context.unknown("carried");  // it may grow without bound
  }
  return type;
}

void set_input_types(Graph& body, size_t first, const std::vector<Type>& types) {
  for (size_t i = 0; i < types.size(); ++i) body.inputs()[first + i]->type = types[i];
}

Type without_shape(Type type) {
  type.shape.reset();
  return type;
}

}  // namespace

void forget_shapes(Graph& body) {
  for (const auto& value : body.values()) {
    if (!value->producer()) continue;
    value->contents.reset();
    if (value->type.is_tensor())
      value->type.shape.reset();
    else
      value->type = Type{};
  }
  for (const auto& node : body.nodes())
    for (Graph* inner : node->subgraphs()) forget_shapes(*inner);
}

Graph& body_of(const Node& node, const char* attribute) {
  const GraphPtr& body = node.attributes.require<GraphPtr>(attribute);
  if (!body) throw Error(ErrorKind::kInvalidModel, std::string(attribute) + ": expected a graph, found none");
  return *body;
}

Type joined(InferContext& context, const Type& a, const Type& b) {
  if (a.kind == Type::Kind::kUnknown) return without_shape(b);
  if (b.kind == Type::Kind::kUnknown) return without_shape(a);
  context.check(a.kind == b.kind &&
                    (a.dtype == b.dtype || a.dtype == DType::kUndefined || b.dtype == DType::kUndefined),
                "expected one type, found " + to_string(a, context.symbols()) + " and " +
                    to_string(b, context.symbols()));
  Type type = a;
  if (type.dtype == DType::kUndefined) type.dtype = b.dtype;
  if (a.element && b.element)
    type.element = std::make_shared<const Type>(joined(context, *a.element, *b.element));
  type.shape.reset();
  if (!a.shape || !b.shape || a.rank() != b.rank()) return type;
  Shape shape;
  SymbolTable& symbols = context.symbols();
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const Dim x = symbols.resolve((*a.shape)[i]), y = symbols.resolve((*b.shape)[i]);
    shape.push_back(x == y ? x : context.unknown("either", known_upper(symbols, symbols.max(x, y))));
  }
  type.shape = std::move(shape);
  return type;
}

Type seen_from_outside(InferContext& context, const Type& inner, const Type* initial) {
  Type type = inner;
  if (type.element)
    type.element = std::make_shared<const Type>(
        seen_from_outside(context, *type.element, initial ? initial->element.get() : nullptr));
  if (!type.shape) return type;
  const SymbolTable& symbols = context.symbols();
  for (size_t i = 0; i < type.shape->size(); ++i) {
    Dim& d = (*type.shape)[i];
    const bool same =
        initial && initial->shape && i < initial->shape->size() && symbols.equal((*initial->shape)[i], d);
    if (!same && symbols.depends_on_unknown(d)) d = context.unknown("body", known_upper(symbols, d));
  }
  return type;
}

std::vector<Type> infer_carried(InferContext& context, Graph& body, size_t first_input, size_t first_output,
                                std::vector<Type> states) {
  context.check(body.inputs().size() >= first_input + states.size() &&
                    body.outputs().size() >= first_output + states.size(),
                "expected a body with " + std::to_string(states.size()) + " carried values");
  const size_t first_fresh = context.symbols().size();
  for (int widening = 0;; ++widening) {
    if (widening > 0) forget_shapes(body);
    set_input_types(body, first_input, states);
    infer_graph(body);
    bool stable = true;
    for (size_t i = 0; i < states.size(); ++i) {
      Type next = widened(context, states[i], body.outputs()[first_output + i]->type, first_fresh);
      if (next == states[i]) continue;
      stable = false;
      states[i] = widening + 1 < kMaxWidenings ? next : without_shape(next);
    }
    if (stable || widening > kMaxWidenings) return states;
  }
}

std::vector<Datum> run_body(const EvalContext& context, const Graph& body, std::span<const Datum> inputs) {
  if (BodyRunner* runner = BodyRunner::current())
    if (auto outputs = runner->run(body, inputs, context.captured)) return std::move(*outputs);
  EvaluateOptions options;
  options.captured = context.captured;
  return evaluate_graph(body, inputs, options);
}

namespace {

/// The symbols that the dims of the node's operands, captured ones included, tell.
Bindings bindings_of(const EvalContext& context) {
  const SymbolTable& symbols = context.node().graph()->symbols();
  Bindings bindings(symbols);
  const auto bind = [&](const Value* value, const Datum* datum) {
    if (!value || !datum || datum->kind != Datum::Kind::kTensor || !value->type.has_rank() ||
        value->type.rank() != datum->tensor.rank())
      return;
    for (size_t i = 0; i < value->type.shape->size(); ++i) {
      const Dim dim = symbols.resolve((*value->type.shape)[i]);
      if (dim.terms().size() != 1) continue;
      const auto [symbol, factor] = dim.terms()[0];
      const int64_t left = datum->tensor.dims()[i] - dim.constant();
      if (left % factor == 0) bindings.bind(symbol, left / factor);
    }
  };
  for (size_t i = 0; i < context.input_count(); ++i)
    bind(context.node().input(i), context.has_input(i) ? &context.datum(i) : nullptr);
  if (context.captured)
    for (const Graph* body : context.node().subgraphs())
      for (const Value* value : captures(*body)) bind(value, (*context.captured)(value));
  return bindings;
}

}  // namespace

void set_examples(const EvalContext& context, const Graph& body, std::span<const Datum> inputs,
                  size_t first_output, std::span<Stacked> stacked) {
  try {
    const std::vector<Datum> results = run_body(context, body, inputs);
    for (size_t i = 0; i < stacked.size(); ++i)
      if (const Datum& d = results[first_output + i]; d.kind == Datum::Kind::kTensor)
        stacked[i].set_example(d.tensor);
  } catch (const Error&) {
    return;
  }
}

Tensor Stacked::stack(const EvalContext& context, const Type& declared, int64_t axis, bool reversed) const {
  Dims dims;
  DType dtype = declared.dtype;
  if (parts_.empty()) {
    if (example_) {
      dims = *example_;
    } else if (declared.shape) {
      const Bindings bindings = bindings_of(context);
      const SymbolTable& symbols = context.node().graph()->symbols();
      for (const Dim& d : *declared.shape) dims.push_back(bindings.evaluate(symbols.resolve(d)).value_or(0));
    }
  } else {
    dims = parts_.front().dims();
    dtype = parts_.front().dtype();
  }
  const auto count = static_cast<int64_t>(parts_.size());
  const int64_t rank = static_cast<int64_t>(dims.size()) + 1;
  axis = parts_.empty() && !declared.shape && !example_ ? 0 : context.normalize_axis(axis, rank);
  const Dims part_dims = dims;
  dims.insert(dims.begin() + axis, count);
  Tensor out = Tensor::zeros(dtype, dims);
  StridedSide to{0, contiguous_strides(dims)};
  const int64_t step = to.strides[static_cast<size_t>(axis)];
  to.strides.erase(to.strides.begin() + axis);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& part = parts_[static_cast<size_t>(i)];
    context.check(part.dims() == part_dims && part.dtype() == dtype,
                  "expected every iteration to give a tensor of the same dims and element type; iteration " +
                      std::to_string(i) + " differs from the first");
    to.offset = (reversed ? count - 1 - i : i) * step;
    copy_strided(dtype, part_dims, part.data(), {0, contiguous_strides(part_dims)}, out.data(), to);
  }
  return out;
}

}  // namespace wootz
