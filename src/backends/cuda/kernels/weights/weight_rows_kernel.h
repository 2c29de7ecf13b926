// SPDX-License-Identifier: Apache-2.0
// The kernel weight_rows.cu for a contraction of few rows, whatever its weights are packed as.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/cuda_target.h"
#include "backends/cuda/kernels/gemm/contraction.h"

namespace wootz {

/// What the kernel is compiled for besides the contraction.
struct WeightRowsForm {
  int form = 0;             // FORM of weight_rows.cu
  int64_t block = 0;        // along k that shares a scale; 0: a column
  int64_t chunk = 32;       // elements along k that a warp reads of a tile at once
  bool has_zeros = false;   // zero points that differ
  int zero = 0;             // else all are this, as stored
  bool has_places = false;  // of what is left of every four
};

/// Why the kernel does not take the rows or the tail; nothing when it does.
std::optional<std::string> weight_rows_refusal(const Contraction& contraction);
std::vector<TacticConfig> weight_rows_configs(const CudaTarget& target, const Contraction& contraction,
                                              const WeightRowsForm& form);
/// `packed`: the weights, their scales where form.form is of few bits, zero points or places where the form
/// has them, in that order.
std::unique_ptr<Kernel> make_weight_rows(const CudaTarget& target, const Problem& problem,
                                         const Contraction& contraction, const WeightRowsForm& form,
                                         const TacticConfig& config, const Packed& packed);

}  // namespace wootz
