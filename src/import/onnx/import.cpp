// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/import.h"

#include <cstring>
#include <new>

#include "base/files.h"
#include "import/onnx/canonicalize_graph.h"
#include "import/onnx/content_hash.h"
#include "import/onnx/foreign_file.h"
#include "import/onnx/graph_builder.h"
#include "import/onnx/wire.h"
#include "ir/verify.h"

namespace wootz {
namespace {

using namespace onnx;

constexpr int64_t kOldestIrVersion = 3, kNewestIrVersion = 14;

void check_header(const ModelView& model) {
  if (!model.graph && model.ir_version == 0)
    throw Error(ErrorKind::kInvalidModel,
                "expected an ONNX model, found no ir_version and no graph; is this the right file?");
  if (model.ir_version < kOldestIrVersion || model.ir_version > kNewestIrVersion)
    throw Error(ErrorKind::kUnsupported,
                "expected an ONNX IR version from " + std::to_string(kOldestIrVersion) + " to " +
                    std::to_string(kNewestIrVersion) + ", found " + std::to_string(model.ir_version) +
                    "; convert the model with a matching version of the onnx package");
  if (!model.graph)
    throw Error(ErrorKind::kInvalidModel,
                "expected a model with a graph, found none; the file may be cut short");
}

/// Outputs keep their names, whatever canonicalization put in the place of the node that gave them.
void restore_output_names(Graph& graph, const GraphView& view) {
  for (size_t i = 0; i < view.outputs.size(); ++i) {
    Value* value = graph.outputs()[i];
    if (!value->is_graph_input() && graph.find_value(view.outputs[i].name) != value) {
      if (Value* replaced = graph.find_value(view.outputs[i].name))
        replaced->name = graph.unique_name(value->name);
      value->name = std::string(view.outputs[i].name);
    }
  }
}

void describe(const ModelView& view, const BuiltGraph& built, ImportedModel& model) {
  model.producer = std::string(view.producer_name);
  if (!view.producer_version.empty())
    model.producer += (model.producer.empty() ? "" : " ") + std::string(view.producer_version);
  model.ir_version = view.ir_version;
  for (const auto& [domain, version] : view.opset_imports)
    model.opsets[std::string(canonical_domain(domain))] = version;
  for (const auto& [key, value] : view.metadata) model.metadata[std::string(key)] = std::string(value);
  model.fixed_inputs = built.fixed_inputs;
  for (const std::string& name : built.fixed_inputs)
    model.notes.push_back("input " + quote(name) + " has a default value in the file and is now a constant");
  if (view.has_training) model.notes.push_back("the training part of the model is left out");
}

void erase_unused_values(Graph& graph) {
  for (const auto& node : graph.nodes())
    for (Graph* body : node->subgraphs()) erase_unused_values(*body);
  graph.erase_unused_values();
}

/// The model's outer fields; the error for a file of another kind says which kind.
ModelView read_checked(std::string_view file) {
  try {
    ModelView model = read_model(file);
    check_header(model);
    return model;
  } catch (const Error& error) {
    const std::string_view what = foreign_file(file);
    if (what.empty()) throw;
    throw Error(error.kind(), error.message() + "; it looks like " + std::string(what));
  }
}

ImportedModel import(std::string_view file, std::shared_ptr<const void> owner,
                     const std::filesystem::path& folder, const ImportOptions& options) {
  const ModelView view = read_checked(file);
  TensorReader tensors(file, std::move(owner), folder);
  Problems problems;
  GraphBuilder builder(view, tensors, problems);
  BuiltGraph built = builder.build();
  canonicalize_and_infer(built, builder.types(), problems);
  problems.throw_if_any();
  restore_output_names(*built.graph, *view.graph);
  erase_unused_values(*built.graph);
  verify_graph(*built.graph, "import");
  ImportedModel model;
  describe(view, built, model);
  model.graph = std::move(built.graph);
  if (options.content_hash) model.content_hash = content_hash(file, tensors.external());
  return model;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ImportedModel import_onnx_file(const std::filesystem::path& path, const ImportOptions& options) {
  const auto file = MappedFile::open(path.string());
  try {
    const std::filesystem::path folder = path.parent_path();
    return import(file->text(), file, folder.empty() ? "." : folder, options);
  } catch (const Error& error) {
    throw error.at(path.string());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kOutOfMemory, path.string() + ": not enough memory to import the model");
  }
}

ImportedModel import_onnx_bytes(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                                const ImportOptions& options) {
  try {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    return import(as_text(*copy), copy, folder, options);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kOutOfMemory, "not enough memory to import the model");
  }
}

Tensor read_tensor_proto(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  return TensorReader(text, nullptr, {}).read(read_tensor(WireReader(text, "TensorProto")));
}

}  // namespace wootz
