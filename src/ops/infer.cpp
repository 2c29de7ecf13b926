// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <cmath>

#include "base/check.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace wootz {
namespace {

bool holds_integers(DType dtype) { return is_integer(dtype) || dtype == DType::kBool; }

/// The elements of a small constant as contents: integers, or floating-point numbers that are whole.
std::optional<std::vector<Dim>> whole_numbers(const Tensor& tensor) {
  if (tensor.rank() > 1 || tensor.size() > kMaxContents) return std::nullopt;
  std::vector<Dim> dims;
  if (holds_integers(tensor.dtype())) {
    for (int64_t number : tensor.to_int64s()) dims.emplace_back(number);
    return dims;
  }
  if (tensor.dtype() != DType::kFloat32 && tensor.dtype() != DType::kFloat64) return std::nullopt;
  for (double number : tensor.to_doubles()) {
    if (!(std::fabs(number) < 16777216.0) || number != std::floor(number)) return std::nullopt;
    dims.emplace_back(static_cast<int64_t>(number));
  }
  return dims;
}

}  // namespace

const Type& InferContext::input(size_t i) const {
  if (!has_input(i)) fail("expected input " + std::to_string(i) + ", found none");
  return node_.input(i)->type;
}

const Tensor* InferContext::constant(size_t i) const {
  const Value* value = node_.input(i);
  return value ? value->constant.get() : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::ints(size_t i) const {
  if (const Tensor* tensor = constant(i)) {
    if (!holds_integers(tensor->dtype())) return std::nullopt;
    return tensor->to_int64s();
  }
  const Value* value = node_.input(i);
  if (!value || !value->contents) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dim& dim : *value->contents) {
    const Dim resolved = symbols().resolve(dim);
    if (!resolved.is_constant()) return std::nullopt;
    numbers.push_back(resolved.value());
  }
  return numbers;
}

std::optional<std::vector<Dim>> InferContext::contents(size_t i) const {
  const Value* value = node_.input(i);
  if (!value) return std::nullopt;
  if (const Tensor* tensor = constant(i)) return whole_numbers(*tensor);
  if (!value->contents) return std::nullopt;
  std::vector<Dim> dims;
  for (const Dim& dim : *value->contents) dims.push_back(symbols().resolve(dim));
  return dims;
}

void InferContext::fail(const std::string& message) const { throw Error(ErrorKind::kInvalidModel, message); }

int64_t InferContext::normalize_axis(int64_t axis, int64_t rank, const char* what) const {
  if (axis < -rank || axis >= rank)
    fail(std::string(what) + ": expected a value in [" + std::to_string(-rank) + ", " +
         std::to_string(rank - 1) + "], found " + std::to_string(axis));
  return axis < 0 ? axis + rank : axis;
}

void InferContext::check_rank(size_t i, int64_t expected) const {
  if (has_rank(i) && rank(i) != expected)
    fail("input " + std::to_string(i) + ": expected rank " + std::to_string(expected) + ", found " +
         to_string(input(i), symbols()));
}

void InferContext::check_same_dtype(size_t i, size_t j) const {
  if (dtype(i) != dtype(j) && dtype(i) != DType::kUndefined && dtype(j) != DType::kUndefined)
    fail("inputs " + std::to_string(i) + " and " + std::to_string(j) + ": expected one element type, found " +
         std::string(dtype_name(dtype(i))) + " and " + std::string(dtype_name(dtype(j))));
}

void InferContext::equate(const Dim& a, const Dim& b, const char* what) {
  // A body may never run, or run with other shapes each time: what holds in it does not hold outside.
  const bool conditional = node_.graph()->parent() != nullptr;
  const bool possible = conditional ? symbols().lower_bound(a - b) <= 0 && symbols().upper_bound(a - b) >= 0
                                    : symbols().equate(a, b);
  if (!possible)
    fail(std::string(what) + ": expected equal dimensions, found " + symbols().to_string(a) + " and " +
         symbols().to_string(b));
}

