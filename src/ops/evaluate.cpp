// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"

#include <unordered_map>

#include "base/check.h"
#include "ir/element.h"
#include "ops/registry.h"

namespace wootz {

const Tensor& EvalContext::input(size_t i) const {
  const Datum& found = datum(i);
  if (found.kind != Datum::Kind::kTensor) fail("expected a tensor as input " + std::to_string(i));
  return found.tensor;
}

const Datum& EvalContext::datum(size_t i) const {
  if (!has_input(i)) fail("expected input " + std::to_string(i) + ", found none");
  return *inputs_[i];
}

Tensor& EvalContext::output(size_t i, DType dtype, Dims dims) {
  Datum& slot = i < outputs_.size() ? outputs_[i] : scratch_[i];
  const bool fits =
      slot.kind == Datum::Kind::kTensor && slot.tensor.dtype() == dtype && slot.tensor.dims() == dims;
  if (!fits) slot = Datum(Tensor::zeros(dtype, std::move(dims)));
  return slot.tensor;
}

void EvalContext::fail(const std::string& message) const { throw Error(ErrorKind::kInvalidModel, message); }

int64_t EvalContext::normalize_axis(int64_t axis, int64_t rank, const char* what) const {
  if (axis < -rank || axis >= rank)
    fail(std::string(what) + ": expected a value in [" + std::to_string(-rank) + ", " +
         std::to_string(rank - 1) + "], found " + std::to_string(axis));
  return axis < 0 ? axis + rank : axis;
}

std::vector<Datum> evaluate_node(const Node& node, std::span<const Datum* const> inputs,
                                 const std::function<const Datum*(const Value*)>* captured) {
  const OpDef& def = op_of(node);
  std::vector<Datum> outputs(node.outputs().size());
  if (!def.evaluate)
    throw Error(ErrorKind::kUnsupported, node_label(node) + ": the operator has no reference");
  EvalContext context(node, inputs, outputs);
  context.captured = captured;
  try {
    def.evaluate(context);
  } catch (const Error& error) {
    if (node.is("wootz", "Region")) throw;  // the nodes inside name themselves
    throw error.at(node_label(node));
  }
  return outputs;
}

namespace {

std::string dims_text(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

/// One run of one graph.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const EvaluateOptions& options)
      : graph_(graph), options_(options), bindings_(graph.symbols()) {
    captured_ = [this](const Value* value) { return find(value); };
    count_uses();
  }

  void bind_inputs(std::span<const Datum> inputs);
  void run();
  std::vector<Datum> take_outputs();

 private:
  const Datum* find(const Value* value);
  const Datum* materialize(const Value* value);
  void count_uses();
  void bind_dims(const Value& value, const Datum& datum, bool check);
  void release(const Value* value);
  void run_node(const Node& node);
  std::vector<const Value*> reads(const Node& node) const;

  const Graph& graph_;
  const EvaluateOptions& options_;
  Bindings bindings_;
  std::unordered_map<const Value*, Datum> data_;
  std::unordered_map<const Value*, int> uses_;
  std::function<const Datum*(const Value*)> captured_;
};

std::vector<const Value*> Evaluation::reads(const Node& node) const {
  std::vector<const Value*> values;
  for (const Value* input : node.inputs())
    if (input) values.push_back(input);
  for (const Graph* body : node.subgraphs())
    for (const Value* value : captures(*body)) values.push_back(value);
  return values;
}

void Evaluation::count_uses() {
  for (const auto& node : graph_.nodes())
    for (const Value* value : reads(*node)) ++uses_[value];
  for (const Value* output : graph_.outputs()) ++uses_[output];
}

/// Binds the symbols that the dims of a produced value determine: dims of the form k * symbol + c.
void Evaluation::bind_dims(const Value& value, const Datum& datum, bool check) {
  if (datum.kind != Datum::Kind::kTensor || !value.type.has_rank()) return;
  const Dims& dims = datum.tensor.dims();
  const auto mismatch = [&] {
    throw Error(ErrorKind::kInvalidArgument,
                "input '" + value.name + "': expected " + to_string(value.type, graph_.symbols()) +
                    ", found " + std::string(dtype_name(datum.tensor.dtype())) + dims_text(dims));
  };
  if (check && (value.type.rank() != datum.tensor.rank() || value.type.dtype != datum.tensor.dtype()))
    mismatch();
  if (value.type.rank() != datum.tensor.rank()) return;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dim dim = graph_.symbols().resolve((*value.type.shape)[i]);
    if (auto known = bindings_.evaluate(dim)) {
      if (check && *known != dims[i]) mismatch();
      continue;
    }
    if (dim.terms().size() != 1) continue;
    const auto [symbol, factor] = dim.terms()[0];
    const Symbol::Kind kind = graph_.symbols().at(symbol).kind;
    if (kind != Symbol::Kind::kInput && kind != Symbol::Kind::kUnknown) continue;
    const int64_t rest = dims[i] - dim.constant();
    if (rest % factor == 0)
      bindings_.bind(symbol, rest / factor);
    else if (check)
      mismatch();
  }
}

void Evaluation::bind_inputs(std::span<const Datum> inputs) {
  if (inputs.size() != graph_.inputs().size())
    throw Error(ErrorKind::kInvalidArgument, "expected " + std::to_string(graph_.inputs().size()) +
                                                 " inputs, found " + std::to_string(inputs.size()));
  // The types of a body's inputs are those of its first use; a loop may change them.
  const bool check = graph_.parent() == nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = graph_.inputs()[i];
    if (check && value->type.is_tensor() && inputs[i].kind != Datum::Kind::kTensor)
      throw Error(ErrorKind::kInvalidArgument, "input '" + value->name + "': expected a tensor, found none");
    bind_dims(*value, inputs[i], check);
    if (options_.visit) options_.visit(value, inputs[i]);
    data_[value] = inputs[i];
  }
}

