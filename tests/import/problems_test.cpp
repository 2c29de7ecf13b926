// SPDX-License-Identifier: Apache-2.0
// What the importer says about models that are wrong.
#include <gtest/gtest.h>

#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;
using test_ops::error_of;

NodeSpec copy(const std::string& from, const std::string& to, const std::string& name = "") {
  return {"Copy", {from}, {to}, {}, name, "test"};
}

ModelSpec with(const std::vector<NodeSpec>& nodes) {
  ModelSpec spec;
  spec.graph.nodes = nodes;
  spec.graph.inputs = {float_info("x", {2, 3})};
  spec.graph.outputs = {float_info("y", {2, 3})};
  return spec;
}

ErrorKind kind_of(const ModelSpec& spec) {
  try {
    test_ops::import(spec);
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "expected an error";
  return ErrorKind::kInternal;
}

TEST(ImportProblems, UnknownOperatorsAreListedOnce) {
  ModelSpec spec = with({{"Zap", {"x"}, {"a"}, {}, "n1", ""},
                         {"Zap", {"a"}, {"b"}, {}, "", ""},
                         {"Zap", {"a"}, {"c"}, {}, "n3", ""},
                         {"Zap", {"a"}, {"d"}, {}, "n4", ""},
                         {"Pow", {"b"}, {"y"}, {}, "p", "com.acme"}});
  EXPECT_EQ(error_of(spec),
            "2 problems\n"
            "  operator Zap is not supported: 4 nodes, 'n1', 'Zap#1', 'n3', ...\n"
            "  operator com.acme.Pow is not supported: 1 node, 'p'; an operator of your own can be added "
            "(docs/user-operators.md)");
  EXPECT_EQ(kind_of(spec), ErrorKind::kUnsupported);
}

TEST(ImportProblems, EverythingComesInOneReport) {
  ModelSpec spec =
      with({copy("x", "a", "c1"),
            copy("nothing", "b", "c2"),
            copy("b", "c", "c3"),
            copy("x", "a", "c4"),
            {"Scale", {"a"}, {"d"}, {int_attribute("by", 2), int_attribute("wrong", 2)}, "s", "test"},
            {"Add", {"a"}, {"y"}, {}, "sum", "test"},
            {"Zap", {"x"}, {"z"}, {}, "zap", ""}});
  spec.graph.inputs.push_back(float_info("bad", {-5}));
  spec.graph.initializers = {float_tensor("w", {2}, {1, 2, 3})};
  spec.graph.outputs.push_back(float_info("q", {1}));
  EXPECT_EQ(error_of(spec),
            "9 problems\n"
            "  operator Zap is not supported: 1 node, 'zap'\n"
            "  input 'bad': expected a size from 0 to 2^40 for dimension 0, found -5; give the dimension a "
            "name to make it dynamic\n"
            "  initializer 'w': expected 8 bytes of data for float32[2], found 12\n"
            "  test.Copy 'c2': expected an input, initializer or node that gives 'nothing', found none\n"
            "  test.Copy 'c4': expected 'a' to be written once, found an earlier input, initializer or node "
            "that writes it\n"
            "  output 'q': expected a node, an input or an initializer that gives it, found none; the model "
            "is cut wrongly or the name "
            "is misspelt\n"
            "  test.Scale 's': attribute 'by': expected float, found int\n"
            "  test.Scale 's': the operator has no attribute 'wrong' in this opset\n"
            "  test.Add 'sum': expected 2 inputs, found 1");
  EXPECT_EQ(kind_of(spec), ErrorKind::kInvalidModel);
}

TEST(ImportProblems, LongReportsEndWithACount) {
  std::vector<NodeSpec> nodes = {copy("x", "y")};
  for (int i = 0; i < 60; ++i) nodes.push_back(copy("missing" + std::to_string(i), "v" + std::to_string(i)));
  const std::string error = error_of(with(nodes));
  EXPECT_TRUE(error.starts_with("60 problems\n")) << error;
  EXPECT_TRUE(error.ends_with("\n  and 10 more")) << error;
}

TEST(ImportProblems, ShapesAndTypesThatCannotBe) {
  ModelSpec spec = with({{"Add", {"x", "w"}, {"y"}, {}, "sum", "test"}});
  spec.graph.initializers = {float_tensor("w", {2, 4}, std::vector<float>(8))};
  EXPECT_EQ(error_of(spec), "test.Add 'sum': dimension: expected equal dimensions, found 3 and 4");
  spec.graph.initializers = {int64_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6})};
  EXPECT_EQ(error_of(spec),
            "test.Add 'sum': inputs 0 and 1: expected one element type, found float32 and int64");
  spec = with({copy("x", "y", "c")});
  spec.graph.outputs = {value_info("y", tensor_type(7, {2, 3}))};
  EXPECT_EQ(error_of(spec),
            "test.Copy 'c': output 'y': expected float32[2,3] from its inputs, found int64[2,3] declared");
}

TEST(ImportProblems, Cycles) {
  EXPECT_EQ(error_of(with({copy("b", "a", "n1"), copy("a", "b", "n2"), copy("x", "y")})),
            "graph: expected nodes without a cycle, found 2 that wait for each other: 'n1', 'n2'");
  EXPECT_EQ(error_of(with({{"Add", {"x", "y"}, {"y"}, {}, "self", "test"}})),
            "graph: expected nodes without a cycle, found 1 that wait for each other: 'self'");
}

