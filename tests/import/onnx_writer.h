// SPDX-License-Identifier: Apache-2.0
// Writes small ONNX models for tests. Each function returns the bytes of one message.
#pragma once
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace wootz::onnx_writer {

using Bytes = std::string;  // a serialized message
using Names = std::vector<std::string>;

/// A dimension: a number, a dim_param, or (empty text) nothing.
using DimSpec = std::variant<int64_t, std::string>;

inline Bytes tensor_header(const std::string& name, int dtype, const std::vector<int64_t>& dims) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_packed_int64(1, dims.begin(), dims.end());
  w.add_int32(2, dtype);
  if (!name.empty()) w.add_string(8, name);
  return out;
}

inline Bytes raw_tensor(const std::string& name, int dtype, const std::vector<int64_t>& dims,
                        const std::string& raw) {
  Bytes out = tensor_header(name, dtype, dims);
  protozero::pbf_writer(out).add_bytes(9, raw);
  return out;
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline Bytes float_tensor(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<float>& values) {
  return raw_tensor(name, 1, dims, raw_bytes(values));
}

inline Bytes int64_tensor(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<int64_t>& values) {
  Bytes out = tensor_header(name, 7, dims);
  protozero::pbf_writer(out).add_packed_int64(7, values.begin(), values.end());
  return out;
}

inline Bytes pair_message(const std::string& key, const std::string& value) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_string(1, key);
  w.add_string(2, value);
  return out;
}

inline Bytes external_tensor(const std::string& name, int dtype, const std::vector<int64_t>& dims,
                             const std::vector<std::pair<std::string, std::string>>& entries) {
  Bytes out = tensor_header(name, dtype, dims);
  protozero::pbf_writer w(out);
  for (const auto& [key, value] : entries) w.add_message(13, pair_message(key, value));
  w.add_int32(14, 1);
  return out;
}

inline Bytes sparse_tensor(const Bytes& values, const Bytes& indices, const std::vector<int64_t>& dims) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_message(1, values);
  w.add_message(2, indices);
  w.add_packed_int64(3, dims.begin(), dims.end());
  return out;
}

inline Bytes shape(const std::vector<DimSpec>& dims) {
  Bytes out;
  protozero::pbf_writer w(out);
  for (const DimSpec& dim : dims) {
    Bytes d;
    protozero::pbf_writer dw(d);
    if (const auto* value = std::get_if<int64_t>(&dim))
      dw.add_int64(1, *value);
    else if (!std::get<std::string>(dim).empty())
      dw.add_string(2, std::get<std::string>(dim));
    w.add_message(1, d);
  }
  return out;
}

inline Bytes tensor_type(int dtype, const std::vector<DimSpec>& dims) {
  Bytes tensor, out;
  protozero::pbf_writer w(tensor);
  w.add_int32(1, dtype);
  w.add_message(2, shape(dims));
  protozero::pbf_writer(out).add_message(1, tensor);
  return out;
}

inline Bytes value_info(const std::string& name, const Bytes& type) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  if (!type.empty()) w.add_message(2, type);
  return out;
}

inline Bytes float_info(const std::string& name, const std::vector<DimSpec>& dims) {
  return value_info(name, tensor_type(1, dims));
}

// Attributes.
inline Bytes attribute(const std::string& name, int kind) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  w.add_int32(20, kind);
  return out;
}
inline Bytes int_attribute(const std::string& name, int64_t value) {
  Bytes out = attribute(name, 2);
  protozero::pbf_writer(out).add_int64(3, value);
  return out;
}
inline Bytes float_attribute(const std::string& name, float value) {
  Bytes out = attribute(name, 1);
  protozero::pbf_writer(out).add_float(2, value);
  return out;
}
inline Bytes string_attribute(const std::string& name, const std::string& value) {
  Bytes out = attribute(name, 3);
  protozero::pbf_writer(out).add_bytes(4, value);
  return out;
}
inline Bytes ints_attribute(const std::string& name, const std::vector<int64_t>& values) {
  Bytes out = attribute(name, 7);
  protozero::pbf_writer w(out);
  for (const int64_t v : values) w.add_int64(8, v);  // proto2: one field a number
  return out;
}
inline Bytes tensor_attribute(const std::string& name, const Bytes& tensor) {
  Bytes out = attribute(name, 4);
  protozero::pbf_writer(out).add_message(5, tensor);
  return out;
}
inline Bytes graph_attribute(const std::string& name, const Bytes& graph) {
  Bytes out = attribute(name, 5);
  protozero::pbf_writer(out).add_message(6, graph);
  return out;
}
inline Bytes reference_attribute(const std::string& name, int kind, const std::string& reference) {
  Bytes out = attribute(name, kind);
  protozero::pbf_writer(out).add_string(21, reference);
  return out;
}

