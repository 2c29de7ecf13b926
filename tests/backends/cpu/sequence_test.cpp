// SPDX-License-Identifier: Apache-2.0
// Attention, LSTM, GRU and quantization.
#include <gtest/gtest.h>

#include "tests/backends/strided_case.h"

namespace wootz {
namespace {

using P = AttributePair;

StridedCase& attention(StridedCase& c, int64_t causal, bool mask) {
  std::vector<std::string> in = {"0", "1", "2"};
  if (mask) in.push_back("3");
  return c.node("Attention", in, {"y"}, attributes_of(P("scale", 0.3f), P("is_causal", causal)), "wootz")
      .tolerance(1e-5, 1e-5);
}

TEST(Attention, ShapesLayoutsAndMasks) {
  for (int64_t queries : {1, 3, 17, 40})
    for (int64_t size : {5, 64})
      for (int64_t causal : {0, 1})
        for (Storage s : {Storage::kRowMajor, Storage::kPadded, Storage::kReversed}) {
          StridedCase c;
          c.input(random_tensor(DType::kFloat32, {2, 3, queries, size}), s)
              .input(random_tensor(DType::kFloat32, {2, 3, 37, size}, 2), s)
              .input(random_tensor(DType::kFloat32, {2, 3, 37, size + 3}, 3), s);
          attention(c, causal, false).result("y", s).expect("cpu.attention.heads");
        }
  for (const Dims& dims : {Dims{2, 1, 1, 70}, Dims{20, 70}, Dims{2, 3, 20, 70}, Dims{2, 1, 20, 1}}) {
    Tensor mask = random_tensor(DType::kFloat32, dims, 4);
    for (int64_t i = 0; i < mask.size() && i < 70; ++i)
      mask.as<float>()[i] = -std::numeric_limits<float>::infinity();
    StridedCase c;
    c.input(random_tensor(DType::kFloat32, {2, 3, 20, 16}))
        .input(random_tensor(DType::kFloat32, {2, 3, 70, 16}, 2))
        .input(random_tensor(DType::kFloat32, {2, 3, 70, 16}, 3))
        .input(mask);
    attention(c, 0, true).result("y").expect("cpu.attention.heads");
  }
}

TEST(Attention, LongEnoughForTwoThreads) {
  StridedCase c;
  c.input(random_tensor(DType::kFloat32, {1, 4, 130, 64}))
      .input(random_tensor(DType::kFloat32, {1, 4, 130, 64}, 2))
      .input(random_tensor(DType::kFloat32, {1, 4, 130, 64}, 3));
  attention(c, 0, false).result("y").expect("cpu.attention.heads");
  StridedCase half;
  half.input(random_tensor(DType::kFloat16, {1, 1, 60, 32}))
      .input(random_tensor(DType::kFloat16, {1, 1, 60, 32}, 2))
      .input(random_tensor(DType::kFloat16, {1, 1, 60, 32}, 3));
  attention(half, 1, false).result("y").tolerance(4e-3, 2e-3).expect("cpu.attention.heads");
}

TEST(Recurrent, LstmAndGru) {
  for (const char* op : {"LSTM", "GRU"})
    for (const char* direction : {"forward", "reverse", "bidirectional"})
      for (int64_t batch : {1, 3, 8})
        for (int64_t hidden : batch == 8 ? std::vector<int64_t>{40} : std::vector<int64_t>{5, 128}) {
          SCOPED_TRACE(std::string(op) + " " + direction);
          const int64_t steps = batch == 1 ? 53 : 35;  // more than one chunk of projections, and odd
          const bool lstm = op[0] == 'L';
          const int64_t gates = lstm ? 4 : 3, directions = direction[0] == 'b' ? 2 : 1;
          StridedCase c;
          c.input(random_tensor(DType::kFloat32, {steps, batch, 9}))
              .constant(random_tensor(DType::kFloat32, {directions, gates * hidden, 9}, 2, 0.5))
              .constant(random_tensor(DType::kFloat32, {directions, gates * hidden, hidden}, 3, 0.2))
              .constant(random_tensor(DType::kFloat32, {directions, 2 * gates * hidden}, 4, 0.5))
              .input(random_tensor(DType::kFloat32, {directions, batch, hidden}, 5, 0.5));
          std::vector<std::string> in = {"0", "1", "2", "3", "", "4"}, out = {"y", "h"};
          if (lstm) {
            c.input(random_tensor(DType::kFloat32, {directions, batch, hidden}, 6, 0.5));
            in.push_back("5");
            out.push_back("c");
          }
          Attributes a = attributes_of(P("hidden_size", hidden), P("direction", std::string(direction)));
          if (!lstm) a.set("linear_before_reset", static_cast<int64_t>(batch % 2));
          c.node(op, in, out, a);
          for (const std::string& name : out) c.result(name);
          c.tolerance(3e-5, 3e-5).expect(lstm ? "cpu.lstm.steps" : "cpu.gru.steps");
        }
}

TEST(Recurrent, SequencesOfSeveralLengths) {
  for (const char* op : {"LSTM", "GRU"})
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      const int64_t gates = op[0] == 'L' ? 4 : 3, directions = direction[0] == 'b' ? 2 : 1;
      StridedCase()
          .input(random_tensor(DType::kFloat32, {21, 4, 6}))
          .constant(random_tensor(DType::kFloat32, {directions, gates * 10, 6}, 2, 0.5))
          .constant(random_tensor(DType::kFloat32, {directions, gates * 10, 10}, 3, 0.5))
          .input(Tensor::from<int32_t>(DType::kInt32, {4}, std::vector<int32_t>{21, 0, 7, 20}))
          .node(op, {"0", "1", "2", "", "3"}, {"y", "h"},
                attributes_of(P("hidden_size", int64_t{10}), P("direction", std::string(direction))))
          .result("y")
          .result("h")
          .tolerance(3e-5, 3e-5)
          .expect(op[0] == 'L' ? "cpu.lstm.steps" : "cpu.gru.steps");
    }
}

TEST(Quantize, LinearBothWays) {
  for (DType dtype : {DType::kUint8, DType::kInt8})
    for (Storage s : {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed})
      for (bool per_axis : {false, true}) {
        const Dims parameter = per_axis ? Dims{6} : Dims{};
        Tensor scale = random_tensor(DType::kFloat32, parameter, 2);
        for (int64_t i = 0; i < scale.size(); ++i)
          scale.as<float>()[i] = std::fabs(scale.as<float>()[i]) * 0.05f + 0.01f;
        const Tensor zero = random_tensor(dtype, parameter, 3, 20);
        StridedCase()
            .input(random_tensor(DType::kFloat32, {2, 6, 5, 70}, 1, 4), s)
            .constant(scale)
            .constant(zero)
            .node("QuantizeLinear", {"0", "1", "2"}, {"y"}, attributes_of(P("axis", int64_t{1})))
            .result("y", s)
            .tolerance(0, 0)
            .expect("cpu.quantize.tiles");
        StridedCase()
            .input(random_tensor(dtype, {2, 6, 5, 70}, 1, 120), s)
            .constant(scale)
            .constant(zero)
            .node("DequantizeLinear", {"0", "1", "2"}, {"y"}, attributes_of(P("axis", int64_t{-3})))
            .result("y", s)
            .expect("cpu.quantize.tiles");
      }
}

TEST(Quantize, Dynamic) {
  for (double shift : {0.0, 5.0, -5.0}) {
    Tensor x = random_tensor(DType::kFloat32, {300, 130});
    for (int64_t i = 0; i < x.size(); ++i) x.as<float>()[i] += static_cast<float>(shift);
    StridedCase()
        .input(x)
        .node("DynamicQuantizeLinear", {"0"}, {"y", "scale", "zero"})
        .result("y")
        .result("scale")
        .result("zero")
        .tolerance(0, 0)
        .expect("cpu.dynamic_quantize.two_pass");
  }
}

}  // namespace
}  // namespace wootz
