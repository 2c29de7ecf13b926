// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <wootz/quantize.h>
#include "ir/graph.h"
#include "quantize/histogram.h"
#include "quantize/range_choice.h"

namespace wootz {

/// What samples showed of one activation.
struct ActivationStats {
  Histogram histogram;
  int64_t axis = 1;                           // of the channels, where they count
  std::vector<double> largest, sum, squares;  // of each channel: magnitude, and totals
  double elements = 0;                        // of each channel

  void add(const Tensor& values);
};

/// The samples of a source, checked against the graph's inputs: names, types, ranks, fixed dimensions, NaN.
class CheckedSamples {
 public:
  CheckedSamples(const Graph& graph, const SampleSource& source, size_t most);
  /// In the order of the graph's inputs; false past the last one.
  bool get(size_t index, std::vector<Datum>& inputs) const;
  size_t count() const { return count_; }  // of the first whole look; 0 before it

  /// `run(index, inputs)` for each; throws kInvalidArgument where there is none.
  void for_each(const std::function<void(size_t, const std::vector<Datum>&)>& run);

 private:
  const Graph& graph_;
  const SampleSource& source_;
  size_t most_, count_ = 0;
};

/// Runs the graph on every sample and notes what the values in `axes` (name -> axis of its channels) hold.
/// With `rounding`, values are rounded to 8 bits first. Throws kInvalidArgument naming value and sample where
/// something is NaN or infinite.
std::map<std::string, ActivationStats> collect_stats(
    const Graph& graph, CheckedSamples& samples, const std::map<std::string, int64_t>& axes, int threads,
    const std::function<void(size_t)>& report, const std::map<std::string, QuantParameters>& rounding = {});

}  // namespace wootz
