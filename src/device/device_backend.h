// SPDX-License-Identifier: Apache-2.0
// What a backend offers besides when its memory is not the host's.
#pragma once
#include <string_view>

#include "device/backend.h"

namespace wootz {

/// A kernel whose operands lie on the stream's device and whose launch only enqueues. What is no DeviceKernel
/// (a reference) runs on the host, on copies that the runtime makes.
class DeviceKernel : public Kernel {};

class DeviceBackend : public Backend {
 public:
  /// False where engines are only built: the device is not here.
  virtual bool can_run() const { return true; }
  /// Another device or target of this kind: "1", "sm_90a". Throws Error(kInvalidArgument, kDevice).
  virtual const Backend* at(std::string_view selector) const = 0;
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
