// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "device/tactic.h"

namespace wootz {

/// A tactic that serves every region by its body's references: strided inputs are gathered, results
/// scattered. The slow and obvious way, and the fallback of backends on the host. What a reference throws
/// ends up at the stream (Stream::fail).
std::unique_ptr<Tactic> make_reference_tactic(std::string id);

}  // namespace wootz
