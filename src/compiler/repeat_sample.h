// SPDX-License-Identifier: Apache-2.0
// Verifying a large batch by a small one: the judge, which is slow, sees two rows, the engine many copies of
// them.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "compiler/verify_engine.h"

namespace wootz {

/// The same dims with `rows` rows, where the first dimension of every input is one and the same symbol;
/// nothing where the model does not have such a batch.
std::optional<std::vector<Dims>> with_rows(const Graph& graph, std::span<const Dims> dims, int64_t rows);

/// The same dims with a batch of `most`, or 1 where that does not divide it, where the first dimension of
/// every input is one and the same symbol, bound to more than `most`; nothing where the model does not have
/// such a batch.
std::optional<std::vector<Dims>> fewer_rows(const Graph& graph, std::span<const Dims> dims, int64_t most);

/// The sample with inputs and expected outputs repeated along the first dimension until the batch is `rows`;
/// nothing where an output does not have the sample's batch first.
std::optional<VerifySample> repeat_rows(const VerifySample& sample, int64_t rows);

/// One row of the sample, inputs and expected outputs, as a batch of 1; nothing as above.
std::optional<VerifySample> row_of(const VerifySample& sample, int64_t row);

/// Overwrites a row of each tensor with the only row of `one`.
void put_row(std::vector<Datum>& batch, const std::vector<Datum>& one, int64_t row);

}  // namespace wootz
