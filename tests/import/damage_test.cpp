// SPDX-License-Identifier: Apache-2.0
// Damaged files give an Error or a model, never a crash: run with the sanitizers.
#include <gtest/gtest.h>

#include <random>

#include "tests/fuzz/wire_mutator.h"
#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;

/// A small model with a bit of everything.
Bytes rich_model() {
  ModelSpec spec;
  const GraphSpec body{.nodes = {{"Add", {"t", "w"}, {"s"}, {}, "", "test"}},
                       .outputs = {value_info("s", "")}};
  spec.graph.inputs = {float_info("x", {"batch", 2})};
  spec.graph.outputs = {float_info("y", {"batch", 2}), value_info("v", "")};
  spec.graph.value_infos = {float_info("t", {"batch", 2})};
  spec.graph.initializers = {float_tensor("w", {2, 2}, {1, 2, 3, 4}), int64_tensor("i", {2}, {5, 6}),
                             raw_tensor("q", 22, {3}, "\x21\x03")};
  spec.graph.sparse_initializers = {
      sparse_tensor(float_tensor("z", {1}, {7}), int64_tensor("", {1}, {2}), {2, 2})};
  spec.graph.nodes = {
      {"F", {"x"}, {"t"}, {float_attribute("c", 2)}, "call", "local"},
      {"Constant", {}, {"k"}, {tensor_attribute("value", float_tensor("", {1}, {5}))}, "", ""},
      {"Body", {"i", "q", "z"}, {"y"}, {graph_attribute("body", graph(body))}, "", "test"},
      {"Copy", {"k", ""}, {"v"}, {}, "", "test"}};
  spec.functions = {{.domain = "local",
                     .name = "F",
                     .inputs = {"a"},
                     .outputs = {"r"},
                     .attributes = {"c"},
                     .nodes = {{"Scale",
                                {"a"},
                                {"r"},
                                {reference_attribute("by", 1, "c"), int_attribute("mode", 1)},
                                "",
                                "test"}}}};
  spec.opsets.emplace_back("local", 1);
  spec.metadata = {{"k", "v"}};
  return model(spec);
}

/// True when the bytes are still a model.
bool imports(const Bytes& bytes) {
  try {
    test_ops::import(bytes);
    return true;
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    EXPECT_NE(error.kind(), ErrorKind::kInternal) << error.message();
    return false;
  }
}

TEST(ImportDamage, EveryLengthOfATruncatedFile) {
  const Bytes whole = rich_model();
  EXPECT_TRUE(imports(whole)) << test_ops::error_of(whole);
  size_t accepted = 0;
  for (size_t size = 0; size < whole.size(); ++size) accepted += imports(whole.substr(0, size));
  EXPECT_LT(accepted, 10u) << "only cuts between top-level fields may leave a model";
}

TEST(ImportDamage, FlippedBytes) {
  const Bytes whole = rich_model();
  std::mt19937 random(20240607);
  for (int round = 0; round < 20000; ++round) {
    Bytes damaged = whole;
    for (uint32_t n = 1 + random() % 4; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    imports(damaged);
  }
}

TEST(ImportDamage, InsertedAndRepeatedPieces) {
  const Bytes whole = rich_model();
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    Bytes damaged = whole;
    const size_t from = random() % whole.size(), size = random() % 40;
    damaged.insert(random() % damaged.size(), whole.substr(from, size));
    if (random() % 2) damaged.erase(random() % damaged.size(), random() % 20);
    imports(damaged);
  }
}

TEST(ImportDamage, ChangedFields) {
  const Bytes whole = rich_model();
  size_t accepted = 0;
  for (unsigned round = 0; round < 5000; ++round) {
    fuzz::WireMutator mutator(round, [&](std::string& bytes) {
      if (mutator.pick(4) == 0 || bytes.empty()) bytes += "x";
      bytes[mutator.pick(bytes.size())] = static_cast<char>(mutator.pick(256));
    });
    std::vector<fuzz::Field> fields;
    ASSERT_TRUE(fuzz::read_message(whole, fields));
    for (unsigned n = 0; n <= round % 3 && !fields.empty(); ++n) mutator.change(fields);
    accepted += imports(fuzz::text_of(fields));
  }
  EXPECT_GT(accepted, 50u);
}

TEST(ImportDamage, RandomBytes) {
  std::mt19937 random(99);
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % (round % 2 ? 256 : 32));
    imports(bytes);
  }
}

}  // namespace
}  // namespace wootz
