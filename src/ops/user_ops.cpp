// SPDX-License-Identifier: Apache-2.0
#include "ops/user_ops.h"

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/tensor_info.h"

namespace wootz {
namespace {

/// An expression over what the inputs' shapes mention.
Dim dim_from(InferContext& c, const std::string& text) {
  if (text == "?") return c.unknown("user");
  SymbolTable& symbols = c.symbols();
  const size_t before = symbols.size();
  const Dim dim = symbols.parse(text);
  for (size_t id = before; id < symbols.size(); ++id)
    if (symbols.at(static_cast<SymbolId>(id)).kind == Symbol::Kind::kInput)
      c.fail("the shape function's dimension '" + text +
             "': expected dimensions of the inputs, found the new name '" +
             symbols.at(static_cast<SymbolId>(id)).name + "'");
  return dim;
}

void infer_user_op(InferContext& c) {
  const UserOp& op = UserOps::of(c.node());
  std::vector<TensorInfo> inputs;
  for (const Value* input : c.node().inputs()) inputs.push_back(input ? tensor_info(*input) : TensorInfo());
  const std::vector<TensorInfo> outputs = op.infer(inputs, user_attributes(c.node()));
  c.check(static_cast<int>(outputs.size()) == op.outputs,
          "the shape function: expected " + std::to_string(op.outputs) + " outputs, found " +
              std::to_string(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    c.check(outputs[i].dtype != DType::kUndefined,
            "the shape function: expected an element type for output " + std::to_string(i) + ", found none");
    if (!outputs[i].has_shape) {
      c.set_output(i, outputs[i].dtype);
      continue;
    }
    Shape shape;
    for (const std::string& text : outputs[i].dims) shape.push_back(dim_from(c, text));
    c.set_output(i, outputs[i].dtype, std::move(shape));
  }
}

void evaluate(EvalContext& c) {
  const UserOp& op = UserOps::of(c.node());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.has_input(i) ? c.input(i) : Tensor());
  std::vector<Tensor> outputs = op.evaluate(inputs, user_attributes(c.node()));
  c.check(static_cast<int>(outputs.size()) == op.outputs,
          "the reference: expected " + std::to_string(op.outputs) + " outputs, found " +
              std::to_string(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) c.set_output(i, Datum(std::move(outputs[i])));
}

void require(bool condition, const UserOp& op, const char* what) {
  if (!condition)
    throw Error(ErrorKind::kInvalidArgument,
                "user operator " + op.domain + "." + op.name + ": expected " + what);
}

}  // namespace

UserOps::Map& UserOps::all() {
  static Map ops;
  return ops;
}

const UserOp& UserOps::add(UserOp op) {
  require(!op.domain.empty() && op.domain != "ai.onnx" && !op.name.empty(), op,
          "a domain of its own and a name");
  require(op.infer && op.evaluate, op, "a shape function and a reference");
  require(op.outputs > 0 && op.min_inputs >= 0 && (op.max_inputs < 0 || op.max_inputs >= op.min_inputs), op,
          "numbers of inputs and outputs that can be");
  OpDef def;
  def.domain = op.domain;
  def.name = op.name;
  def.doc = op.doc;
  def.min_inputs = op.min_inputs;
  def.max_inputs = op.max_inputs;
  def.max_outputs = op.outputs;
  for (const std::string& name : op.attributes) def.attributes.push_back({name, std::nullopt});
  def.infer = infer_user_op;
  def.evaluate = evaluate;
  OpRegistry::global().add(std::move(def));
  return all().insert_or_assign(std::pair(op.domain, op.name), std::move(op)).first->second;
}

const UserOp& UserOps::of(const Node& node) { return all().at({node.domain, node.op}); }

OpAttributes user_attributes(const Node& node) {
  OpAttributes attributes;
  for (const auto& [name, attribute] : node.attributes) {
    const bool known = std::visit(
        [&, &key = name](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_constructible_v<OpAttribute, const T&> && !std::is_same_v<T, Shape>) {
            attributes.emplace(key, value);
            return true;
          } else {
            return false;
          }
        },
        attribute);
    if (!known)
      throw Error(ErrorKind::kUnsupported,
                  "attribute '" + name +
                      "': expected a number, text, tensor or list in a user's operator, found " +
                      std::string(attribute_kind_name(attribute)));
  }
  return attributes;
}

}  // namespace wootz
