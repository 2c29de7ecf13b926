// SPDX-License-Identifier: Apache-2.0
// What a backend must offer. Nothing here knows operators.
#pragma once
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/tactic.h"

namespace wootz {

/// An ordered queue of kernels on a device. On the CPU a launch runs at once on the stream's thread pool.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void begin_run() {}  // keep workers ready
  virtual void end_run() {}
  virtual void synchronize() = 0;

  /// Launches never throw: a kernel that finds its data wrong (an index out of range) leaves the first error
  /// here.
  void fail(std::exception_ptr error) noexcept {
    if (!error_) error_ = std::move(error);
  }
  bool has_failed() const noexcept { return error_ != nullptr; }
  /// The error since the last call, null when there was none.
  std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }

 private:
  std::exception_ptr error_;
};

/// What the compiler may assume of a target. Passes see these, never a backend.
struct TargetTraits {
  std::string name;                   // "cpu"
  std::string fingerprint;            // what timings depend on: model, features, threads
  bool prefers_channels_last = true;  // convolutions want channels fastest
  double flops_per_second = 0;        // float32 multiply-adds counted as two, all threads
  double bytes_per_second = 0;        // from memory, all threads
  double launch_seconds = 0;          // fixed cost of one region
  size_t cache_bytes = 0;             // last level
  /// 1x1 convolutions of these types, with channels in such multiples, take a factor an image and channel on
  /// their input (a squeeze-and-excite gate); others would fall to the reference.
  std::vector<DType> gated_types;
  int64_t gated_channel_multiple = 1;
  /// Depthwise convolutions of these types give the mean of each image and channel as a second result.
  std::vector<DType> mean_types;
  bool multiplies_integers = false;   // kernels for convolutions and products of 8-bit integers
  bool quantizes_in_regions = false;  // QuantizeLinear and its inverse run as pointwise nodes
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "cpu", "reference", "cuda"
  virtual std::string describe() const = 0;   // one line for people
  virtual TargetTraits traits(int threads) const = 0;
  /// Every tactic, best guess first for equal service.
  virtual std::span<const Tactic* const> tactics() const = 0;
  virtual std::unique_ptr<Stream> make_stream(int threads) const = 0;
  virtual void* allocate(size_t bytes) const = 0;  // 64-byte aligned; throws Error(kOutOfMemory)
  virtual void release(void* p) const noexcept = 0;
  virtual void copy(void* to, const void* from, size_t bytes, Stream& stream) const = 0;
};

/// The backends of this build, by name. Filled by the manifest.
class BackendRegistry {
 public:
  void add(std::unique_ptr<Backend> backend);
  const Backend* find(std::string_view name) const;
  std::span<const std::unique_ptr<Backend>> all() const { return backends_; }
  /// The registry of this process; empty until register_all_backends has filled it.
  static BackendRegistry& global();

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
};

/// Adds every backend of this build (generated: each backends/<name>/<name>_backend.cpp has
/// register_<name>_backend).
void register_all_backends(BackendRegistry& registry);

}  // namespace wootz
