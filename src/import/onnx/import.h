// SPDX-License-Identifier: Apache-2.0
// From an ONNX file to a graph in canonical form: every operator in its newest opset's semantics, local
// functions inlined, Constant nodes and initializers as constants, types and shape contents inferred.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

struct ImportOptions {
  /// Hashing reads the whole file and its external data; without it no large weight is touched.
  bool content_hash = true;
};

struct ImportedModel {
  /// Constants view the mapped file where they lie aligned in it; the graph keeps the mapping alive.
  std::shared_ptr<Graph> graph;
  std::string producer;  // name and version
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // by domain, "" is ai.onnx
  std::map<std::string, std::string> metadata;
  /// Inputs with a default value (an initializer of the same name), which have become constants.
  std::vector<std::string> fixed_inputs;
  std::vector<std::string> notes;  // what the user should know but need not change
  /// 32 hexadecimal digits over the model's bytes and its external data; empty when not asked for.
  std::string content_hash;
};

/// Reads a model file; external data is looked for in its folder. Everything that is wrong comes in one
/// Error: kUnsupported when the model is legal but something in it is not supported, kInvalidModel, or kIo.
ImportedModel import_onnx_file(const std::filesystem::path& path, const ImportOptions& options = {});
/// The same for a model in memory, which is copied. `folder` is where external data may lie; empty: nowhere.
ImportedModel import_onnx_bytes(std::span<const std::byte> bytes, const std::filesystem::path& folder = {},
                                const ImportOptions& options = {});

/// A serialized TensorProto, such as ONNX's test data files hold.
Tensor read_tensor_proto(std::span<const std::byte> bytes);

}  // namespace wootz
