// SPDX-License-Identifier: Apache-2.0
// What a backend offers besides when its memory is not the host's.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"

namespace wootz {

/// A kernel whose operands lie on the stream's device and whose launch only enqueues. What is no DeviceKernel
/// (a reference) runs on the host, on copies that the runtime makes.
class DeviceKernel : public Kernel {
 public:
  /// Whether an operand may begin `skew` bytes off a multiple of 64: views begin anywhere.
  virtual bool takes_input_at(size_t input, size_t skew) const = 0;
  virtual bool takes_output_at(size_t output, size_t skew) const = 0;
};

/// Launches that were recorded once and are replayed as one.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay(Stream& stream) = 0;  // throws Error(kDevice)
};

/// What the device itself noted of one launch or copy.
struct DeviceActivity {
  enum class Kind : uint8_t { kKernel, kUpload, kDownload, kOther };
  Kind kind = Kind::kKernel;
  uint64_t tag = 0;                  // of DeviceStream::tag() at the launch; 0: none
  double start_us = 0, time_us = 0;  // since begin_activity(), on one clock
  uint64_t bytes = 0;                // of a copy
};

/// A stream of a device backend. All members throw Error(kDevice) unless they say otherwise.
class DeviceStream : public Stream {
 public:
  /// Copies in order with the launches. Host memory from allocate_pinned is copied while the host goes on;
  /// other memory may be read before the call returns.
  virtual void upload(void* device, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* device, size_t bytes) = 0;
  virtual void fill(void* device, unsigned char value, size_t bytes) = 0;

  /// Between the two, launches on this stream are recorded instead of run; copies are not allowed. end_record
  /// gives null when something could not be recorded: then nothing has run, and take_error() may say why.
  virtual void begin_record() = 0;
  virtual std::unique_ptr<Recording> end_record() = 0;

  /// Notes the time on the device when everything enqueued so far is done; slots are numbered by the caller.
  virtual void mark(size_t slot) = 0;
  /// Microseconds between two marks that were passed; waits for the later one.
  virtual double elapsed_us(size_t from, size_t to) = 0;

  /// A named range of the calling thread, for the profilers of the device's maker; free where none listens.
  virtual void begin_range(const char*) noexcept {}
  virtual void end_range() noexcept {}
  /// From here to end_activity() the device notes what it does. Empty: it does; else why it cannot.
  virtual std::string begin_activity() { return "this device notes nothing"; }
  /// Waits, and gives what was noted.
  virtual std::vector<DeviceActivity> end_activity() { return {}; }
  /// What the calling thread launches next carries this number.
  virtual void tag(uint64_t) noexcept {}

  /// Work goes to the caller's own stream (a CUstream) instead; null: back to ours.
  virtual void use(void* callers_stream) = 0;
};

class DeviceBackend : public Backend {
 public:
  /// False where engines are only built: the device is not here.
  virtual bool can_run() const { return true; }
  /// Another device or target of this kind: "1", "sm_90a". Throws Error(kInvalidArgument, kDevice).
  virtual const Backend* at(std::string_view selector) const = 0;
  /// Host memory that the device reads and writes by itself. Throws Error(kOutOfMemory).
  virtual void* allocate_pinned(size_t bytes) const = 0;
  virtual void release_pinned(void* p) const noexcept = 0;
  /// Whether an address is memory of this device (a caller's tensor).
  virtual bool is_device_memory(const void* p) const noexcept = 0;
};

/// Null for a backend on the host.
inline const DeviceBackend* as_device(const Backend& backend) {
  return dynamic_cast<const DeviceBackend*>(&backend);
}
inline bool is_device_kernel(const Kernel& kernel) {
  return dynamic_cast<const DeviceKernel*>(&kernel) != nullptr;
}

/// The backend of a device: "cpu", "cuda", "cuda:1", "cuda:sm_90a". Null where no backend has that name.
const Backend* find_backend(const BackendRegistry& registry, std::string_view device);

}  // namespace wootz
