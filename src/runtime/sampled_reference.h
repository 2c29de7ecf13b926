// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Chosen elements of a graph's results by the operators' references. Pointwise operators run on the needed
/// elements alone, heavy ones through their evaluate_elements, softmaxes, norms and reductions on the slices
/// that matter, others whole (and are kept for the next question).
class SampledReference {
 public:
  /// `inputs` are the graph's, row-major; a kNone datum stands for an input left out. `bindings` give the
  /// symbols of the graph's types.
  SampledReference(const Graph& graph, std::span<const Datum> inputs, const Bindings& bindings);

  /// Elements `at` (flat, row-major) of the value, in its own dtype, rank 1.
  Tensor elements(const Value* value, std::span<const int64_t> at);

 private:
  Tensor elements_as(const Value* value, std::span<const int64_t> at, const Dims& dims);
  Tensor pointwise(const Node& node, std::span<const int64_t> at, const Dims& dims);
  Tensor heavy(const Node& node, std::span<const int64_t> at);
  std::optional<Tensor> by_slices(const Node& node, std::span<const int64_t> at, const Dims& dims);
  const Datum& whole(const Value* value);
  const Dims& dims_of(const Value* value);

  const Bindings& bindings_;
  std::map<const Value*, Datum> whole_;
  std::map<const Value*, Dims> dims_;
};

/// Positions to look at in a tensor: its corners and a deterministic random choice; all of them when there
/// are at most `most`.
std::vector<int64_t> sample_positions(const Dims& dims, size_t most, uint64_t seed);

/// Elements `at` (flat, row-major) of a tensor, rank 1.
Tensor gather_elements(const Tensor& from, std::span<const int64_t> at);

}  // namespace wootz
