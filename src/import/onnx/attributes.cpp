// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/attributes.h"

#include <array>
#include <optional>

#include "import/onnx/problems.h"
#include "import/onnx/wire.h"

namespace wootz::onnx {
namespace {

/// Calls f at each field of that number.
template <class F>
void for_each_field(const AttributeView& view, const char* base, uint32_t field, F&& f) {
  WireReader in(view.message, "AttributeProto", base);
  while (in.next())
    if (in.field() == field) f(in);
}

/// The last field of that number decides, as in all protobuf messages; a number that is not written is 0.
template <class T, class F>
T last_of(const AttributeView& view, const char* base, uint32_t field, F&& read) {
  T value{};
  for_each_field(view, base, field, [&](WireReader& in) { value = read(in); });
  return value;
}

template <class T>
std::vector<T> numbers_of(const AttributeView& view, const char* base, uint32_t field) {
  std::vector<T> values;
  for_each_field(view, base, field, [&](WireReader& in) { in.append(values); });
  return values;
}

template <class View, class F>
Tensor tensor_of(const AttributeView& view, TensorReader& tensors, uint32_t field, F&& read) {
  std::optional<View> found;
  for_each_field(view, tensors.file_begin(), field, [&](WireReader& in) { found = read(in); });
  if (!found) fail("expected a tensor, found none");
  return tensors.read(*found);
}

TensorView tensor_field(WireReader& in) { return read_tensor(in.message("TensorProto")); }
SparseTensorView sparse_field(WireReader& in) { return read_sparse_tensor(in.message("SparseTensorProto")); }

}  // namespace

std::string_view attribute_kind_name(AttributeKind kind) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
      "strings",   "tensors", "graphs", "sparse tensor", "sparse tensors", "type",  "types"};
  return kNames[static_cast<size_t>(kind)];
}

Attribute read_attribute_value(const AttributeView& view, TensorReader& tensors, TypeReader& types) {
  const char* base = tensors.file_begin();
  switch (view.kind) {
    case AttributeKind::kFloat:
      return last_of<float>(view, base, 2, [](WireReader& in) { return in.float32(); });
    case AttributeKind::kInt:
      return last_of<int64_t>(view, base, 3, [](WireReader& in) { return in.integer(); });
    case AttributeKind::kString:
      return std::string(last_of<std::string_view>(view, base, 4, [](WireReader& in) { return in.bytes(); }));
    case AttributeKind::kTensor: return tensor_of<TensorView>(view, tensors, 5, tensor_field);
    case AttributeKind::kSparseTensor: return tensor_of<SparseTensorView>(view, tensors, 22, sparse_field);
    case AttributeKind::kFloats: return numbers_of<float>(view, base, 7);
    case AttributeKind::kInts: return numbers_of<int64_t>(view, base, 8);
    case AttributeKind::kStrings: {
      Strings strings;
      for_each_field(view, base, 9, [&](WireReader& in) { strings.emplace_back(in.bytes()); });
      return strings;
    }
    case AttributeKind::kTensors: {
      std::vector<Tensor> list;
      for_each_field(view, base, 10, [&](WireReader& in) { list.push_back(tensors.read(tensor_field(in))); });
      return list;
    }
    case AttributeKind::kSparseTensors: {
      std::vector<Tensor> list;
      for_each_field(view, base, 23, [&](WireReader& in) { list.push_back(tensors.read(sparse_field(in))); });
      return list;
    }
    case AttributeKind::kType: {
      std::optional<TypeView> type;
      for_each_field(view, base, 14, [&](WireReader& in) { type = read_type(in.message("TypeProto")); });
      if (!type) fail("expected a type, found none");
      return types.hint(*type, view.name);
    }
    case AttributeKind::kTypes: throw Error(ErrorKind::kUnsupported, "lists of types are not supported");
    default: break;
  }
  fail("expected a value, found none");
}

Tensor read_constant(std::string_view name, const Attribute& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value); tensor && (name == "value" || name == "sparse_value"))
    return *tensor;
  if (const auto* number = std::get_if<float>(&value); number && name == "value_float")
    return Tensor::scalar_float(*number);
  if (const auto* number = std::get_if<int64_t>(&value); number && name == "value_int")
    return Tensor::scalar_int64(*number);
  if (const auto* text = std::get_if<std::string>(&value); text && name == "value_string")
    return Tensor::strings({}, {*text});
  if (const auto* list = std::get_if<Ints>(&value); list && name == "value_ints")
    return Tensor::int64s(*list);
  if (const auto* list = std::get_if<Floats>(&value); list && name == "value_floats")
    return Tensor::from<float>(DType::kFloat32, {static_cast<int64_t>(list->size())}, *list);
  if (const auto* list = std::get_if<Strings>(&value); list && name == "value_strings")
    return Tensor::strings({static_cast<int64_t>(list->size())}, *list);
  fail(
      "expected value, sparse_value, value_int(s), value_float(s) or value_string(s) of its own kind, found "
      "attribute " +
      quote(name) + " of kind " + std::string(wootz::attribute_kind_name(value)));
}

}  // namespace wootz::onnx
