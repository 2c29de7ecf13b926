// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <wootz/prune.h>

namespace CLI {
class App;
}

namespace wootz::cli {

/// What `wootz prune` takes.
struct PruneFlags {
  std::string model, output;
  std::vector<std::string> samples;
  PruneOptions options;
  bool two_of_four = false, json = false;
  double share = 0;
};

CLI::App* add_prune(CLI::App& app, PruneFlags& flags);
int run_prune(const PruneFlags& flags);

}  // namespace wootz::cli
