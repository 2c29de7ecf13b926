// SPDX-License-Identifier: Apache-2.0
#include "ops/canonicalize.h"

#include "base/check.h"
#include "ir/element.h"
#include "ops/doubles.h"
#include "ops/registry.h"

namespace wootz {
namespace {

std::string constant_name(const Node& node, std::string_view attribute) {
  std::string stem = !node.name.empty() ? node.name : node.output(0) ? node.output(0)->name : node.op;
  return node.graph()->unique_name(stem + "." + std::string(attribute));
}

void set_new_input(Node& node, size_t index, Value* value) {
  if (node.inputs().size() <= index) node.resize_inputs(index + 1);
  node.set_input(index, value);
}

}  // namespace

void CanonicalizeContext::attribute_to_input(std::string_view attribute, size_t index) {
  const Attribute* found = node_.attributes.find(attribute);
  if (!found) return;
  Ints values;
  if (const int64_t* one = std::get_if<int64_t>(found))
    values = {*one};
  else
    values = node_.attributes.require<Ints>(attribute);
  set_new_input(node_, index, graph().add_constant(constant_name(node_, attribute), Tensor::int64s(values)));
  node_.attributes.erase(attribute);
}

void CanonicalizeContext::scalar_attribute_to_input(std::string_view attribute, size_t index, DType dtype) {
  const Attribute* found = node_.attributes.find(attribute);
  if (!found) return;
  double number = 0;
  if (const int64_t* integer = std::get_if<int64_t>(found))
    number = static_cast<double>(*integer);
  else
    number = static_cast<double>(node_.attributes.require<float>(attribute));
  Tensor scalar = Tensor::zeros(dtype, {});
  store_doubles({&number, 1}, scalar);
  set_new_input(node_, index, graph().add_constant(constant_name(node_, attribute), std::move(scalar)));
  node_.attributes.erase(attribute);
}

void CanonicalizeContext::fail(const std::string& message) const {
  throw Error(ErrorKind::kInvalidModel,
              node_label(node_) + " (opset " + std::to_string(opset_) + "): " + message);
}

}  // namespace wootz
