// SPDX-License-Identifier: Apache-2.0
// What a finished engine is tried on beside the judge's samples: other shapes, and batches against their
// rows.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/verify_engine.h"

namespace wootz {

/// Input dims unlike the tuned ones, to catch what holds for those alone. `half`: every symbol but the batch
/// at about half of its size, odd where it may be, else a multiple of 32; the first that the model takes will
/// do. `small`: a batch of 2 with unlike small odd sizes, and all symbols at 1. `steps`: on from the first of
/// `small`, each with one symbol other than the one before it, for what is kept by a part of the dims alone.
/// Empty where nothing but the batch varies.
struct OtherShapes {
  std::vector<std::vector<Dims>> half, small, steps;
};
OtherShapes other_shapes(const Graph& graph, std::span<const Dims> tuned);

/// A sample for another batch than that of `sample`, made without asking the judge: of a batch its last row
/// alone; of a single row `rows` (2 or 3), of which the second is that of `others`, what the engine made of
/// another row, and the rest the sample's. Nothing where inputs or outputs have no common batch. Whoever
/// finds a difference asks the judge: a model may mix its rows.
std::optional<VerifySample> other_batch(const Graph& graph, std::span<const Dims> tuned,
                                        const VerifySample& sample, const VerifySample* others, int64_t rows);

/// Runs rows of a batch alone and in batches of 3 and 8, in other places. What differs in a bit, for people;
/// empty where nothing does, and where the model has no batch.
std::string batch_bits(
    const Graph& graph, std::span<const Dims> tuned,
    const std::function<bool(const std::vector<Datum>& inputs, std::vector<Datum>& outputs)>& run_engine);

}  // namespace wootz
