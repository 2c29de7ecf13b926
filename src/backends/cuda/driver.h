// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, loaded at run time.
#pragma once
#include <string>

#include "backends/cuda/driver_api.h"

namespace wootz::cuda {

/// The oldest driver that is accepted: CUDA 12.0 (Linux 525), the first with tensor maps and extended
/// launches.
inline constexpr int kOldestDriver = 12000;

class Driver {
 public:
  /// The driver of this machine, loaded and initialised once. Throws Error(kDevice): no driver, one older
  /// than kOldestDriver, no device.
  static const Driver& get();
  /// The same without an exception: null, and why.
  static const Driver* try_get(std::string& reason);

  const DriverTable& table() const { return table_; }
  const DriverTable* operator->() const { return &table_; }
  int version() const { return version_; }  // 13000: CUDA 13.0
  int device_count() const { return device_count_; }
  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string describe(Result result) const;

 private:
  Driver();
  DriverTable table_{};
  int version_ = 0, device_count_ = 0;
};

/// Throws unless the call went well: Error(kOutOfMemory) or Error(kDevice) with the call's name, the driver's
/// name and text for the code, and `detail`.
void check(Result result, const char* call, const std::string& detail = "");

}  // namespace wootz::cuda

/// WOOTZ_CUDA(cuStreamSynchronize, stream): calls the driver and throws on failure.
#define WOOTZ_CUDA(call, ...) ::wootz::cuda::check(::wootz::cuda::Driver::get()->call(__VA_ARGS__), #call)
