// SPDX-License-Identifier: Apache-2.0
// Pruning: from an ONNX model to one whose products have weights that are 0, in a pattern that kernels gain
// by or the smallest ones anywhere.
#pragma once
#include <string>
#include <vector>

#include <wootz/quantize.h>

namespace wootz {

struct PruneOptions {
  /// Of every four neighbours along the input channels two become 0; else `share` of a weight's elements,
  /// wherever they are.
  bool two_of_four = true;
  double share = 0.5;
  /// An element counts by its magnitude times the root mean square of its input on the samples, not by its
  /// magnitude alone (Sun et al., "A simple and effective pruning approach for large language models").
  bool data_aware = false;
  std::vector<std::string> keep;  // patterns (name, output or operator; * and ?) that stay dense
  size_t max_samples = 128;       // of the source
  size_t report_samples = 4;      // that both models run on to measure the error; 0: none
  int threads = 0;                // 0: every CPU that the process may use
  std::function<bool(const BuildProgress&)> progress;  // return false to cancel
};

struct PrunedNode {
  std::string name, op;
  bool pruned = false;
  std::string reason;  // why not
  double zeros = 0;    // share of the weights, of all that are 0 now
  /// What the removed elements were of the result's energy, in dB below it, as if inputs had nothing to do
  /// with one another (and, without the data-aware rule, all the same magnitude).
  double sqnr_db = 0;
};

struct PruneReport {
  std::vector<PrunedNode> nodes;
  std::vector<QuantizedOutput> outputs;  // measured where there are samples
  std::vector<std::string> notes;
  size_t samples = 0;
};

/// Reads `onnx_path`, writes `output_path`: float32, every other runtime executes it too. `samples` may be
/// empty without the data-aware rule. Throws as quantize().
WOOTZ_API PruneReport prune(const std::string& onnx_path, const std::string& output_path,
                            const SampleSource& samples, const PruneOptions& options = {});

}  // namespace wootz