struct NodeSpec {
  std::string op;
  Names inputs, outputs;
  std::vector<Bytes> attributes = {};
  std::string name = {};
  std::string domain = {};
  std::string overload = {};
};
inline Bytes node(const NodeSpec& spec) {
  Bytes out;
  protozero::pbf_writer w(out);
  for (const auto& name : spec.inputs) w.add_string(1, name);
  for (const auto& name : spec.outputs) w.add_string(2, name);
  if (!spec.name.empty()) w.add_string(3, spec.name);
  w.add_string(4, spec.op);
  for (const auto& a : spec.attributes) w.add_message(5, a);
  if (!spec.domain.empty()) w.add_string(7, spec.domain);
  if (!spec.overload.empty()) w.add_string(8, spec.overload);
  return out;
}

struct GraphSpec {
  std::vector<NodeSpec> nodes = {};
  std::vector<Bytes> inputs = {}, outputs = {}, initializers = {}, value_infos = {}, sparse_initializers = {};
  std::string name = "g";
};
inline Bytes graph(const GraphSpec& spec) {
  Bytes out;
  protozero::pbf_writer w(out);
  for (const auto& n : spec.nodes) w.add_message(1, node(n));
  w.add_string(2, spec.name);
  for (const auto& t : spec.initializers) w.add_message(5, t);
  for (const auto& v : spec.inputs) w.add_message(11, v);
  for (const auto& v : spec.outputs) w.add_message(12, v);
  for (const auto& v : spec.value_infos) w.add_message(13, v);
  for (const auto& t : spec.sparse_initializers) w.add_message(15, t);
  return out;
}

inline Bytes opset(const std::string& domain, int64_t version) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_string(1, domain);
  w.add_int64(2, version);
  return out;
}

using OpsetSpec = std::vector<std::pair<std::string, int64_t>>;

struct FunctionSpec {
  std::string domain, name;
  Names inputs, outputs, attributes = {};
  std::vector<NodeSpec> nodes = {};
  std::vector<Bytes> attribute_defaults = {};
  OpsetSpec opsets = {{"", 17}, {"test", 2}};
  std::string overload = {};
};
inline Bytes function(const FunctionSpec& spec) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_string(1, spec.name);
  for (const auto& n : spec.inputs) w.add_string(4, n);
  for (const auto& n : spec.outputs) w.add_string(5, n);
  for (const auto& n : spec.attributes) w.add_string(6, n);
  for (const auto& n : spec.nodes) w.add_message(7, node(n));
  for (const auto& [domain, version] : spec.opsets) w.add_message(9, opset(domain, version));
  w.add_string(10, spec.domain);
  for (const auto& a : spec.attribute_defaults) w.add_message(11, a);
  if (!spec.overload.empty()) w.add_string(13, spec.overload);
  return out;
}

struct ModelSpec {
  GraphSpec graph;
  std::vector<FunctionSpec> functions = {};
  OpsetSpec opsets = {{"", 17}, {"test", 2}};
  int64_t ir_version = 8;
  std::vector<std::pair<std::string, std::string>> metadata = {};
};
inline Bytes model(const ModelSpec& spec) {
  Bytes out;
  protozero::pbf_writer w(out);
  w.add_int64(1, spec.ir_version);
  w.add_string(2, "writer");
  w.add_string(3, "1.2");
  w.add_message(7, graph(spec.graph));
  for (const auto& [domain, version] : spec.opsets) w.add_message(8, opset(domain, version));
  for (const auto& [key, value] : spec.metadata) w.add_message(14, pair_message(key, value));
  for (const auto& f : spec.functions) w.add_message(25, function(f));
  return out;
}

}  // namespace wootz::onnx_writer
