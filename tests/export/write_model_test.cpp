// SPDX-License-Identifier: Apache-2.0
#include "export/onnx/write_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "import/onnx/import.h"
#include "ir/text.h"
#include "ops/infer.h"

namespace wootz {
namespace {

std::unique_ptr<Graph> inferred(const std::string& text) {
  auto graph = graph_from_text(text);
  for (const auto& node : graph->nodes()) infer_node(*node);
  return graph;
}

ImportedModel read(const std::string& bytes) { return import_onnx_bytes(std::as_bytes(std::span(bytes))); }

void expect_same(const std::string& text, const ExportOptions& options = {}) {
  const auto graph = inferred(text);
  EXPECT_EQ(to_text(*read(export_onnx_bytes(*graph, options)).graph), to_text(*graph));
}

TEST(WriteModel, NamesTypesAttributesAndConstantsReadBack) {
  expect_same(R"(graph net(%x: float32[batch,3,h,8], %s: float32[]) -> (%y, %m) {
  %w: float32[2,3,1,1] = constant [1, 2, 3, 4, 5, 6]
  %t = Conv(%x, %w) {auto_pad="NOTSET", dilations=[1,1], group=1, kernel_shape=[1,1], pads=[0,0,0,0], strides=[1,1]} named conv
  %y = Mul(%t, %s)
  %m = Max(%y)
}
)");
}

TEST(WriteModel, SmallTypesArePacked) {
  expect_same(R"(graph net(%x: float32[3]) -> (%y, %z) {
  %a: int4[3] = constant [-8, 7, -1]
  %s: float32[] = constant 0.5
  %b: uint2[5] = constant [3, 0, 1, 2, 3]
  %t = DequantizeLinear(%a, %s)
  %y = Add(%x, %t)
  %z = Cast(%b) {to=1}
}
)");
}

TEST(WriteModel, BodiesReadValuesAroundThem) {
  expect_same(R"(graph net(%c: bool[], %x: float32[n]) -> (%y) {
  %k: float32[] = constant 2
  %y = If(%c) {else_branch=graph other() -> (%e) {
    %e = Add(%x, %k)
  }, then_branch=graph one() -> (%t) {
    %t = Neg(%x)
  }}
}
)");
}

TEST(WriteModel, SequencesAndStrings) {
  expect_same(R"(graph net(%x: seq(float32[...]), %t: string[2]) -> (%n, %u) {
  %n = SequenceLength(%x)
  %u = Identity(%t)
}
)");
}

TEST(WriteModel, MetadataAndOpsetsAreWritten) {
  const auto graph = inferred("graph net(%x: float32[2]) -> (%y) {\n  %y = Swish(%x)\n}\n");
  ExportOptions options;
  options.metadata["labels"] = "cat,dog";
  const ImportedModel again = read(export_onnx_bytes(*graph, options));
  EXPECT_EQ(again.opsets.at(""), 24);
  EXPECT_EQ(again.metadata.at("labels"), "cat,dog");
  EXPECT_EQ(again.producer.substr(0, 5), "wootz");
}

TEST(WriteModel, LargeConstantsLieBesideTheModel) {
  auto graph = std::make_unique<Graph>();
  graph->name = "net";
  Value* x = graph->add_input("x", Type::tensor(DType::kFloat32, {1000}));
  Tensor data = Tensor::zeros(DType::kFloat32, {1000});
  for (int i = 0; i < 1000; ++i) data.as<float>()[i] = static_cast<float>(i);
  Node* node = graph->add_node("Add", {x, graph->add_constant("w", data)});
  graph->add_output(node->add_output("y", {}));
  infer_node(*node);
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / (std::to_string(::getpid()) + "large.onnx");
  ExportOptions options;
  options.most_bytes_inside = 100;
  export_onnx_file(*graph, path, options);
  EXPECT_LT(std::filesystem::file_size(path), 500u);
  EXPECT_EQ(std::filesystem::file_size(path.string() + ".data"), 4000u);
  EXPECT_EQ(to_text(*import_onnx_file(path).graph), to_text(*graph));
}

TEST(WriteModel, OperatorsThatOnlyWootzHasAreRefused) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", Type::tensor(DType::kFloat32, {1}));
  graph->add_output(graph->add_node("wootz", "Relayout", {x})->add_output("y", x->type));
  try {
    export_onnx_bytes(*graph);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
  }
}

}  // namespace
}  // namespace wootz
