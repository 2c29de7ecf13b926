// SPDX-License-Identifier: Apache-2.0
// The engine file (docs/engine-format.md): a header, a JSON plan, and 64-byte aligned blobs that are mapped,
// never read.
#pragma once
#include <memory>
#include <string>

#include "engine/engine_data.h"

namespace wootz {

inline constexpr uint32_t kEngineFormat = 1;

/// Writes beside and renames: the file appears whole or not at all.
void save_engine(const EngineData& engine, const std::string& path);

/// Maps the file and checks it: magic, version, size, every offset, and the hash of the plan. Damage gives
/// Error(kInvalidEngine) that says what was expected and found. `check_blobs` hashes the weights too (reads
/// them all).
std::shared_ptr<EngineData> load_engine(const std::string& path, bool check_blobs = false);

/// Whether the file starts like an engine.
bool is_engine_file(const std::string& path);

}  // namespace wootz
