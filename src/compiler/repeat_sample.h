// SPDX-License-Identifier: Apache-2.0
// Verifying a large batch by a small one: the judge, which is slow, sees two rows, the engine many copies of
// them.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "compiler/verify_engine.h"

namespace wootz {

/// The same dims with a batch of `most`, or 1 where that does not divide it, where the first dimension of
/// every input is one and the same symbol, bound to more than `most`; nothing where the model does not have
/// such a batch.
std::optional<std::vector<Dims>> fewer_rows(const Graph& graph, std::span<const Dims> dims, int64_t most);

/// The sample with inputs and expected outputs repeated along the first dimension until the batch is `rows`;
/// nothing where an output does not have the sample's batch first.
std::optional<VerifySample> repeat_rows(const VerifySample& sample, int64_t rows);

}  // namespace wootz
