// SPDX-License-Identifier: Apache-2.0
// Kernels for steps whose sizes only the run can tell.
#pragma once
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "device/backend.h"
#include "engine/engine_data.h"

namespace wootz {

/// Of one prepared shape. A kernel is made when a step first meets its operands' sizes (and the elements of
/// small integer operands, which may be sizes); the least recently used of a step's goes.
class DynamicKernels {
 public:
  static constexpr size_t kMostOfStep = 8;
  /// Below so many elements of all operands a reference is as fast.
  static constexpr int64_t kFewElements = 512;

  DynamicKernels(const EngineData& engine, const ShapePlan& plan, const Backend& backend, int threads);
  ~DynamicKernels();

  /// The outputs on `inputs` (null: left out), or nothing where the reference has to compute the step: it has
  /// no kernel, operands that are no tensors, or outputs whose sizes follow from the elements.
  std::optional<std::vector<Datum>> run(size_t step, const Node& node, std::span<const Datum* const> inputs,
                                        Stream& stream);

 private:
  struct Made;
  Made& made_for(size_t step, const Node& node, std::span<const Datum* const> inputs);
  std::unique_ptr<Made> make(size_t step, const Node& node, std::span<const Datum* const> inputs) const;

  const EngineData& engine_;
  const ShapePlan& plan_;
  const Backend& backend_;
  int threads_;
  std::vector<std::list<std::unique_ptr<Made>>> made_;  // by step, most recently used first
  std::vector<char> workspace_;
};

}  // namespace wootz
