// SPDX-License-Identifier: Apache-2.0
#include "device/backend.h"

namespace wootz {
namespace {

// This object is always linked into programs (never drawn from an archive), so its initialiser runs.
const bool kRegistered = [] {
  register_all_backends(BackendRegistry::global());
  return true;
}();

}  // namespace
}  // namespace wootz
