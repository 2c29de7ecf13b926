// SPDX-License-Identifier: Apache-2.0
#include "device/backend.h"

namespace wootz {

void BackendRegistry::add(std::unique_ptr<Backend> backend) {
  WOOTZ_ASSERT(find(backend->name()) == nullptr);
  backends_.push_back(std::move(backend));
}

const Backend* BackendRegistry::find(std::string_view name) const {
  for (const auto& backend : backends_)
    if (backend->name() == name) return backend.get();
  return nullptr;
}

BackendRegistry& BackendRegistry::global() {
  static BackendRegistry registry;
  return registry;
}

}  // namespace wootz