/// Two dimensions that may both be other than 1 give their maximum (exact unless one of them is 0 and the
/// other 1).
Shape InferContext::broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const Dim x = i + a.size() < rank ? Dim(1) : symbols().resolve(a[i + a.size() - rank]);
    const Dim y = i + b.size() < rank ? Dim(1) : symbols().resolve(b[i + b.size() - rank]);
    if (x == y || y.is(1)) {
      shape.push_back(x);
    } else if (x.is(1)) {
      shape.push_back(y);
    } else if (x.is_constant() && y.is_constant()) {
      fail("expected shapes that broadcast, found " +
           to_string(Type::tensor(DType::kUndefined, a), symbols()) + " and " +
           to_string(Type::tensor(DType::kUndefined, b), symbols()));
    } else if (x.is_constant() || y.is_constant()) {
      shape.push_back(x.is_constant() ? x : y);
    } else if (symbols().lower_bound(x) > 1 && symbols().lower_bound(y) > 1) {
      equate(x, y, "broadcast");
      shape.push_back(symbols().resolve(x));
    } else {
      shape.push_back(symbols().max(x, y));
    }
  }
  return shape;
}

namespace {

/// Merges the type that inference found for one output with the one that the value has already.
class TypeMerge {
 public:
  /// Symbols from `first_fresh` on were made by this inference.
  TypeMerge(const Value& value, size_t first_fresh)
      : value_(value), symbols_(value.graph()->symbols()), first_fresh_(first_fresh) {}

  Type merge(const Type& known, const Type& found) const {
    if (found.kind == Type::Kind::kUnknown) return known;
    if (known.kind == Type::Kind::kUnknown) return found;
    if (known.kind != found.kind) contradiction(known, found);
    if (known.dtype != found.dtype && known.dtype != DType::kUndefined && found.dtype != DType::kUndefined)
      contradiction(known, found);
    Type merged = found;
    if (merged.dtype == DType::kUndefined) merged.dtype = known.dtype;
    if (known.element && found.element)
      merged.element = std::make_shared<const Type>(merge(*known.element, *found.element));
    if (known.shape && !found.shape) merged.shape = known.shape;
    if (known.shape && found.shape) merged.shape = merge_shapes(known, found);
    return merged;
  }

 private:
  Shape merge_shapes(const Type& known, const Type& found) const {
    // Files often carry stale shapes of inner values and of outputs; the inferred rank and numbers stand.
    if (known.rank() != found.rank()) return *found.shape;
    Shape shape;
    for (size_t i = 0; i < found.shape->size(); ++i)
      shape.push_back(merge_dims((*known.shape)[i], (*found.shape)[i]));
    return shape;
  }

  Dim merge_dims(const Dim& known_dim, const Dim& found_dim) const {
    const Dim known = symbols_.resolve(known_dim), found = symbols_.resolve(found_dim);
    if (known == found || found.is_constant()) return found;
    if (known.is_constant()) return symbols_.depends_on_unknown(found) ? known : found;
    if (is_free(known)) {
      symbols_.equate(known, found);
      return symbols_.resolve(found);
    }
    return is_fresh(found) ? known : found;
  }

  /// A lone named symbol that no graph input determines: the file's name for what inference found.
  bool is_free(const Dim& dim) const {
    if (dim.constant() != 0 || dim.terms().size() != 1 || dim.terms()[0].second != 1) return false;
    const SymbolId id = dim.terms()[0].first;
    if (symbols_.at(id).kind != Symbol::Kind::kInput) return false;
    for (const Graph* graph = value_.graph(); graph; graph = graph->parent())
      for (const Value* input : graph->inputs())
        if (input->type.has_rank())
          for (const Dim& input_dim : *input->type.shape) {
            const Dim resolved = symbols_.resolve(input_dim);
            for (const auto& term : resolved.terms())
              if (term.first == id) return false;
          }
    return true;
  }

