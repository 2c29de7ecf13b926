// SPDX-License-Identifier: Apache-2.0
#include "ops/expansion.h"

#include "ops/doubles.h"

namespace wootz {

Attributes attributes_from(Expansion::Items items) {
  Attributes a;
  for (const auto& [name, value] : items) a.set(name, value);
  return a;
}

Value* Expansion::require(size_t i, const char* name) const {
  if (!input(i)) fail("expected input " + std::to_string(i) + " (" + name + "), found none");
  return input(i);
}

int64_t Expansion::rank(const Value* value, const char* name) const {
  if (!value->type.has_rank()) fail(std::string(name) + ": expected a known rank");
  return value->type.rank();
}

std::string Expansion::unique(const char* hint) const {
  std::string stem = node_.name;
  for (const Value* v : node_.outputs())
    if (stem.empty() && v) stem = v->name;
  return c_.graph().unique_name(stem + "." + hint);
}

Node* Expansion::make(const char* op, std::vector<Value*> inputs, Attributes attributes) {
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  Node* made = c_.graph().add_node(op, std::move(inputs), &node_);
  made->attributes = std::move(attributes);
  made->name = node_.name;
  made->origins = node_.origins;
  return made;
}

Value* Expansion::add(const char* op, std::vector<Value*> inputs, Items attributes) {
  return add(op, std::move(inputs), attributes_from(attributes));
}

Value* Expansion::add(const char* op, std::vector<Value*> inputs, Attributes attributes) {
  return make(op, std::move(inputs), std::move(attributes))->add_output(unique(op), Type());
}

std::vector<Value*> Expansion::add_many(const char* op, std::vector<Value*> inputs, size_t outputs,
                                        Items attributes) {
  Node* made = make(op, std::move(inputs), attributes_from(attributes));
  std::vector<Value*> values;
  for (size_t i = 0; i < outputs; ++i) values.push_back(made->add_output(unique(op), Type()));
  return values;
}

Value* Expansion::ints(Ints values) { return constant("ints", Tensor::int64s(values)); }

Value* Expansion::scalar(double value, DType dtype) {
  Tensor t = Tensor::zeros(dtype, {});
  store_doubles({&value, 1}, t);
  return constant("scalar", std::move(t));
}

Value* Expansion::constant(const char* hint, Tensor data) {
  return c_.graph().add_constant(unique(hint), std::move(data));
}

void Expansion::result(const char* op, std::vector<Value*> inputs, Items attributes,
                       std::vector<size_t> outputs) {
  result(op, std::move(inputs), attributes_from(attributes), std::move(outputs));
}

void Expansion::result(const char* op, std::vector<Value*> inputs, Attributes attributes,
                       std::vector<size_t> outputs) {
  Node* made = make(op, std::move(inputs), std::move(attributes));
  while (!outputs.empty() && !node_.output(outputs.back())) outputs.pop_back();
  for (size_t k = 0; k < outputs.size(); ++k) {
    Value* v = node_.output(outputs[k]);
    if (v) node_.adopt_output(outputs[k], nullptr);
    made->adopt_output(k, v);
  }
}

void Expansion::alias(size_t output, Value* value) {
  if (wants(output)) result("Identity", {value}, {}, {output});
}

void Expansion::finish() {
  for (size_t i = 0; i < node_.outputs().size(); ++i)
    if (node_.output(i)) fail("output " + std::to_string(i) + " is not supported");
  c_.graph().erase(&node_);
}

}  // namespace wootz
