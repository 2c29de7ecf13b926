// SPDX-License-Identifier: Apache-2.0
// What an operator is. One file under ops/<family>/ defines one OpDef; importer, documentation,
// serialization, tests and the generic kernels derive from it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// How an operator may take part in a region.
enum class FusionKind : uint8_t {
  kPointwise,    // output element i depends on element i of (broadcast) inputs only; has a scalar form
  kMovement,     // moves elements: transpose, slice, gather, pad, concat
  kReduction,    // reduces along axes, pointwise before and after
  kContraction,  // convolution, matmul: takes a pointwise tail
  kOpaque,
};

/// The scalar instruction of a pointwise operator (see ops/scalar.h for their meanings).
enum class ScalarOp : uint8_t;

class InferContext;
class EvalContext;
class CanonicalizeContext;

/// A small problem that exercises the operator: inputs by value, attributes, and the opset it is written in.
struct Sample {
  std::string label;
  std::vector<Datum> inputs = {};  // kNone: left out
  Attributes attributes = {};
  int output_count = 1;
};

struct AttributeSpec {
  std::string name;
  std::optional<Attribute> fallback;  // absent: required, or optional without default
};

struct OpDef {
  std::string domain;  // "" is ai.onnx
  std::string name;
  std::string doc;                     // one sentence with the formula
  int since = 1;                       // first opset with this operator
  int min_inputs = 0, max_inputs = 0;  // -1: any number
  int min_outputs = 1, max_outputs = 1;
  std::vector<AttributeSpec> attributes;
  FusionKind fusion = FusionKind::kOpaque;
  bool deterministic = true;  // false: random operators; never folded, merged or compared

  /// Rewrites an older spelling (opset in the context) into the newest semantics, e.g. an axes attribute into
  /// an input.
  void (*canonicalize)(CanonicalizeContext&) = nullptr;
  /// Output types, and contents of small integer outputs, from the inputs' types and contents.
  void (*infer)(InferContext&) = nullptr;
  /// The meaning of the operator: plain loops, wide accumulation.
  void (*evaluate)(EvalContext&) = nullptr;
  /// Heavy operators: only the elements `at` (flat, row-major) of output 0, as double. Absent: evaluate does
  /// it all.
  void (*evaluate_elements)(EvalContext&, std::span<const int64_t> at, std::span<double> result) = nullptr;
  /// Pointwise: the scalar instruction, or nothing when attributes forbid one.
  std::optional<ScalarOp> (*scalar)(const Node&) = nullptr;
  /// Floating-point operations of one run at concrete shapes (inputs then outputs); absent: one per output
  /// element.
  double (*flops)(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) = nullptr;
  /// 5 to 15 small problems including awkward ones (rank 0, size 0 and 1, negative axes, each dtype).
  std::vector<Sample> (*samples)() = nullptr;
};

/// Fills attributes from a reflected struct: defaults become fallbacks.
template <class T>
std::vector<AttributeSpec> attribute_specs() {
  T t;
  AttributeNames names;
  t.reflect(names);
  std::vector<AttributeSpec> specs;
  for (const std::string& n : names.names) {
    AttributeSpec spec{n, std::nullopt};
    for (const auto& [key, value] : names.defaults)
      if (key == n) spec.fallback = value;
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace wootz
