// SPDX-License-Identifier: Apache-2.0
// From a graph in canonical form to an ONNX file that any runtime reads.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "ir/graph.h"

namespace wootz {

struct ExportOptions {
  /// Of ai.onnx. A graph whose operators or types are younger gets the first opset that has them.
  int64_t opset = 21;
  std::map<std::string, std::string> metadata;
  /// A file with more bytes of constants keeps them in PATH.data, since a protobuf message ends at 2 GiB.
  size_t most_bytes_inside = size_t{1500} << 20;
};

/// Writes beside and renames. Symbols of inputs become named dimensions; other expressions are left out.
/// Throws kUnsupported where the graph has operators that no ONNX file can hold (passes make them), kIo.
void export_onnx_file(const Graph& graph, const std::filesystem::path& path,
                      const ExportOptions& options = {});
/// The same in memory; kUnsupported above 2 GiB.
std::string export_onnx_bytes(const Graph& graph, const ExportOptions& options = {});

/// A serialized TensorProto, such as ONNX's test data files hold.
std::string write_tensor_proto(const Tensor& tensor, const std::string& name);

}  // namespace wootz
