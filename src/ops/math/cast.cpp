// SPDX-License-Identifier: Apache-2.0
#include "ops/canonicalize.h"
#include "ops/cast_elements.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_cast {
namespace {

struct Parameters {
  int64_t to = 0;
  int64_t saturate = 1;
  std::string round_mode = "up";
  template <class V>
  void reflect(V& v) {
    v("to", to);
    v("saturate", saturate);
    v("round_mode", round_mode);
  }
};

/// Opsets 1 to 5 spell the target as the name in TensorProto.DataType.
void canonicalize(CanonicalizeContext& c) {
  Attributes& attributes = c.node().attributes;
  const Attribute* to = attributes.find("to");
  const std::string* name = to ? std::get_if<std::string>(to) : nullptr;
  if (!name) return;
  static constexpr const char* kNames[] = {
      "UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
      "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
  for (size_t i = 1; i < std::size(kNames); ++i)
    if (*name == kNames[i]) return attributes.set("to", static_cast<int64_t>(i));
  c.fail("to: expected the name of an element type, found " + *name);
}

DType target(const Node& node) {
  const int64_t to = node.attributes.require<int64_t>("to");
  const bool known = to > 0 && to < kDTypeCount && kMovableTypes.contains(static_cast<DType>(to)) &&
                     static_cast<DType>(to) != DType::kComplex64 &&
                     static_cast<DType>(to) != DType::kComplex128;
  if (!known)
    throw Error(ErrorKind::kInvalidModel,
                "to: expected an element type that Cast knows, found " + std::to_string(to));
  return static_cast<DType>(to);
}

void infer(InferContext& c) {
  const DType to = target(c.node());
  Type type = c.input(0);
  type.kind = Type::Kind::kTensor;
  type.dtype = to;
  c.set_output(0, std::move(type));
  if (to == DType::kBool)
    infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) -> std::optional<Dim> {
      if (x[0].is_constant()) return Dim(x[0].is(0) ? 0 : 1);
      return symbols.lower_bound(x[0]) > 0 ? std::optional(Dim(1)) : std::nullopt;
    });
  else if (to == DType::kInt64 || to == DType::kInt32 || to == DType::kFloat32 || to == DType::kFloat64)
    infer_contents(c, [](SymbolTable&, std::span<const Dim> x) { return std::optional(x[0]); });
}

void evaluate(EvalContext& c) {
  const auto p = c.attributes_as<Parameters>();
  const Tensor& x = c.input(0);
  cast_elements(x, c.output(0, target(c.node()), x.dims()), {p.saturate != 0, p.round_mode});
}

/// Programs cast between numbers; float8 targets only with saturation, float8e8m0 never.
std::optional<ScalarOp> scalar(const Node& node) {
  const DType to = target(node);
  if (to == DType::kString || node.input(0)->type.dtype == DType::kString) return std::nullopt;
  const bool small_float = is_float(to) && dtype_size(to) == 1;
  const bool saturates = read_attributes<Parameters>(node.attributes).saturate != 0;
  if (small_float && (!saturates || to == DType::kFloat8E8M0)) return std::nullopt;
  return ScalarOp::kCast;
}

Sample cast_sample(Tensor x, DType to, bool saturate = true) {
  Sample sample{std::string(dtype_name(x.dtype())) + " to " + std::string(dtype_name(to)), {Datum(x)}};
  sample.attributes.set("to", static_cast<int64_t>(to));
  if (!saturate) {
    sample.label += " without saturation";
    sample.attributes.set("saturate", int64_t{0});
  }
  return sample;
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto to = static_cast<DType>(i);
    if (to == DType::kComplex64 || to == DType::kComplex128) continue;
    list.push_back(cast_sample(spread_tensor(DType::kFloat32, {2, 5}, 0, 3), to));
    list.push_back(cast_sample(spread_tensor(DType::kInt32, {7}, -2, 300), to));
    if (to != DType::kString)
      list.push_back(cast_sample(spread_tensor(to, {2, 1, 3}, 0, 3), DType::kFloat32));
  }
  for (DType to : {DType::kFloat8E4M3FN, DType::kFloat8E5M2, DType::kFloat16, DType::kBFloat16, DType::kBool})
    for (const Sample& sample : unary_samples({DType::kFloat32}, -1e6, 1e6)) {
      list.push_back(cast_sample(sample.inputs[0].tensor, to));
      list.push_back(cast_sample(sample.inputs[0].tensor, to, false));
    }
  list.push_back(cast_sample(Tensor::strings({4}, {"1.5", "-2e3", "nan", "+INF"}), DType::kFloat32));
  list.push_back(cast_sample(Tensor::strings({2}, {"17", "-3"}), DType::kInt64));
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Cast", "x converted to the element type in attribute to.", 1, 1);
  def.attributes = attribute_specs<Parameters>();
  def.attributes[0].fallback.reset();
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_cast
