// SPDX-License-Identifier: Apache-2.0
#include "device/device_backend.h"

namespace wootz {

const Backend* find_backend(const BackendRegistry& registry, std::string_view device) {
  const size_t colon = device.find(':');
  const Backend* backend = registry.find(device.substr(0, colon));
  if (!backend || colon == std::string_view::npos) return backend;
  const std::string_view selector = device.substr(colon + 1);
  if (const DeviceBackend* kind = as_device(*backend)) return kind->at(selector);
  if (selector == "0") return backend;
  throw Error(ErrorKind::kInvalidArgument, "--device: there is only one " + std::string(backend->name()) +
                                               ", found '" + std::string(device) + "'");
}

}  // namespace wootz
