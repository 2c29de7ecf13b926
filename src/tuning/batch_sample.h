// SPDX-License-Identifier: Apache-2.0
// Judging a problem of a large batch by a few rows of it, which stand in many places: the reference computes
// the few, and every element of the whole has its like there.
#pragma once
#include <optional>
#include <vector>

#include "device/tactic.h"
#include "ir/dim.h"

namespace wootz {

/// The graph's symbols at a smaller batch.
struct SmallerBatch {
  Bindings bindings;
  int64_t batch, rows;  // of the whole, of the few
};

class BatchSample {
 public:
  /// Nothing where the problem is small, where an operand's first dimension is not a multiple of the batch or
  /// its rows overlap in memory, and where the reference's rows depend on their neighbours or places (it is
  /// asked, with rows that change places).
  static std::optional<BatchSample> of(const Problem& problem, const SmallerBatch& smaller, uint64_t seed);

  const Problem& few() const { return few_; }
  const Bindings& bindings() const { return bindings_; }
  bool has_batch(size_t input) const { return per_row_[input] > 0; }
  /// Extent along axis 0 of one row of the batch.
  int64_t extent(size_t input) const { return per_row_[input]; }
  /// Which of the few stands at each row of the whole batch.
  const std::vector<int64_t>& source() const { return source_; }
  /// Flat row-major positions in output i of the whole as positions in the few's.
  std::vector<int64_t> in_few(size_t output, const std::vector<int64_t>& at) const;
  /// Positions in output i of the whole moved to rows where `row` of the few stands: sorted, each once.
  std::vector<int64_t> in_places_of(int64_t row, size_t output, const std::vector<int64_t>& at) const;

 private:
  BatchSample(const Problem& problem, const SmallerBatch& smaller);
  bool take_operands(const Problem& problem, const SmallerBatch& smaller);
  bool rows_are_alone(uint64_t seed) const;

  Problem few_;
  Bindings bindings_;
  std::vector<int64_t> per_row_, output_per_row_;
  std::vector<int64_t> source_;
};

}  // namespace wootz
