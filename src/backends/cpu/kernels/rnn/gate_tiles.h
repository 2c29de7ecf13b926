// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

/// Hidden units that lie together, gate after gate: whole vectors of every instruction set.
inline constexpr int64_t kUnits = 16;

/// LSTM formulas of one batch row of kUnits units: gates [input, output, forget, cell][kUnits] before their
/// activations and without `bias` (the same shape). Rewrites cell and writes h.
void lstm_gates(const float* gates, const float* bias, float* cell, float* h);

/// GRU, first half: gates [update, reset][kUnits] become activated; reset_h = reset * h.
void gru_gates(float* gates, const float* bias, const float* h, float* reset_h);

/// GRU, second half: next_h holds the state's product for the candidate; gates [update, reset, input's part
/// of the candidate][kUnits]. With `linear_first` reset multiplies that product and its bias.
void gru_candidate(const float* gates, const float* bias, const float* h, float* next_h, bool linear_first);

}  // namespace wootz
