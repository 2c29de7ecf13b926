// SPDX-License-Identifier: Apache-2.0
// A bool has the bits 0 or 1: other bytes become 1. 2- and 4-bit elements have a byte each in memory, of
// which the low bits count.
#include <cstring>

#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_bit_cast {
namespace {

DType target(const Node& node) {
  const int64_t to = node.attributes.require<int64_t>("to");
  if (to <= 0 || to >= kDTypeCount || static_cast<DType>(to) == DType::kString)
    throw Error(ErrorKind::kInvalidModel,
                "to: expected an element type other than string, found " + std::to_string(to));
  return static_cast<DType>(to);
}

void check_widths(DType from, DType to) {
  if (from == DType::kUndefined || (from != DType::kString && dtype_file_bits(from) == dtype_file_bits(to)))
    return;
  throw Error(ErrorKind::kInvalidModel, "expected element types of one width, found " +
                                            std::string(dtype_name(from)) + " and " +
                                            std::string(dtype_name(to)));
}

void infer(InferContext& c) {
  const DType to = target(c.node());
  check_widths(c.dtype(0), to);
  Type type = c.input(0);
  type.dtype = to;
  c.set_output(0, std::move(type));
}

void evaluate(EvalContext& c) {
  const Tensor& x = c.input(0);
  const DType to = target(c.node());
  check_widths(x.dtype(), to);
  Tensor& y = c.output(0, to, x.dims());
  if (x.size() > 0) std::memcpy(y.data(), x.data(), x.size_bytes());
  const int bits = dtype_file_bits(to);
  auto* bytes = static_cast<uint8_t*>(y.data());
  for (size_t i = 0; (bits < 8 || to == DType::kBool) && i < y.size_bytes(); ++i) {
    if (to == DType::kBool) {
      bytes[i] = bytes[i] != 0;
      continue;
    }
    bytes[i] = static_cast<uint8_t>(bytes[i] & ((1 << bits) - 1));
    if (is_signed_integer(to) && (bytes[i] >> (bits - 1)) != 0)
      bytes[i] = static_cast<uint8_t>(bytes[i] | (0xff << bits));
  }
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  const auto add = [&](Tensor x, DType to) {
    Sample sample{std::string(dtype_name(x.dtype())) + " to " + std::string(dtype_name(to)),
                  {Datum(std::move(x))}};
    sample.attributes.set("to", static_cast<int64_t>(to));
    list.push_back(std::move(sample));
  };
  add(spread_tensor(DType::kFloat32, {2, 3}, -4, 4), DType::kInt32);
  add(spread_tensor(DType::kInt32, {0}, -4, 4), DType::kFloat32);
  add(spread_tensor(DType::kInt64, {}, -4, 4), DType::kFloat64);
  add(spread_tensor(DType::kBFloat16, {3}, -4, 4), DType::kUint16);
  add(spread_tensor(DType::kUint4, {5}, 0, 15), DType::kInt4);
  add(spread_tensor(DType::kInt8, {5}, 0, 1), DType::kBool);
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op(
      "BitCast", "The bits of x read as elements of the type in attribute to, of the same width.", 1, 26);
  def.attributes = {{"to", std::nullopt}};
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_bit_cast
