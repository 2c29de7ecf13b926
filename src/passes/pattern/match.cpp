// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/match.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wootz {

Node* produced_by(const Value* value, std::string_view op) {
  Node* p = value ? value->producer() : nullptr;
  return p && p->is(op) && value->output_index() == 0 ? p : nullptr;
}

std::optional<double> uniform_value(const Value* value) {
  if (!value || !value->is_constant()) return std::nullopt;
  const Tensor& t = *value->constant;
  const bool numeric = is_float(t.dtype()) || is_integer(t.dtype()) || t.dtype() == DType::kBool;
  if (!numeric || t.size() == 0) return std::nullopt;
  const size_t bytes = dtype_size(t.dtype());
  const char* data = static_cast<const char*>(t.data());
  if (std::memcmp(data, data + bytes, t.size_bytes() - bytes) != 0) return std::nullopt;
  return Tensor::view(t.dtype(), {1}, const_cast<void*>(t.data()), nullptr).to_doubles()[0];
}

bool is_number(const Value* value, double number) {
  const std::optional<double> v = uniform_value(value);
  if (!v) return false;
  double tolerance = 0;
  switch (value->constant->dtype()) {
    case DType::kFloat32:
    case DType::kFloat64: tolerance = 2e-7; break;
    case DType::kFloat16: tolerance = 1e-3; break;
    case DType::kBFloat16: tolerance = 8e-3; break;
    default: break;
  }
  return std::abs(*v - number) <= tolerance * std::abs(number);
}

std::optional<std::vector<Dim>> known_dims(const Value* value) {
  if (!value) return std::nullopt;
  if (value->is_constant()) {
    if (!is_integer(value->constant->dtype()) || value->constant->rank() > 1) return std::nullopt;
    std::vector<Dim> dims;
    for (int64_t v : value->constant->to_int64s()) dims.emplace_back(v);
    return dims;
  }
  return value->contents;
}

std::optional<std::vector<int64_t>> known_ints(const Value* value) {
  if (value && value->is_constant() &&
      (is_integer(value->constant->dtype()) || value->constant->dtype() == DType::kBool))
    return value->constant->to_int64s();
  const std::optional<std::vector<Dim>> dims = known_dims(value);
  if (!dims) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Dim& d : *dims) {
    const Dim r = value->graph()->symbols().resolve(d);
    if (!r.is_constant()) return std::nullopt;
    ints.push_back(r.value());
  }
  return ints;
}

bool is_read_once(const Value* value) {
  return value->uses().size() == 1 && !value->graph()->is_output(value);
}

bool same_shape(const Value* a, const Value* b) {
  if (!a || !b || !a->type.has_rank() || !b->type.has_rank() || a->type.rank() != b->type.rank())
    return false;
  const SymbolTable& symbols = a->graph()->symbols();
  for (size_t i = 0; i < a->type.shape->size(); ++i)
    if (!symbols.equal((*a->type.shape)[i], (*b->type.shape)[i])) return false;
  return true;
}

bool has_rank(const Value* value, int64_t rank) {
  return value && value->type.has_rank() && value->type.rank() == rank;
}

bool is_float_value(const Value* value) {
  return value && value->type.is_tensor() && is_float(value->type.dtype);
}

Value* Match::value(std::string_view name) const {
  auto it = values.find(name);
  return it == values.end() ? nullptr : it->second;
}

Node* Match::node(std::string_view name) const {
  auto it = nodes.find(name);
  return it == nodes.end() ? nullptr : it->second;
}

double Match::number(std::string_view name) const { return *uniform_value(value(name)); }

}  // namespace wootz