/// A symbolic constant's elements, where its symbols are bound here.
const Datum* Evaluation::materialize(const Value* value) {
  Tensor tensor = Tensor::zeros(value->type.dtype, value->type.has_rank() && value->type.rank() == 0
                                                       ? Dims{}
                                                       : Dims{static_cast<int64_t>(value->contents->size())});
  std::vector<int64_t> numbers;
  for (const Dim& dim : *value->contents) {
    auto number = bindings_.evaluate(graph_.symbols().resolve(dim));
    if (!number) return nullptr;
    numbers.push_back(*number);
  }
  visit_numeric(tensor.dtype(), [&](auto kind) {
    using T = decltype(kind);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T> || std::is_constructible_v<T, int64_t>)
        tensor.as<T>()[i] = static_cast<T>(numbers[i]);
      else
        tensor.as<T>()[i] = T(static_cast<double>(numbers[i]));
    }
  });
  return &(data_[value] = Datum(std::move(tensor)));
}

const Datum* Evaluation::find(const Value* value) {
  if (auto it = data_.find(value); it != data_.end()) return &it->second;
  if (value->constant) return &(data_[value] = Datum(*value->constant));
  if (value->is_symbolic_constant())
    if (const Datum* datum = materialize(value)) return datum;
  return options_.captured ? (*options_.captured)(value) : nullptr;
}

void Evaluation::release(const Value* value) {
  if (auto it = uses_.find(value); it != uses_.end() && --it->second == 0) data_.erase(value);
}

void Evaluation::run_node(const Node& node) {
  std::vector<const Datum*> inputs;
  for (const Value* input : node.inputs()) {
    const Datum* datum = input ? find(input) : nullptr;
    if (input && !datum)
      throw Error(ErrorKind::kInvalidModel,
                  node_label(node) + ": value '" + input->name + "' has not been computed");
    inputs.push_back(datum);
  }
  std::vector<Datum> outputs(node.outputs().size());
  if (!options_.hook || !options_.hook(node, inputs, outputs))
    outputs = evaluate_node(node, inputs, &captured_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value* value = node.outputs()[i];
    if (!value) continue;
    bind_dims(*value, outputs[i], false);
    if (options_.visit) options_.visit(value, outputs[i]);
    if (uses_.contains(value)) data_[value] = std::move(outputs[i]);
  }
  for (const Value* value : reads(node)) release(value);
}

void Evaluation::run() {
  for (const auto& node : graph_.nodes()) run_node(*node);
}

std::vector<Datum> Evaluation::take_outputs() {
  std::vector<Datum> outputs;
  for (const Value* output : graph_.outputs()) {
    const Datum* datum = find(output);
    if (!datum) throw Error(ErrorKind::kInvalidModel, "output '" + output->name + "' has not been computed");
    outputs.push_back(*datum);
  }
  return outputs;
}

}  // namespace

std::vector<Datum> evaluate_graph(const Graph& graph, std::span<const Datum> inputs,
                                  const EvaluateOptions& options) {
  Evaluation evaluation(graph, options);
  evaluation.bind_inputs(inputs);
  evaluation.run();
  return evaluation.take_outputs();
}

}  // namespace wootz
