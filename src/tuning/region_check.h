// SPDX-License-Identifier: Apache-2.0
// Holds a kernel's results against the region's reference.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sampled_reference.h"
#include "tuning/batch_sample.h"
#include "tuning/check_inputs.h"
#include "tuning/problem_buffers.h"

namespace wootz {

/// The bound on a result's error relative to its largest magnitude: rounding of the type, grown with the
/// square root of the longest sum, plus what the tactic's method adds (docs/accuracy.md).
double error_bound(const Problem& problem, const Tactic& tactic);

struct CheckResult {
  double error = 0;     // largest |found - expected| over the largest |expected|, over all outputs
  std::string failure;  // empty: within the bound
  double launch_us = 0;
  bool is_refused = false;  // the launch was: `failure` says why, and nothing was computed
};

/// The expected elements of one problem on one kind of inputs; made once and used for every candidate.
/// Problem and bindings must live as long.
class RegionCheck {
 public:
  /// With `few` (which must outlive this), the reference sees those rows alone. `spare`: make_inputs.
  RegionCheck(const Problem& problem, const Bindings& bindings, InputKind kind, uint64_t seed,
              size_t most_elements, const BatchSample* few = nullptr, std::vector<Datum> spare = {});

  /// Of the few, where there are.
  const std::vector<Datum>& inputs() const { return inputs_; }
  int most_integer() const { return most_integer_; }
  /// The same for a row of the few alone, in those rows of the whole where it stands.
  RegionCheck(const Problem& problem, const Bindings& bindings, InputKind kind, uint64_t seed,
              size_t most_elements, const BatchSample* few, int64_t row);

  /// Gives the inputs' memory to the next check; a later one that needs them makes them again.
  std::vector<Datum> take_inputs() { return std::exchange(inputs_, {}); }
  void make_inputs_again();

  /// Runs the kernel on the buffers, which hold the inputs, and compares. Throws Error(kDevice) when the
  /// device is lost.
  CheckResult run(Kernel& kernel, const Backend& backend, Stream& stream, const Tactic& tactic,
                  ProblemBuffers& buffers);
  /// The two halves of run: before the launch, and behind it.
  void poison(ProblemBuffers& buffers, Stream& stream) const { buffers.poison(positions_, stream); }
  CheckResult judge(const Tactic& tactic, const ProblemBuffers& buffers);

 private:
  void make(size_t most_elements, std::vector<Datum> spare);
  void expect(size_t most_elements);
  void excuse();
  /// The problem that the reference computes.
  const Problem& judged() const { return few_ ? few_->few() : problem_; }
  std::vector<int64_t> judged_positions(size_t output) const;
  CheckResult compare(const ProblemBuffers& buffers, double bound) const;
  void compare(size_t output, const Tensor& found, double bound, CheckResult& result) const;

  const Problem& problem_;
  const BatchSample* few_;
  const Bindings& bindings_;  // of what the reference sees
  InputKind kind_;
  uint64_t seed_;
  std::optional<int64_t> row_;  // of the few, that alone is looked at
  int most_integer_ = 1;
  std::vector<Datum> inputs_;
  std::vector<std::vector<int64_t>> positions_;  // by output
  std::vector<Tensor> expected_;                 // by output
  /// By output: what rounding of the inputs alone may change; empty until somebody needs an excuse.
  std::vector<double> excused_;
};

}  // namespace wootz
