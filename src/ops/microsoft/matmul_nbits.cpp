// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/microsoft/expanded.h"

namespace wootz::op_matmul_nbits {
namespace {

/// `count` unsigned numbers of `bits` bits, lowest bits first, from each of `rows` rows of `row_bytes` bytes.
Tensor unpacked(const uint8_t* bytes, int64_t rows, int64_t row_bytes, int64_t count, int64_t bits,
                DType dtype) {
  Tensor t = Tensor::zeros(dtype, {rows, count});
  const int64_t per_byte = 8 / bits;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i)
      t.as<uint8_t>()[r * count + i] = static_cast<uint8_t>(
          bytes[r * row_bytes + i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1));
  return t;
}

const Tensor& constant_of(Expansion& e, size_t i, const char* name) {
  Value* v = e.require(i, name);
  if (!v->constant) e.fail(std::string(name) + ": expected a constant");
  return *v->constant;
}

// Inputs: A, B [N, blocks, block_size * bits / 8], scales [N * blocks], zero_points, g_idx, bias.
void canonicalize(CanonicalizeContext& c) {
  Expansion e(c);
  const Attributes& a = e.attributes();
  const int64_t k = a.require<int64_t>("K"), n = a.require<int64_t>("N"), bits = a.get<int64_t>("bits", 4),
                block = a.require<int64_t>("block_size");
  if (e.input(4)) e.fail("g_idx is not supported");
  if (bits != 2 && bits != 4 && bits != 8) e.fail("bits: expected 2, 4 or 8, found " + std::to_string(bits));
  if (k < 1 || n < 1 || block < 1) e.fail("K, N and block_size: expected positive numbers");
  const DType type = bits == 2 ? DType::kUint2 : bits == 4 ? DType::kUint4 : DType::kUint8;
  const int64_t blocks = (k + block - 1) / block, row_bytes = blocks * block * bits / 8;
  const Tensor& packed = constant_of(e, 1, "B");
  if (packed.dtype() != DType::kUint8 || packed.size() != n * row_bytes)
    e.fail("B: expected uint8 with " + std::to_string(n * row_bytes) + " elements, found " +
           dims_text(packed.dims()));
  const Tensor& scales = constant_of(e, 2, "scales");
  if (scales.size() != n * blocks)
    e.fail("scales: expected " + std::to_string(n * blocks) + " elements, found " +
           std::to_string(scales.size()));
  Tensor zeros = Tensor::zeros(type, {n, blocks});
  if (e.input(3)) {
    const Tensor& given = constant_of(e, 3, "zero_points");
    const int64_t zero_bytes = (blocks * bits + 7) / 8;
    if (given.dtype() != DType::kUint8 || given.size() != n * zero_bytes)
      e.fail("zero_points: expected uint8 with " + std::to_string(n * zero_bytes) + " elements, found " +
             dims_text(given.dims()));
    zeros = unpacked(given.as<uint8_t>(), n, zero_bytes, blocks, bits, type);
  } else {
    for (int64_t i = 0; i < zeros.size(); ++i) zeros.as<uint8_t>()[i] = static_cast<uint8_t>(1 << (bits - 1));
  }
  Value* weights =
      e.add("DequantizeLinear",
            {e.constant("weights", unpacked(packed.as<uint8_t>(), n, row_bytes, k, bits, type)),
             e.constant("scales", scales.reshaped({n, blocks})), e.constant("zeros", std::move(zeros))},
            {{"axis", Attribute(int64_t{1})}, {"block_size", Attribute(block)}});
  weights = e.add("Transpose", {weights}, {{"perm", Attribute(Ints{1, 0})}});
  if (e.input(5))
    e.result("Add", {e.add("MatMul", {e.require(0, "A"), weights}), e.input(5)});
  else
    e.result("MatMul", {e.require(0, "A"), weights});
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(
      registry, "MatMulNBits", "MatMul with weights of 2, 4 or 8 bits, scaled in blocks along K.", 3, 6, 1,
      {spec("K"), spec("N"), spec("bits", Attribute(int64_t{4})), spec("block_size"), spec("accuracy_level")},
      canonicalize);
}

}  // namespace wootz::op_matmul_nbits
