// SPDX-License-Identifier: Apache-2.0
// Holds a kernel's results against the region's reference.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"
#include "tuning/sampled_reference.h"

namespace wootz {

/// Which inputs a check runs on.
enum class InputKind : uint8_t { kRandom, kLarge, kNonFinite };
std::string_view input_kind_name(InputKind kind);

/// Row-major inputs for a problem: constants as they are, floats by kind, wide integers from 0 to
/// `most_integer` (they may be indices), 8-bit integers over their whole range. Deterministic in the seed.
std::vector<Datum> make_inputs(const Problem& problem, InputKind kind, uint64_t seed, int most_integer = 1);

/// The bound on a result's error relative to its largest magnitude: rounding of the type, grown with the
/// square root of the longest sum, plus what the tactic's method adds (docs/accuracy.md).
double error_bound(const Problem& problem, const Tactic& tactic);

struct CheckResult {
  double error = 0;     // largest |found - expected| over the largest |expected|, over all outputs
  std::string failure;  // empty: within the bound
};

class ProblemBuffers;

/// The expected elements of one problem on one kind of inputs; made once and used for every candidate.
class RegionCheck {
 public:
  RegionCheck(const Problem& problem, const Bindings& bindings, InputKind kind, uint64_t seed,
              size_t most_elements);
  ~RegionCheck();

  const std::vector<Datum>& inputs() const { return inputs_; }

  /// Runs the kernel on the inputs and compares. Throws Error(kDevice) when the device is lost.
  CheckResult run(Kernel& kernel, const Backend& backend, Stream& stream, const Tactic& tactic);

 private:
  void expect(const Bindings& bindings, uint64_t seed, size_t most_elements);

  const Problem& problem_;
  InputKind kind_;
  std::vector<Datum> inputs_;
  std::vector<std::vector<int64_t>> positions_;  // by output
  std::vector<Tensor> expected_;                 // by output
  std::unique_ptr<ProblemBuffers> buffers_;      // filled for the first kernel
};

/// The buffers of one problem, strided as it says, filled from row-major data. On a device backend they lie
/// on the device, with a copy on the host.
class ProblemBuffers {
 public:
  ProblemBuffers(const Problem& problem, const Backend& backend);
  /// Another set on the same device, with copies of the inputs and nothing on the host.
  ProblemBuffers(const ProblemBuffers& first, Stream& stream);
  ~ProblemBuffers();
  ProblemBuffers(const ProblemBuffers&) = delete;
  ProblemBuffers& operator=(const ProblemBuffers&) = delete;

  void fill(std::span<const Datum> inputs, Stream& stream);
  void poison_outputs(Stream& stream);
  LaunchArgs args(Kernel& kernel, Stream& stream);
  /// Brings the elements `at` (flat, row-major, by output) back from the device; call before output_elements.
  void fetch_outputs(std::span<const std::vector<int64_t>> at, Stream& stream);
  /// Elements `at` (flat, row-major) of output i.
  Tensor output_elements(size_t i, std::span<const int64_t> at) const;
  size_t size_bytes() const;

 private:
  void* place(Tensor& storage);
  void send(const std::vector<Tensor>& storage, const std::vector<void*>& to, Stream& stream);

  const Problem& problem_;
  const Backend& backend_;
  const bool on_device_;
  std::vector<Tensor> input_storage_, output_storage_;
  std::vector<void*> inputs_, outputs_;
  std::vector<void*> allocated_;  // on the device
  Tensor workspace_;
  void* device_workspace_ = nullptr;
  size_t device_workspace_bytes_ = 0;
};

}  // namespace wootz
