// SPDX-License-Identifier: Apache-2.0
// What files hold besides engines: weights of models, and caches.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <wootz/export.h>
#include <wootz/tensor.h>

namespace wootz {

/// Weights of an .onnx model by their names in the file, also those of bodies of If, Loop and Scan, or
/// constants of a .wtz engine. Nothing is built; the tensors view the mapped file where they can. Throws what
/// reading either throws.
WOOTZ_API std::vector<std::pair<std::string, Tensor>> read_weights(const std::string& path);

/// A tactic among a cache's entries.
struct CachedTactic {
  std::string device;  // of times
  std::string tactic;  // id@version; of compiled kernels the version of the compiler
  size_t entries = 0;
  size_t fastest = 0;  // problems for which it is the fastest that was timed
};

struct CachedEntry {
  std::string device, tactic, config, problem;
  double time_us = 0;  // 0: no time
};

struct CacheReport {
  std::string kind;  // "times", "decisions" or "compiled kernels"
  size_t problems = 0, entries = 0;
  size_t skipped = 0;  // lines that do not parse; files that are no kernels
  size_t bytes = 0;
  std::vector<CachedTactic> tactics;
  std::vector<CachedEntry> all;  // empty for compiled kernels, whose names are hashes
};

/// A timing cache, a file of decisions or the folder of compiled kernels, told by what it holds; nothing
/// where the path is another file. Throws Error: kIo, and kInvalidArgument for a file of decisions that is
/// damaged.
WOOTZ_API std::optional<CacheReport> read_cache(const std::string& path);

}  // namespace wootz