TEST(ImportProblems, NamesThatClash) {
  ModelSpec spec = with({copy("x", "y")});
  spec.graph.inputs.push_back(float_info("x", {1}));
  EXPECT_EQ(error_of(spec),
            "input 'x': expected 'x' to be written once, found an earlier input, initializer or node that "
            "writes it");
  spec = with({copy("x", "x", "c"), copy("x", "y")});
  EXPECT_EQ(error_of(spec),
            "test.Copy 'c': expected 'x' to be written once, found an earlier input, initializer or node "
            "that writes it");
  spec = with({copy("x", "y\xff", "c"), copy("x", "y")});
  EXPECT_EQ(error_of(spec), "test.Copy 'c': expected a name in UTF-8, found other bytes");
}

TEST(ImportProblems, Headers) {
  ModelSpec spec = with({copy("x", "y")});
  spec.ir_version = 99;
  EXPECT_EQ(error_of(spec),
            "expected an ONNX IR version from 3 to 14, found 99; convert the model with a matching version "
            "of the onnx package");
  spec.ir_version = 8;
  spec.opsets = {{"", 29}, {"test", 2}};
  EXPECT_EQ(error_of(spec),
            "opset_import: expected an ai.onnx opset from 1 to 28, found 29; export the model for opset 28 "
            "or older");
  spec.opsets = {{"", 17}, {"ai.onnx", 18}, {"test", 2}};
  EXPECT_EQ(error_of(spec), "opset_import: expected one opset version for domain 'ai.onnx', found 17 and 18");
  EXPECT_EQ(error_of(Bytes()),
            "expected an ONNX model, found no ir_version and no graph; is this the right file?");
  spec = with({copy("x", "y")});
  spec.graph.outputs.clear();
  EXPECT_EQ(error_of(spec), "graph: expected at least one output, found none");
}

TEST(ImportProblems, InputsWithoutTypes) {
  ModelSpec spec = with({copy("x", "y")});
  spec.graph.inputs = {value_info("x", "")};
  EXPECT_EQ(error_of(spec), "input 'x': expected a type, found none; export the model with typed inputs");
  spec.graph.inputs = {float_info("x", {int64_t{1} << 50})};
  EXPECT_EQ(error_of(spec),
            "input 'x': expected a size from 0 to 2^40 for dimension 0, found 1125899906842624; give the "
            "dimension a name "
            "to make it dynamic");
}

TEST(ImportProblems, InitializersThatDoNotFitTheirInput) {
  ModelSpec spec = with({copy("w", "y")});
  spec.graph.inputs.push_back(float_info("w", {3}));
  spec.graph.initializers = {float_tensor("w", {2}, {1, 2})};
  EXPECT_EQ(error_of(spec),
            "initializer 'w': expected the type of the input of that name, float32[3], found float32[2]");
}

TEST(ImportProblems, SparseTensors) {
  ModelSpec spec = with({copy("w", "y")});
  const auto error = [&](const Bytes& indices, const std::vector<int64_t>& dims) {
    spec.graph.sparse_initializers = {sparse_tensor(float_tensor("w", {2}, {7, 8}), indices, dims)};
    return error_of(spec);
  };
  EXPECT_EQ(error(int64_tensor("", {2}, {0, 6}), {2, 3}),
            "initializer 'w': expected indices below 6, found 6");
  EXPECT_EQ(error(int64_tensor("", {2, 2}, {0, 0, 2, 0}), {2, 3}),
            "initializer 'w': expected indices below 2 on axis 0, found 2");
  EXPECT_EQ(error(int64_tensor("", {3}, {0, 1, 2}), {2, 3}),
            "initializer 'w': expected indices [2] or [2,2] for values [2], found int64[3]");
  EXPECT_EQ(error(int64_tensor("", {2}, {0, 1}), {1 << 20, 1 << 20}),
            "initializer 'w': expected a sparse tensor of at most 2 GiB when made dense, found "
            "float32[1048576,1048576]");
}

TEST(ImportProblems, Attributes) {
  EXPECT_EQ(
      error_of(with({{"Scale", {"x"}, {"y"}, {reference_attribute("by", 1, "f")}, "s", "test"}})),
      "test.Scale 's': attribute 'by': expected a value, found a reference to 'f' outside of a function");
  EXPECT_EQ(
      error_of(
          with({{"Scale", {"x"}, {"y"}, {float_attribute("by", 1), float_attribute("by", 2)}, "s", "test"}})),
      "test.Scale 's': attribute 'by': expected it once, found it twice");
  EXPECT_EQ(error_of(with({{"Scale", {"x"}, {"y"}, {attribute("by", 4)}, "s", "test"}})),
            "test.Scale 's': attribute 'by': expected a tensor, found none");
  EXPECT_EQ(error_of(with({{"Body", {}, {"y"}, {int_attribute("body", 4)}, "b", "test"}})),
            "test.Body 'b': attribute 'body': expected kind graph, found int");
  EXPECT_EQ(error_of(with({{"Constant", {}, {"c"}, {}, "k", ""}, copy("x", "y")})),
            "Constant 'k': expected an attribute with the value, found none");
}

TEST(ImportProblems, DeepNestingIsRefused) {
  Bytes inner = graph({.nodes = {copy("x", "s")}, .outputs = {value_info("s", "")}});
  for (int i = 0; i < 70; ++i)
    inner = graph({.nodes = {{"Body", {}, {"s"}, {graph_attribute("body", inner)}, "", "test"}},
                   .outputs = {value_info("s", "")}});
  const std::string error =
      error_of(with({{"Body", {}, {"y"}, {graph_attribute("body", inner)}, "", "test"}}));
  EXPECT_TRUE(
      error.starts_with("expected at most 64 graphs inside each other, found more in a GraphProto at byte "))
      << error;
}

}  // namespace
}  // namespace wootz
