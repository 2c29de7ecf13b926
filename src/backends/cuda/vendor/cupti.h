// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records, loaded at run time: when each kernel and copy began and ended on the GPU's own
// clock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/device_backend.h"

namespace wootz::cuda {

/// The beginnings of CUPTI's records, the same in every version since CUDA 11. tests/cuda/vendor_abi_test.cpp
/// holds them against cupti.h where there is one.
namespace cupti_record {
enum Kind : uint32_t { kCopy = 1, kFill = 2, kDriverCall = 4, kRuntimeCall = 5, kKernel = 10, kTag = 39 };
enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2 };
struct Kernel {
  uint32_t kind;
  uint8_t not_read[12];
  uint64_t start, end, completed;  // nanoseconds
  uint32_t not_read_either[13];
  uint32_t correlation;
};
struct Copy {
  uint32_t kind;
  uint8_t copy_kind, not_read[3];
  uint64_t bytes, start, end;
  uint32_t not_read_either[3];
  uint32_t correlation;
};
struct Tag {
  uint32_t kind, external_kind;
  uint64_t number;
  uint32_t correlation, reserved;
};
}  // namespace cupti_record

class Cupti {
 public:
  /// The library, loaded once: what $WOOTZ_CUPTI names (empty: none), else libcupti.so.13 or .12 where NVRTC
  /// is looked for too. Null, and why, where there is none.
  static Cupti* try_get(std::string& reason);

  /// Begins to note what all GPUs of the process do. Empty, or why not (another profiler is at work).
  std::string start();
  std::vector<DeviceActivity> stop();
  /// What the calling thread launches next carries this number; 0: none.
  void tag(uint64_t number);

 private:
  Cupti();
  struct Table;
  static void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
  void read(uint8_t* buffer, size_t valid);

  const Table* table_ = nullptr;
  std::mutex mutex_;
  bool is_on_ = false, has_callbacks_ = false;
  uint64_t began_ = 0;                 // nanoseconds
  std::vector<DeviceActivity> noted_;  // times in nanoseconds, tags as correlations until stop()
  std::map<uint32_t, uint64_t> tags_;  // by correlation
  static thread_local bool is_tagged_;
};

}  // namespace wootz::cuda
