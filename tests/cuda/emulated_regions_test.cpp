// SPDX-License-Identifier: Apache-2.0
// Generated kernels on shapes and storages that the operators' samples do not have.
#include "tests/cuda/emulated.h"

namespace wootz {
namespace {

using P = AttributePair;
constexpr Storage kStorages[] = {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed,
                                 Storage::kPadded};
constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

std::string name(DType dtype, int storage) {
  return std::string(dtype_name(dtype)) + " " + std::to_string(storage);
}

TEST(PlannedCuda, Pointwise) {
  EmulatedSuite suite;
  for (const Dims& dims : {Dims{2, 16, 5, 8}, Dims{3, 7, 5, 3}})
    for (int s = 0; s < 4; ++s)
      for (DType dtype : kFloats)
        suite.add("bias, residual, gelu " + name(dtype, s), "cuda.pointwise.vectors")
            .input(random_tensor(dtype, dims, 1), kStorages[s])
            .input(random_tensor(dtype, {dims[1], 1, 1}, 2))
            .input(random_tensor(dtype, dims, 3), kStorages[(s + 1) % 2])
            .node("Add", {"0", "1"}, {"a"})
            .node("Gelu", {"a"}, {"b"})
            .node("Add", {"b", "2"}, {"y"})
            .result("y", kStorages[s])
            .tolerance(2e-5, 1e-5);
  suite.add("casts, two results", "cuda.pointwise.vectors")
      .input(random_tensor(DType::kFloat16, {1003}, 1, 9))
      .node("Cast", {"0"}, {"a"}, attributes_of(P("to", int64_t{1})))
      .node("Cast", {"a"}, {"b"}, attributes_of(P("to", int64_t{3})))
      .node("Sigmoid", {"a"}, {"c"})
      .result("b")
      .result("c");
  suite.run("pointwise");
}

TEST(PlannedCuda, Movement) {
  EmulatedSuite suite;
  for (DType dtype : {DType::kFloat16, DType::kFloat32, DType::kUint8, DType::kInt64}) {
    suite.add("tiles " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {2, 72, 9, 16}))
        .node("Relayout", {"0"}, {"y"}, attributes_of(P("layout", std::string("channels_last"))), "wootz")
        .result("y", Storage::kChannelsLast);
    suite.add("tiles back " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {2, 67, 9, 11}), Storage::kChannelsLast)
        .node("Relayout", {"0"}, {"y"}, attributes_of(P("layout", std::string("row_major"))), "wootz")
        .result("y");
    suite.add("heads " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {2, 20, 3, 16}))
        .node("Transpose", {"0"}, {"y"}, attributes_of(P("perm", Ints{0, 2, 3, 1})))
        .result("y");
    suite.add("concat " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {2, 24, 5, 4}), Storage::kChannelsLast)
        .input(random_tensor(dtype, {2, 7, 5, 4}, 2))
        .node("Concat", {"0", "1"}, {"y"}, attributes_of(P("axis", int64_t{1})))
        .result("y", Storage::kChannelsLast);
    suite.add("concat of wide pieces " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {2, 64, 5, 4}), Storage::kChannelsLast)
        .input(random_tensor(dtype, {2, 32, 5, 4}, 2))
        .node("Concat", {"0", "1"}, {"y"}, attributes_of(P("axis", int64_t{1})))
        .result("y", Storage::kChannelsLast);
    suite.add("concat of narrow pieces " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {2, 3, 9, 2}))
        .input(random_tensor(dtype, {2, 3, 9, 2}, 2), Storage::kReversed)
        .input(random_tensor(dtype, {2, 3, 9, 81}, 3), Storage::kPadded)
        .node("Concat", {"0", "1", "2"}, {"y"}, attributes_of(P("axis", int64_t{-1})))
        .result("y");
    suite.add("concat of narrow and wide pieces " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {5, 29, 2}))
        .input(random_tensor(dtype, {5, 29, 40}, 2), Storage::kPadded)
        .input(random_tensor(dtype, {5, 29, 158}, 3))
        .node("Concat", {"0", "1", "2"}, {"y"}, attributes_of(P("axis", int64_t{-1})))
        .result("y", Storage::kPadded);
    suite.add("a run of elements " + name(dtype, 0), "cuda.movement.copies")
        .input(random_tensor(dtype, {1021}))
        .node("Identity", {"0"}, {"y"})
        .result("y");
  }
  suite.run("movement");
}

