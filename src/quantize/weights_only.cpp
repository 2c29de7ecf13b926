// SPDX-License-Identifier: Apache-2.0
#include "quantize/weights_only.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/element.h"
#include "ops/infer.h"
#include "quantize/weights.h"

namespace wootz {
namespace {

constexpr int64_t kNibbleBlock = 32, kLeastBlock = 16;
constexpr double kUnmeasured = std::numeric_limits<double>::quiet_NaN();

struct BlockedWeights {
  Tensor q, scales;
  std::optional<Tensor> zeros;
};

/// Weights in blocks along `axis` of a matrix: uint4 from the least to the largest of a block, with 0 exact,
/// or int8 around 0.
BlockedWeights in_blocks(const Tensor& w, int64_t axis, int64_t block, bool nibbles) {
  const int64_t rows = w.dims()[0], columns = w.dims()[1];
  Dims dims = w.dims();
  dims[static_cast<size_t>(axis)] = (dims[static_cast<size_t>(axis)] + block - 1) / block;
  BlockedWeights b{Tensor::zeros(nibbles ? DType::kUint4 : DType::kInt8, w.dims()),
                   Tensor::zeros(DType::kFloat32, dims), std::nullopt};
  if (nibbles) b.zeros = Tensor::zeros(DType::kUint4, dims);
  const auto scale_index = [&](int64_t i, int64_t j) {
    return axis == 0 ? i / block * columns + j : i * dims[1] + j / block;
  };
  std::vector<float> low(static_cast<size_t>(b.scales.size()), 0), high(low);
  const float* p = w.as<float>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const auto at = static_cast<size_t>(scale_index(i, j));
      low[at] = std::min(low[at], p[i * columns + j]);
      high[at] = std::max(high[at], p[i * columns + j]);
    }
  for (size_t i = 0; i < low.size(); ++i) {
    const float range = nibbles ? (high[i] - low[i]) / 15 : std::max(high[i], -low[i]) / 127;
    b.scales.as<float>()[i] = range > 0 ? range : 1;
    if (nibbles)
      b.zeros->as<uint8_t>()[i] =
          static_cast<uint8_t>(std::clamp(std::nearbyint(-low[i] / b.scales.as<float>()[i]), 0.0f, 15.0f));
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const auto at = static_cast<size_t>(scale_index(i, j));
      const float steps = std::nearbyint(p[i * columns + j] / b.scales.as<float>()[at]);
      b.q.as<uint8_t>()[i * columns + j] =
          nibbles ? static_cast<uint8_t>(std::clamp(steps + b.zeros->as<uint8_t>()[at], 0.0f, 15.0f))
                  : static_cast<uint8_t>(static_cast<int8_t>(std::clamp(steps, -127.0f, 127.0f)));
    }
  return b;
}

class WeightRewriter {
 public:
  WeightRewriter(Graph& graph, const QuantizeOptions& options) : graph_(graph), options_(options) {
    nibbles_ = options.weights == "int4";
    if (!nibbles_ && options.weights != "int8" && options.weights != "fp8")
      throw Error(ErrorKind::kInvalidArgument,
                  "weights: expected int8, int4 or fp8, found '" + options.weights + "'");
    block_ = nibbles_ && options.block == 0 ? kNibbleBlock : options.block;
    if (block_ != 0 && (block_ < kLeastBlock || (block_ & (block_ - 1)) != 0))
      throw Error(ErrorKind::kInvalidArgument,
                  "block: expected a power of two of at least 16, found " + std::to_string(options.block));
    if (block_ != 0 && options.weights == "fp8")
      throw Error(ErrorKind::kInvalidArgument, "block: fp8 weights have a scale an output channel");
  }

  QuantizedNode rewrite(const QuantTarget& t) {
    const std::string name = quantized_label(*t.node);
    if (t.is_conv())
      return {name, t.node->op, false, "convolutions read few weights", kUnmeasured, kUnmeasured};
    const Tensor& w = *t.w->constant;
    Attributes attributes;
    std::vector<Value*> inputs;
    if (block_ != 0) {
      BlockedWeights b = in_blocks(w, t.depth_axis, block_, nibbles_);
      attributes.set("axis", t.depth_axis);
      attributes.set("block_size", block_);
      inputs = {constant(t, "quantized", b.q), constant(t, "scale", b.scales)};
      if (b.zeros) inputs.push_back(constant(t, "zero_point", *b.zeros));
    } else {
      const DType type = options_.weights == "fp8" ? DType::kFloat8E4M3FN : DType::kInt8;
      const QuantizedWeights q = quantize_weights(w, t.weight_axis, options_.per_channel, {}, type);
      const Dims dims = q.scales.size() > 1 ? Dims{static_cast<int64_t>(q.scales.size())} : Dims{};
      if (q.scales.size() > 1) attributes.set("axis", t.weight_axis);
      inputs = {constant(t, "quantized", q.q),
                constant(t, "scale", Tensor::from<float>(DType::kFloat32, dims, q.scales))};
    }
    Node* dq = graph_.add_node("DequantizeLinear", inputs, t.node);
    dq->name = graph_.unique_name(t.w->name + "_DequantizeLinear");
    dq->attributes = std::move(attributes);
    Value* y = dq->add_output(graph_.unique_name(t.w->name + "_DequantizeLinear_Output"), Type());
    infer_node(*dq);
    t.node->set_input(1, y);
    return {name, t.node->op, true, "", kUnmeasured, kUnmeasured};
  }

 private:
  Value* constant(const QuantTarget& t, const char* what, Tensor tensor) {
    return graph_.add_constant(graph_.unique_name(t.w->name + "_" + what), std::move(tensor));
  }

  Graph& graph_;
  const QuantizeOptions& options_;
  bool nibbles_ = false;
  int64_t block_ = 0;
};

}  // namespace

std::vector<QuantizedNode> quantize_weights_only(Graph& graph, const std::vector<QuantTarget>& targets,
                                                 const QuantizeOptions& options) {
  WeightRewriter rewriter(graph, options);
  std::vector<QuantizedNode> nodes;
  for (const QuantTarget& t : targets) nodes.push_back(rewriter.rewrite(t));
  graph.erase_unused_values();
  return nodes;
}

}  // namespace wootz
