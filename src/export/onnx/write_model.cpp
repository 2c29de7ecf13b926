// SPDX-License-Identifier: Apache-2.0
#include "export/onnx/write_model.h"

#include <wootz/version.h>

#include <memory>
#include <optional>
#include <protozero/pbf_writer.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "export/onnx/opset.h"
#include "export/onnx/tensor_message.h"

namespace wootz {
namespace {

using onnx::ConstantStore;
using onnx::PbfWriter;

constexpr int64_t kIrVersion = 10;
constexpr size_t kMessageLimit = size_t{1} << 31;

class ModelWriter {
 public:
  ModelWriter(const Graph& graph, const ExportOptions& options, ConstantStore* store)
      : graph_(graph), options_(options), store_(store) {}

  std::string run() {
    PbfWriter w(bytes_);
    const std::map<std::string, int64_t> opsets = onnx::required_opsets(graph_, options_.opset);
    w.add_int64(1, std::max(kIrVersion, ir_version(opsets.at(""))));
    w.add_string(2, "wootz");
    w.add_string(3, WOOTZ_VERSION);
    {
      PbfWriter graph(w, 7);
      write_graph(graph, graph_);
    }
    for (const auto& [domain, version] : opsets) {
      PbfWriter opset(w, 8);
      opset.add_string(1, domain);
      opset.add_int64(2, version);
    }
    for (const auto& [key, value] : options_.metadata) {
      PbfWriter entry(w, 14);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
    return std::move(bytes_);
  }

 private:
  static int64_t ir_version(int64_t opset) {
    return opset <= 22 ? 10 : opset <= 23 ? 11 : opset <= 24 ? 12 : 13;
  }

  void write_graph(PbfWriter& w, const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      PbfWriter n(w, 1);
      write_node(n, *node);
    }
    w.add_string(2, graph.name.empty() ? "graph" : graph.name);
    for (const auto& value : graph.values())
      if (value->constant) {
        PbfWriter t(w, 5);
        onnx::write_tensor(t, *value->constant, value->name, store_);
      }
    for (const Value* input : graph.inputs()) w.add_message(11, value_info(*input));
    for (const Value* output : graph.outputs()) w.add_message(12, value_info(*output));
  }

  static std::string value_info(const Value& value) {
    std::string message;
    PbfWriter w(message);
    w.add_string(1, value.name);
    if (value.type.kind != Type::Kind::kUnknown)
      w.add_message(2, onnx::type_message(value.type, value.graph()->symbols()));
    return message;
  }

  void write_node(PbfWriter& w, const Node& node) {
    for (const Value* input : node.inputs()) w.add_string(1, input ? input->name : "");
    for (const Value* output : node.outputs()) w.add_string(2, output ? output->name : "");
    if (!node.name.empty()) w.add_string(3, node.name);
    w.add_string(4, node.op);
    for (const auto& [name, attribute] : node.attributes) {
      PbfWriter a(w, 5);
      a.add_string(1, name);
      std::visit([&](const auto& value) { write_value(a, value); }, attribute);
    }
    if (!node.domain.empty()) w.add_string(7, node.domain);
  }

  // AttributeProto's fields; field 20 is its type.
  static void write_value(PbfWriter& w, int64_t v) { w.add_int64(3, v), w.add_int32(20, 2); }
  static void write_value(PbfWriter& w, float v) { w.add_float(2, v), w.add_int32(20, 1); }
  static void write_value(PbfWriter& w, const std::string& v) { w.add_bytes(4, v), w.add_int32(20, 3); }
  static void write_value(PbfWriter& w, const Ints& v) {
    w.add_packed_int64(8, v.begin(), v.end()), w.add_int32(20, 7);
  }
  static void write_value(PbfWriter& w, const Floats& v) {
    w.add_packed_float(7, v.begin(), v.end()), w.add_int32(20, 6);
  }
  static void write_value(PbfWriter& w, const Strings& v) {
    for (const std::string& each : v) w.add_bytes(9, each);
    w.add_int32(20, 8);
  }
  static void write_value(PbfWriter&, const Shape&) {
    throw Error(ErrorKind::kUnsupported, "expected attributes of ONNX, found a shape, which only Wootz has");
  }
  void write_value(PbfWriter& w, const Type& v) {
    w.add_message(14, onnx::type_message(v, graph_.symbols())), w.add_int32(20, 13);
  }
  static void write_tensor(PbfWriter& w, uint32_t field, const Tensor& v) {
    std::string message;
    PbfWriter t(message);
    onnx::write_tensor(t, v, "", nullptr);
    w.add_message(field, message);
  }
  static void write_value(PbfWriter& w, const Tensor& v) { write_tensor(w, 5, v), w.add_int32(20, 4); }
  static void write_value(PbfWriter& w, const std::vector<Tensor>& v) {
    for (const Tensor& each : v) write_tensor(w, 10, each);
    w.add_int32(20, 9);
  }
  void write_body(PbfWriter& w, uint32_t field, const Graph& v) {
    PbfWriter g(w, field);
    write_graph(g, v);
  }
  void write_value(PbfWriter& w, const GraphPtr& v) { write_body(w, 6, *v), w.add_int32(20, 5); }
  void write_value(PbfWriter& w, const std::vector<GraphPtr>& v) {
    for (const GraphPtr& each : v) write_body(w, 11, *each);
    w.add_int32(20, 10);
  }

  const Graph& graph_;
  const ExportOptions& options_;
  ConstantStore* store_;
  std::string bytes_;
};

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& value : graph.values())
    if (value->constant) bytes += value->constant->size_bytes();
  for (const auto& node : graph.nodes())
    for (const Graph* body : node->subgraphs()) bytes += constant_bytes(*body);
  return bytes;
}

/// PATH.data beside the model; readers map it, so constants begin at multiples of a page.
class DataFile : public ConstantStore {
 public:
  explicit DataFile(const std::filesystem::path& model)
      : location_(model.filename().string() + ".data"), file_(model.string() + ".data") {}

  int64_t put(const void* data, size_t bytes) override {
    if (bytes < kSmall) return -1;
    const std::string gap((kPage - file_.size() % kPage) % kPage, '\0');
    file_.write(gap);
    const auto offset = static_cast<int64_t>(file_.size());
    file_.write(data, bytes);
    return offset;
  }
  std::string location() const override { return location_; }
  void commit() { file_.commit(); }

 private:
  static constexpr size_t kSmall = 1024, kPage = 4096;
  std::string location_;
  AtomicFile file_;
};

}  // namespace

void export_onnx_file(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options) {
  std::optional<DataFile> data;
  if (constant_bytes(graph) > options.most_bytes_inside) data.emplace(path);
  const std::string bytes = ModelWriter(graph, options, data ? &*data : nullptr).run();
  if (data) data->commit();
  write_file_atomically(path.string(), bytes);
}

std::string export_onnx_bytes(const Graph& graph, const ExportOptions& options) {
  if (constant_bytes(graph) >= kMessageLimit)
    throw Error(ErrorKind::kUnsupported,
                "expected at most 2 GiB of constants in one message, found more; write it to a file");
  return ModelWriter(graph, options, nullptr).run();
}

std::string write_tensor_proto(const Tensor& tensor, const std::string& name) {
  std::string message;
  PbfWriter w(message);
  onnx::write_tensor(w, tensor, name, nullptr);
  return message;
}

}  // namespace wootz
