// SPDX-License-Identifier: Apache-2.0
// The extreme inputs of a large batch in one launch: each kind in rows of its own.
#pragma once
#include <memory>
#include <vector>

#include "tuning/region_check.h"

namespace wootz {

class ExtremesAtOnce {
 public:
  /// Null where the problem has no batch of rows that stand alone (BatchSample), or an operand of
  /// floating-point numbers that all rows share.
  static std::unique_ptr<ExtremesAtOnce> of(const Problem& problem, const Bindings& bindings,
                                            const SmallerBatch& smaller, uint64_t seed, size_t most_elements);

  void fill(ProblemBuffers& buffers, Stream& stream) const { buffers.fill(inputs_, few_, stream); }
  /// Runs the kernel on the buffers, which hold the inputs, and holds each kind's rows against its reference.
  /// `failed` receives the first kind whose results are wrong.
  CheckResult run(Kernel& kernel, Stream& stream, const Tactic& tactic, ProblemBuffers& buffers,
                  InputKind& failed);

 private:
  explicit ExtremesAtOnce(BatchSample few) : few_(std::move(few)) {}

  const BatchSample few_;
  std::vector<std::unique_ptr<RegionCheck>> checks_;  // by row of the few
  std::vector<Datum> inputs_;                         // of the few: row k of the k-th check's
};

}  // namespace wootz
