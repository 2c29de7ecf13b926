// SPDX-License-Identifier: Apache-2.0
// Operators of domain `test`, so that the importer's tests depend on no real operator.
#pragma once
#include <mutex>
#include <string>

#include "import/onnx/import.h"
#include "ops/canonicalize.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "tests/fuzz/seed_corpus.h"
#include "tests/import/onnx_writer.h"

namespace wootz::test_ops {

inline OpDef op(const char* name, int min_inputs, int max_inputs, void (*infer)(InferContext&)) {
  OpDef def;
  def.domain = "test";
  def.name = name;
  def.min_inputs = min_inputs;
  def.max_inputs = max_inputs;
  def.infer = infer;
  return def;
}

inline void infer_like_first(InferContext& c) { c.set_output(0, c.input(0)); }

/// Test operators: Copy(x, optional), Add(a, b) of one shape, Scale(x) with float `by` and int `mode`,
/// Opaque(x) whose output type nobody knows, Body(x...) with a graph `body`, and Widen(x), whose version 1
/// has an ints attribute `axes` where version 2 has an input.
inline void register_all() {
  static std::once_flag once;
  std::call_once(once, [] {
    OpRegistry& registry = OpRegistry::global();
    OpDef copy = op("Copy", 1, 2, infer_like_first);
    copy.max_outputs = 2;
    registry.add(copy);
    registry.add(op("Add", 2, 2, [](InferContext& c) {
      c.check_same_dtype(0, 1);
      if (c.has_rank(0) && c.has_rank(1)) {
        c.check_rank(1, c.rank(0));
        for (size_t i = 0; i < c.shape(0).size(); ++i) c.equate(c.shape(0)[i], c.shape(1)[i], "dimension");
      }
      infer_like_first(c);
    }));
    OpDef scale = op("Scale", 1, 1, infer_like_first);
    scale.attributes = {{"by", Attribute(1.0f)}, {"mode", Attribute(int64_t{0})}};
    registry.add(scale);
    registry.add(op("Opaque", 1, 1, [](InferContext&) {}));
    OpDef body = op("Body", 0, -1, [](InferContext& c) {
      Graph& graph = *c.attributes().require<GraphPtr>("body");
      infer_graph(graph);
      c.set_output(0, graph.outputs()[0]->type);
    });
    body.attributes = {{"body", std::nullopt}};
    registry.add(body);
    OpDef widen = op("Widen", 1, 2, infer_like_first);
    widen.canonicalize = [](CanonicalizeContext& c) {
      if (c.opset() < 2) c.attribute_to_input("axes", 1);
    };
    registry.add(widen);
  });
}

inline ImportedModel import(const onnx_writer::Bytes& bytes) {
  register_all();
  return import_onnx_bytes(std::as_bytes(std::span(bytes)));
}
inline ImportedModel import(const onnx_writer::ModelSpec& spec) {
  const onnx_writer::Bytes bytes = onnx_writer::model(spec);
  keep_seed("import", bytes);
  return import(bytes);
}

/// The message of the error that importing gives; empty when there is none.
inline std::string error_of(const onnx_writer::Bytes& bytes) {
  try {
    import(bytes);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}
inline std::string error_of(const onnx_writer::ModelSpec& spec) {
  const onnx_writer::Bytes bytes = onnx_writer::model(spec);
  keep_seed("import", bytes);
  return error_of(bytes);
}

}  // namespace wootz::test_ops
