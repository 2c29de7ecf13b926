// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/weight_products.h"

#include <algorithm>
#include <cmath>

#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"

namespace wootz {
namespace {

constexpr int64_t kLeastWeights = 1 << 14;  // below that float32 weights stay in the cache anyway
constexpr int64_t kMostRows = 32;           // above that the unpacking costs more than the bytes saved
constexpr int64_t kMostRowsOnGpu = 16;      // those of the kernel
constexpr int64_t kBlockMultiple = 8;       // nibbles of a word share a scale

bool is_weight_type(DType t) {
  return t == DType::kInt8 || t == DType::kUint8 || t == DType::kInt4 || t == DType::kUint4 ||
         t == DType::kInt2 || t == DType::kUint2 || t == DType::kFloat8E4M3FN || t == DType::kFloat8E5M2;
}

/// [n, k] weights with scales and zeros [n, blocks].
struct Weights {
  Tensor q, scales;
  std::optional<Tensor> zeros;
  int64_t block = 0;
};

/// Element (i, j) of a matrix, or (j, i) of its transpose; the element types of weights take a byte each.
Tensor turned(const Tensor& t) {
  Tensor to = Tensor::zeros(t.dtype(), {t.dims()[1], t.dims()[0]});
  const size_t size = dtype_size(t.dtype());
  const char* from = t.as<char>();
  for (int64_t i = 0; i < t.dims()[0]; ++i)
    for (int64_t j = 0; j < t.dims()[1]; ++j)
      std::copy_n(from + static_cast<size_t>(i * t.dims()[1] + j) * size, size,
                  to.as<char>() + static_cast<size_t>(j * t.dims()[0] + i) * size);
  return to;
}

/// One for the tensor, or one for each row of [n, k], as [n, 1]; nothing for scales along k.
std::optional<Tensor> by_row(const Tensor& t, int64_t n, bool along_rows) {
  if (t.size() != 1 && !(along_rows && t.size() == n)) return std::nullopt;
  const std::vector<double> given = t.to_doubles();
  std::vector<double> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = given[given.size() == 1 ? 0 : i];
  return tensor_from_doubles(t.dtype(), {n, 1}, values);
}

/// What `node` dequantizes for a product of the type; `k_axis` is the axis of its result that is summed over.
std::optional<Weights> read_weights(const Node& node, int64_t k_axis, DType type) {
  const Value *x = node.input(0), *scale = node.input(1), *zero = node.input(2);
  if (!x->is_constant() || !scale->is_constant() || (zero && !zero->is_constant()) ||
      x->constant->rank() != 2 || !is_weight_type(x->type.dtype) || scale->type.dtype != type ||
      node.output(0)->type.dtype != type || x->constant->size() < kLeastWeights)
    return std::nullopt;
  const bool turn = k_axis == 0;
  Weights w{turn ? turned(*x->constant) : *x->constant, {}, std::nullopt, 0};
  const int64_t n = w.q.dims()[0], k = w.q.dims()[1];
  const int64_t given = node.attributes.get<int64_t>("axis", 1), axis = given < 0 ? given + 2 : given,
                block = node.attributes.get<int64_t>("block_size", 0);
  if (block == 0) {
    const auto scales = by_row(*scale->constant, n, axis == 1 - k_axis);
    if (!scales) return std::nullopt;
    w.scales = *scales, w.block = k;
    if (zero) w.zeros = by_row(*zero->constant, n, axis == 1 - k_axis);
    if (zero && !w.zeros) return std::nullopt;
  } else {
    if (axis != k_axis || block % kBlockMultiple != 0) return std::nullopt;
    w.scales = turn ? turned(*scale->constant) : *scale->constant, w.block = std::min(block, k);
    if (zero) w.zeros = turn ? turned(*zero->constant) : *zero->constant;
  }
  const auto finite = [](const Tensor& t) {
    const std::vector<double> v = t.to_doubles();
    return std::all_of(v.begin(), v.end(), [](double d) { return std::isfinite(d); });
  };
  if (type != DType::kFloat32)
    w.scales = tensor_from_doubles(DType::kFloat32, w.scales.dims(), w.scales.to_doubles());
  if (!finite(w.scales) || (is_float(w.q.dtype()) && !finite(w.q))) return std::nullopt;
  return w;
}

bool has_few_rows(const Value& y, int64_t most) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < y.type.shape->size(); ++d) {
    const Dim& dim = (*y.type.shape)[d];
    if (!dim.is_constant()) return true;  // the run may have one
    rows *= dim.value();
  }
  return rows <= most;
}

/// `on_gpu`: rows of 16-bit floats, too.
std::optional<Patch> weight_product(Node& node, bool on_gpu) {
  const bool gemm = node.is("Gemm");
  if (!gemm && !node.is("MatMul")) return std::nullopt;
  const Attributes& a = node.attributes;
  if (gemm &&
      (a.get<float>("alpha", 1) != 1 || a.get<float>("beta", 1) != 1 || a.get<int64_t>("transA", 0) != 0))
    return std::nullopt;
  Value* x = node.input(0);
  Value* y = node.output(0);
  const DType type = x->type.dtype;
  const bool has_kernel =
      type == DType::kFloat32 || (on_gpu && (type == DType::kFloat16 || type == DType::kBFloat16));
  if (!x->type.has_rank() || x->type.rank() < 2 || !has_kernel || !y->type.has_rank() || x->is_constant() ||
      !has_few_rows(*y, on_gpu ? kMostRowsOnGpu : kMostRows))
    return std::nullopt;
  int64_t k_axis = gemm && a.get<int64_t>("transB", 0) != 0 ? 1 : 0;
  const Value* right = node.input(1);
  if (const Node* t = produced_by(right, "Transpose")) {
    if (t->attributes.get<Ints>("perm", {1, 0}) != Ints{1, 0}) return std::nullopt;
    right = t->input(0), k_axis = 1 - k_axis;
  }
  const Node* dequantize = produced_by(right, "DequantizeLinear");
  const auto w = dequantize ? read_weights(*dequantize, k_axis, type) : std::nullopt;
  if (!w) return std::nullopt;
  Patch patch;
  Attributes attributes;
  attributes.set("block", w->block);
  std::vector<PatchOperand> inputs{x, patch.constant(w->q), patch.constant(w->scales)};
  if (w->zeros) inputs.push_back(patch.constant(*w->zeros));
  PatchOperand result = patch.node("wootz", "MatMulDequantized", inputs, attributes, 1);
  if (gemm && node.input(2)) result = patch.node("Add", {result, node.input(2)});
  patch.replace(y, result);
  return patch;
}

bool run_weight_products(Graph& graph, PassContext& context) {
  const bool on_gpu = context.target.name == "cuda";
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_weight_products(*inner, context);
    if (context.exhausted() || !is_live(node)) continue;
    if (std::optional<Patch> patch = weight_product(node, on_gpu))
      changed |= apply_patch(*patch, node, "weight_products", context);
  }
  return changed;
}

}  // namespace

Pass weight_products() {
  return {"weight_products", "Products with dequantized constant weights read these in their few bits.",
          run_weight_products};
}

}  // namespace wootz
