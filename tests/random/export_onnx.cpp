// SPDX-License-Identifier: Apache-2.0
#include "tests/random/export_onnx.h"

#include <filesystem>
#include <fstream>

#include "export/onnx/write_model.h"
#include "ops/evaluate.h"

namespace wootz::random_graphs {
namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
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
  ExportOptions options;
  options.opset = 23;
  export_onnx_file(*made.graph, path / "model.onnx", options);
  for (size_t i = 0; i < made.inputs.size(); ++i)
    write(path / ("in_" + std::to_string(i) + ".pb"),
          write_tensor_proto(made.inputs[i].tensor, made.graph->inputs()[i]->name));
  for (size_t i = 0; i < outputs.size(); ++i)
    write(path / ("out_" + std::to_string(i) + ".pb"),
          write_tensor_proto(outputs[i].tensor, made.graph->outputs()[i]->name));
}

}  // namespace wootz::random_graphs
