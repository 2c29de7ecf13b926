// SPDX-License-Identifier: Apache-2.0
#include "tests/random/export_onnx.h"

#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>

#include "ops/evaluate.h"

namespace wootz::random_graphs {
namespace {

using Bytes = std::string;
using protozero::pbf_writer;

constexpr int64_t kOpset = 23;

/// 2- and 4-bit elements lie packed in a file.
Bytes packed(const Tensor& tensor) {
  const int bits = dtype_file_bits(tensor.dtype());
  Bytes raw(static_cast<size_t>((tensor.size() * bits + 7) / 8), '\0');
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto low = static_cast<unsigned>(tensor.as<uint8_t>()[i]) & ((1u << bits) - 1);
    raw[static_cast<size_t>(i * bits / 8)] |= static_cast<char>(low << (i * bits % 8));
  }
  return raw;
}

Bytes tensor_proto(const Tensor& tensor, const std::string& name) {
  Bytes out;
  pbf_writer w(out);
  w.add_packed_int64(1, tensor.dims().begin(), tensor.dims().end());
  w.add_int32(2, static_cast<int32_t>(tensor.dtype()));
  w.add_string(8, name);
  if (tensor.dtype() == DType::kString)
    for (const std::string& each : tensor.span<std::string>()) w.add_bytes(6, each);
  else if (dtype_file_bits(tensor.dtype()) < 8)
    w.add_bytes(9, packed(tensor));
  else
    w.add_bytes(9, static_cast<const char*>(tensor.data()), tensor.size_bytes());
  return out;
}

Bytes type_proto(const Type& type) {
  Bytes tensor, out;
  pbf_writer w(tensor);
  w.add_int32(1, static_cast<int32_t>(type.dtype));
  if (type.has_static_shape()) {
    Bytes shape;
    pbf_writer s(shape);
    for (const Dim& d : *type.shape) {
      Bytes dim;
      pbf_writer(dim).add_int64(1, d.value());
      s.add_message(1, dim);
    }
    w.add_message(2, shape);
  }
  pbf_writer(out).add_message(1, tensor);
  return out;
}

Bytes value_info(const Value& value) {
  Bytes out;
  pbf_writer w(out);
  w.add_string(1, value.name);
  if (value.type.is_tensor()) w.add_message(2, type_proto(value.type));
  return out;
}

Bytes graph_proto(const Graph& graph);

/// AttributeProto; its field numbers and type numbers are ONNX's.
struct AttributeWriter {
  pbf_writer& w;
  void type(int32_t number) { w.add_int32(20, number); }
  void operator()(int64_t v) { w.add_int64(3, v), type(2); }
  void operator()(float v) { w.add_float(2, v), type(1); }
  void operator()(const std::string& v) { w.add_bytes(4, v), type(3); }
  void operator()(const Tensor& v) { w.add_message(5, tensor_proto(v, "")), type(4); }
  void operator()(const GraphPtr& v) { w.add_message(6, graph_proto(*v)), type(5); }
  void operator()(const Ints& v) { w.add_packed_int64(8, v.begin(), v.end()), type(7); }
  void operator()(const Floats& v) { w.add_packed_float(7, v.begin(), v.end()), type(6); }
  void operator()(const Strings& v) {
    for (const std::string& each : v) w.add_bytes(9, each);
    type(8);
  }
  void operator()(const Type& v) { w.add_message(14, type_proto(v)), type(13); }
  void operator()(const Shape&) {}
  void operator()(const std::vector<Tensor>& v) {
    for (const Tensor& each : v) w.add_message(10, tensor_proto(each, ""));
    type(9);
  }
  void operator()(const std::vector<GraphPtr>& v) {
    for (const GraphPtr& each : v) w.add_message(11, graph_proto(*each));
    type(10);
  }
};

Bytes node_proto(const Node& node) {
  Bytes out;
  pbf_writer w(out);
  for (const Value* input : node.inputs()) w.add_string(1, input ? input->name : "");
  for (const Value* output : node.outputs()) w.add_string(2, output ? output->name : "");
  w.add_string(3, node.name);
  w.add_string(4, node.op);
  for (const auto& [name, attribute] : node.attributes) {
    Bytes bytes;
    pbf_writer writer(bytes);
    writer.add_string(1, name);
    std::visit(AttributeWriter{writer}, attribute);
    w.add_message(5, bytes);
  }
  if (!node.domain.empty()) w.add_string(7, node.domain);
  return out;
}

Bytes graph_proto(const Graph& graph) {
  Bytes out;
  pbf_writer w(out);
  for (const auto& node : graph.nodes()) w.add_message(1, node_proto(*node));
  w.add_string(2, "g");
  for (const auto& value : graph.values())
    if (value->constant) w.add_message(5, tensor_proto(*value->constant, value->name));
  for (const Value* input : graph.inputs()) w.add_message(11, value_info(*input));
  for (const Value* output : graph.outputs()) w.add_message(12, value_info(*output));
  return out;
}

Bytes model_proto(const Graph& graph) {
  Bytes out;
  pbf_writer w(out);
  w.add_int64(1, 10);
  w.add_message(7, graph_proto(graph));
  for (const auto& [domain, version] : {std::pair<const char*, int64_t>{"", kOpset}, {"ai.onnx.ml", 4}}) {
    Bytes opset;
    pbf_writer o(opset);
    o.add_string(1, domain);
    o.add_int64(2, version);
    w.add_message(8, opset);
  }
  return out;
}

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

void export_case(const MadeGraph& made, const std::string& folder) {
  const auto is_tensor = [](const Value* value) { return value->type.is_tensor(); };
  for (const Value* value : made.graph->inputs())
    if (!is_tensor(value)) return;
  for (const Value* value : made.graph->outputs())
    if (!is_tensor(value)) return;
  const std::vector<Datum> outputs = evaluate_graph(*made.graph, made.inputs);
  std::filesystem::create_directories(folder);
  const std::filesystem::path path(folder);
  write(path / "model.onnx", model_proto(*made.graph));
  for (size_t i = 0; i < made.inputs.size(); ++i)
    write(path / ("in_" + std::to_string(i) + ".pb"),
          tensor_proto(made.inputs[i].tensor, made.graph->inputs()[i]->name));
  for (size_t i = 0; i < outputs.size(); ++i)
    write(path / ("out_" + std::to_string(i) + ".pb"),
          tensor_proto(outputs[i].tensor, made.graph->outputs()[i]->name));
}

}  // namespace wootz::random_graphs