TEST(PlannedCuda, Reductions) {
  EmulatedSuite suite;
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceLogSumExp"})
    for (const Ints& axes : {Ints{1}, {2, 3}, {0, 1, 2, 3}, {0, 2}})
      for (int s = 0; s < 4; ++s)
        for (DType dtype : {DType::kFloat32, DType::kFloat16})
          suite.add(op + (" " + name(dtype, s)), "cuda.reduce.groups")
              .input(random_tensor(dtype, {3, 40, 6, 9}), kStorages[s])
              .constant(Tensor::int64s(axes))
              .input(random_tensor(dtype, {1}, 2))
              .node(op, {"0", "1"}, {"r"})
              .node("Mul", {"r", "2"}, {"y"})
              .result("y", kStorages[s])
              .tolerance(1e-5, 1e-5);
  suite.add("two steps", "cuda.reduce.groups")
      .input(random_tensor(DType::kFloat32, {2, 40000}))
      .constant(Tensor::int64s(std::vector<int64_t>{1}))
      .node("ReduceMax", {"0", "1"}, {"y"})
      .result("y");
  suite.add("columns in two steps", "cuda.reduce.groups")
      .input(random_tensor(DType::kFloat16, {1, 40, 30, 40}), Storage::kChannelsLast)
      .node("GlobalAveragePool", {"0"}, {"y"})
      .result("y", Storage::kChannelsLast);
  suite.add("arg over a long line", "cuda.reduce.groups")
      .input(random_tensor(DType::kFloat32, {2, 5000}))
      .node("ArgMax", {"0"}, {"y"}, attributes_of(P("axis", int64_t{1})))
      .result("y");
  suite.add("extremes", "cuda.reduce.groups")
      .input(extreme_tensor({40, 40}))
      .constant(Tensor::int64s(std::vector<int64_t>{1}))
      .node("ReduceMax", {"0", "1"}, {"y"})
      .result("y");
  suite.run("reductions");
}

TEST(PlannedCuda, Rows) {
  EmulatedSuite suite;
  for (int64_t length : {int64_t{96}, int64_t{7}, int64_t{64}, int64_t{768}, int64_t{1536}})
    for (DType dtype : kFloats) {
      suite.add("softmax " + std::to_string(length) + name(dtype, 0), "cuda.softmax.rows")
          .input(random_tensor(dtype, {5, length}))
          .node("Softmax", {"0"}, {"y"})
          .result("y");
      suite.add("layer norm " + std::to_string(length) + name(dtype, 0), "cuda.norm.rows")
          .input(random_tensor(dtype, {2, 3, length}))
          .input(random_tensor(dtype, {length}, 2))
          .input(random_tensor(dtype, {length}, 3))
          .input(random_tensor(dtype, {2, 3, length}, 4))
          .node("LayerNormalization", {"0", "1", "2"}, {"n"})
          .node("Add", {"n", "3"}, {"y"})
          .result("y")
          .tolerance(1e-5, 1e-5);
    }
  for (bool kept : {true, false})
    for (DType dtype : {DType::kFloat32, DType::kFloat16})
      for (int64_t length : {int64_t{96}, int64_t{2050}}) {
        EmulatedProblem& p =
            suite.add("quantized layer norm " + std::to_string(length) + name(dtype, kept), "cuda.norm.rows");
        p.input(random_tensor(dtype, {2, 3, length}));
        for (int i = 0; i < 2; ++i) p.input(random_tensor(dtype, {length}, static_cast<unsigned>(2 + i)));
        for (float x : {0.37f, 101.0f, 0.0f, 255.0f}) p.constant(Tensor::scalar_float(x));
        p.node("LayerNormalization", {"0", "1", "2"}, {"n"})
            .node("Cast", {"n"}, {"wide"}, attributes_of(P("to", int64_t{1})))
            .node("Div", {"wide", "3"}, {"q0"})
            .node("Round", {"q0"}, {"q1"})
            .node("Add", {"q1", "4"}, {"q2"})
            .node("Clip", {"q2", "5", "6"}, {"q3"})
            .node("Cast", {"q3"}, {"q"}, attributes_of(P("to", int64_t{2})))
            .tolerance(1e-5, 1e-5);
        if (kept) p.result("n");
        p.result("q");
      }
  for (int s = 0; s < 4; ++s) {
    suite.add("softmax over channels " + std::to_string(s), "cuda.softmax.rows")
        .input(random_tensor(DType::kFloat32, {2, 20, 5, 9}), kStorages[s])
        .node("LogSoftmax", {"0"}, {"y"}, attributes_of(P("axis", int64_t{1})))
        .result("y", kStorages[s]);
    suite.add("group norm " + std::to_string(s), "cuda.norm.rows")
        .input(random_tensor(DType::kFloat32, {2, 20, 5, 9}), kStorages[s])
        .input(random_tensor(DType::kFloat32, {20}, 2))
        .input(random_tensor(DType::kFloat32, {20}, 3))
        .node("GroupNormalization", {"0", "1", "2"}, {"y"}, attributes_of(P("num_groups", int64_t{4})))
        .result("y", kStorages[s])
        .tolerance(1e-5, 1e-5);
  }
  suite.run("rows");
}

