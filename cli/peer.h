// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <wootz/engine.h>

namespace wootz {
/// Embedded files of peers/.
std::string_view peer_text(std::string_view name);
std::vector<std::string_view> peer_text_names();
}  // namespace wootz

namespace wootz::cli {

/// Whether Python can run the runtime's name: onnxruntime, openvino, torch.
bool is_peer(std::string_view runtime);

/// Runs a model in another runtime by the Python that WOOTZ_PYTHON names (python3 without it). Throws
/// kUnsupported with that program's own words when the runtime is not installed or refuses the model.
NamedData run_peer(const std::string& runtime, const std::string& model, const NamedData& inputs, bool all);

}  // namespace wootz::cli
