// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace wootz {

/// Counts of a tensor's elements over all samples in equal bins around zero. The bins double their width when
/// an element lies beyond them, so one look at the data is enough.
class Histogram {
 public:
  static constexpr size_t kBins = 4096;

  /// False where an element is NaN or infinite.
  bool add(std::span<const float> values);

  bool empty() const { return total_ == 0; }
  double low() const { return low_; }    // smallest element, at most 0
  double high() const { return high_; }  // largest element, at least 0
  int64_t total() const { return total_; }
  /// Elements that are exactly 0: every range represents them, so they are in no bin.
  int64_t zeros() const { return zeros_; }
  std::span<const int64_t> bins() const { return bins_; }
  double bin_width() const { return 2 * limit_ / kBins; }
  double bin_center(size_t i) const { return (static_cast<double>(i) + 0.5) * bin_width() - limit_; }

 private:
  void widen(double to);

  double limit_ = 0, low_ = 0, high_ = 0;
  int64_t total_ = 0, zeros_ = 0;
  std::vector<int64_t> bins_;
};

}  // namespace wootz