  bool is_fresh(const Dim& dim) const {
    for (const auto& term : dim.terms())
      if (static_cast<size_t>(term.first) >= first_fresh_) return symbols_.depends_on_unknown(dim);
    return false;
  }

  [[noreturn]] void contradiction(const Type& known, const Type& found) const {
    throw Error(ErrorKind::kInvalidModel, "output '" + value_.name + "': expected " +
                                              to_string(known, symbols_) + " as declared, found " +
                                              to_string(found, symbols_) + " by inference");
  }

  const Value& value_;
  SymbolTable& symbols_;
  size_t first_fresh_;
};

/// The elements of a small tensor of integers as contents.
std::optional<std::vector<Dim>> contents_of(const Datum& datum) {
  if (datum.kind != Datum::Kind::kTensor || !holds_integers(datum.tensor.dtype()) || datum.tensor.rank() > 1)
    return std::nullopt;
  const std::vector<int64_t> numbers = datum.tensor.to_int64s();
  return std::vector<Dim>(numbers.begin(), numbers.end());
}

/// An input as data where it is known at build time and small.
std::optional<Datum> known_datum(const InferContext& c, size_t i) {
  if (const Tensor* tensor = c.constant(i)) {
    if (tensor->size() > kMaxContents) return std::nullopt;
    return Datum(*tensor);
  }
  const Type& type = c.input(i);
  auto numbers = c.ints(i);
  if (!numbers || !holds_integers(type.dtype) || !type.has_rank()) return std::nullopt;
  Tensor tensor = Tensor::int64s(*numbers);
  if (type.dtype != DType::kInt64) return std::nullopt;
  return Datum(type.rank() == 0 ? tensor.reshaped({}) : tensor);
}

/// Small integer outputs of operators without a rule for contents: by the reference, where every input is
/// known.
void evaluate_contents(InferContext& c, const OpDef& def) {
  const Node& node = c.node();
  if (!def.evaluate || !def.deterministic || !node.subgraphs().empty() || c.input_count() == 0) return;
  bool wanted = false;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const std::optional<Type>& type = c.output(i);
    if (!type || !type->has_static_shape() || type->rank() > 1 || !holds_integers(type->dtype)) return;
    if (type->rank() == 1 && (*type->shape)[0].value() > kMaxContents) return;
    wanted = wanted || !c.output_contents(i);
  }
  if (!wanted) return;
  std::vector<Datum> data(c.input_count());
  std::vector<const Datum*> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (c.has_input(i)) {
      auto datum = known_datum(c, i);
      if (!datum) return;
      data[i] = std::move(*datum);
    }
    inputs.push_back(c.has_input(i) ? &data[i] : nullptr);
  }
  try {
    const std::vector<Datum> outputs = evaluate_node(node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (auto contents = contents_of(outputs[i])) c.set_contents(i, std::move(*contents));
  } catch (const Error&) {
    // A node that fails on its operands may lie in a branch that never runs; only the run may complain.
  }
}

}  // namespace

void infer_node(Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  if (!def || !def->infer) return;
  InferContext context(node);
  const size_t first_fresh = node.graph()->symbols().size();
  try {
    def->infer(context);
    evaluate_contents(context, *def);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      Value* value = node.outputs()[i];
      if (!value) continue;
      if (const auto& found = context.output(i))
        value->type = TypeMerge(*value, first_fresh).merge(value->type, *found);
      value->contents = context.output_contents(i);
    }
  } catch (const Error& error) {
    throw error.at(node_label(node));
  }
}

void infer_graph(Graph& graph) {
  for (const auto& node : graph.nodes()) infer_node(*node);
  // Equalities found late hold for values seen early.
  for (const auto& value : graph.values())
    if (value->type.shape)
      for (Dim& dim : *value->type.shape) dim = graph.symbols().resolve(dim);
}

}  // namespace wootz