TEST(PlannedCuda, Windows) {
  EmulatedSuite suite;
  for (int s = 0; s < 3; ++s)
    for (DType dtype : kFloats) {
      for (const char* op : {"MaxPool", "AveragePool"})
        suite.add(op + (" " + name(dtype, s)), "cuda.pool.elements")
            .input(random_tensor(dtype, {2, 16, 9, 11}), kStorages[s])
            .node(op, {"0"}, {"y"},
                  attributes_of(P("kernel_shape", Ints{3, 3}), P("strides", Ints{2, 2}),
                                P("pads", Ints{1, 1, 1, 1})))
            .result("y", kStorages[s]);
      suite.add("resize " + name(dtype, s), "cuda.resize.elements")
          .input(random_tensor(dtype, {2, 16, 5, 7}), kStorages[s])
          .constant(Tensor())
          .constant(Tensor())
          .constant(Tensor::int64s(std::vector<int64_t>{2, 16, 10, 13}))
          .node("Resize", {"0", "", "", "3"}, {"y"}, attributes_of(P("mode", std::string("linear"))))
          .result("y", kStorages[s])
          .tolerance(1e-5, 1e-5);
    }
  suite.add("rows of an embedding", "cuda.indexing.elements")
      .input(random_tensor(DType::kFloat16, {50, 48}))
      .input(random_tensor(DType::kInt64, {2, 9}, 2, 40))
      .node("Gather", {"0", "1"}, {"y"})
      .result("y");
  suite.run("windows");
}

struct AttentionShape {
  Dims q, k;
  int64_t values;
  Dims mask;
  bool causal;
};

TEST(PlannedCuda, Attention) {
  EmulatedSuite suite;
  const AttentionShape shapes[] = {{{2, 3, 40, 64}, {2, 3, 40, 64}, 64, {2, 1, 1, 40}, false},
                                   {{1, 1, 70, 32}, {1, 1, 150, 32}, 32, {}, false},
                                   {{1, 1, 70, 80}, {1, 1, 70, 80}, 80, {}, true},
                                   {{1, 2, 5, 20}, {1, 2, 66, 20}, 13, {1, 2, 5, 66}, false},
                                   {{1, 1, 33, 128}, {1, 1, 65, 128}, 128, {}, false},
                                   {{4, 2, 17, 32}, {4, 2, 17, 32}, 32, {2, 2, 17, 17}, false},
                                   {{2, 4, 20, 32}, {2, 2, 20, 32}, 32, {}, false}};
  for (const AttentionShape& shape : shapes)
    for (DType dtype : kFloats)
      for (int s = 0; s < (shape.q[2] < 35 ? 2 : 1); ++s) {
        if (dtype == DType::kBFloat16 && shape.q[2] > 40) continue;
        const Dims values = {shape.k[0], shape.k[1], shape.k[2], shape.values};
        for (const std::string tactic : {"cuda.attention.tiles", "cuda.attention.split",
                                         "cuda.attention.floats", "cuda.attention.warps"}) {
          const bool is_general = tactic == "cuda.attention.warps";
          if (!is_general && (dtype == DType::kFloat32) != (tactic == "cuda.attention.floats")) continue;
          auto& problem =
              suite.add(tactic + (" " + name(dtype, s)) + " " + std::to_string(shape.q[2]), tactic)
                  .input(random_tensor(dtype, shape.q, 1), s ? Storage::kPadded : Storage::kRowMajor)
                  .input(random_tensor(dtype, shape.k, 2), s ? Storage::kPadded : Storage::kRowMajor)
                  .input(random_tensor(dtype, values, 3), s ? Storage::kPadded : Storage::kRowMajor);
          std::vector<std::string> in = {"0", "1", "2"};
          if (!shape.mask.empty()) problem.input(random_tensor(dtype, shape.mask, 4, 3)), in.push_back("3");
          problem
              .node("Attention", in, {"y"},
                    attributes_of(P("scale", 0.125f), P("is_causal", int64_t{shape.causal})), "wootz")
              .result("y")
              .tolerance(1e-5, 1e-5);
        }
      }
  suite.run("attention");
}

}  // namespace
}  // namespace wootz
