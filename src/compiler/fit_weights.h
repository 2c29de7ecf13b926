// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "device/backend.h"
#include "engine/engine_data.h"
#include "tuning/race.h"

namespace wootz {

/// Packed weights of all steps may take at most this much of what the model's take (Winograd's F(4x4) takes
/// four times as much).
inline constexpr double kMostPackedWeights = 2.25;

/// Where raced steps pack their weights into more than that, the steps whose rivals in the race save the most
/// bytes for the time that they lose take these rivals, all steps of a problem alike. `prove` is Race::prove:
/// the race holds winners alone against extreme inputs. A remark says how many, and what it costs.
void fit_weights(EngineData& engine, const Backend& backend, const ShapePlan& plan,
                 const std::function<std::optional<RaceWin>(const Problem&, const CandidateRecord&)>& prove);

}  // namespace wootz
