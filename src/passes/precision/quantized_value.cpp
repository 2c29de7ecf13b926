// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/quantized_value.h"

#include <algorithm>

#include "passes/pattern/match.h"

namespace wootz {
namespace {

bool is_byte(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt8; }
bool is_float8(DType dtype) { return dtype == DType::kFloat8E4M3FN; }

}  // namespace

bool Quantization::symmetric() const {
  return std::all_of(zeros.begin(), zeros.end(), [](double z) { return z == 0; });
}

std::optional<Quantization> read_quantization(const Node* node) {
  const bool forwards = node && node->is("QuantizeLinear");
  if (!forwards && !(node && node->is("DequantizeLinear"))) return std::nullopt;
  Value *x = node->input(0), *scale = node->input(1), *zero = node->input(2), *y = node->output(0);
  if (!x || !y || !x->type.has_rank() || !scale || !scale->is_constant() || (zero && !zero->is_constant()))
    return std::nullopt;
  const DType integer = forwards ? y->type.dtype : x->type.dtype,
              real = forwards ? x->type.dtype : y->type.dtype;
  const int64_t precision = node->attributes.get<int64_t>("precision", 0);
  if (!(is_byte(integer) || is_float8(integer)) || node->attributes.get<int64_t>("saturate", 1) != 1 ||
      real != DType::kFloat32 || scale->type.dtype != DType::kFloat32 ||
      node->attributes.get<int64_t>("block_size", 0) != 0 || (precision != 0 && precision != 1))
    return std::nullopt;
  Quantization q{node, x, integer, {}, {0.0}, zero, 0};
  const auto scales = scale->constant->span<float>();
  q.scales.assign(scales.begin(), scales.end());
  if (zero) q.zeros = zero->constant->to_doubles();
  if (q.scales.empty() || (q.zeros.size() != 1 && q.zeros.size() != q.scales.size())) return std::nullopt;
  if (std::any_of(q.scales.begin(), q.scales.end(), [](float s) { return !(s > 0); })) return std::nullopt;
  if (!q.per_tensor()) {
    const int64_t axis = node->attributes.get<int64_t>("axis", 1), rank = x->type.rank();
    if (rank != 1 && (axis < -rank || axis >= rank)) return std::nullopt;
    q.axis = rank == 1 ? 0 : axis < 0 ? axis + rank : axis;
    if (scale->constant->rank() != 1) return std::nullopt;
  }
  return q;
}

std::optional<Quantization> dequantized(const Value* value) {
  const Node* node = value ? produced_by(value, "DequantizeLinear") : nullptr;
  return node ? read_quantization(node) : std::nullopt;
}

bool begins_quantization(const Node& node) {
  const Node* n = &node;
  const auto go_on = [&] {
    n = is_read_once(n->output(0)) ? n->output(0)->uses()[0].node : nullptr;
    return n != nullptr;
  };
  if (n->is("Cast") && !go_on()) return false;
  if (!n->is("Div") || !n->input(1) || !n->input(1)->is_constant() || !go_on()) return false;
  if (n->is("Cast")) return is_float8(n->output(0)->type.dtype);
  if (!n->is("Round") || !go_on()) return false;
  if (n->is("Add") && !go_on()) return false;
  return n->is("Clip") && go_on() && n->is("Cast") && is_byte(n->output(0)->type.dtype);
}

bool same_parameters(const Quantization& a, const Quantization& b) {
  return a.integer == b.integer && a.scales == b.scales && a.zeros == b.zeros && a.axis == b.axis;
}

}  // namespace wootz
