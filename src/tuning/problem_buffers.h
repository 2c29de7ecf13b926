// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "device/backend.h"
#include "tuning/batch_sample.h"
#include "tuning/check_inputs.h"

namespace wootz {

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
  /// The few rows of a batch, each in all the places that it has in the whole.
  void fill(std::span<const Datum> inputs, const BatchSample& few, Stream& stream);
  /// On the host: other kinds of the random inputs that `fill` has put there; they stay for the next kind.
  void change_inputs(const KindChange& change);
  /// On the host: as it is stored.
  const void* input(size_t i) const { return inputs_[i]; }
  /// NaN into elements `at[i]` (flat, row-major) of float output i, a pattern into others: what a kernel
  /// forgets to write there cannot pass. On a device into all elements.
  void poison(std::span<const std::vector<int64_t>> at, Stream& stream);
  LaunchArgs args(Kernel& kernel, Stream& stream);
  /// Brings the elements `at` (flat, row-major, by output) back from the device; call before output_elements.
  void fetch_outputs(std::span<const std::vector<int64_t>> at, Stream& stream);
  /// Elements `at` (flat, row-major) of output i.
  Tensor output_elements(size_t i, std::span<const int64_t> at) const;
  size_t size_bytes() const;

 private:
  void* place(Tensor& storage);
  void spread(size_t input, const Tensor& rows, const BatchSample& few, Stream& stream);
  void spread_on_host(size_t input, const Tensor& rows, const BatchSample& few);
  void send(const std::vector<Tensor>& storage, const std::vector<void*>& to, Stream& stream);
  size_t byte_offset(size_t i, int64_t flat) const;

  const Problem& problem_;
  const Backend& backend_;
  const bool on_device_;
  std::vector<Tensor> input_storage_, output_storage_;
  std::vector<Tensor> random_storage_;  // of the inputs, once they were changed
  std::vector<void*> inputs_, outputs_;
  std::vector<void*> allocated_;  // on the device
  Tensor workspace_;
  void* device_workspace_ = nullptr;
  size_t device_workspace_bytes_ = 0;
};

}  // namespace wootz
