// SPDX-License-Identifier: Apache-2.0
// What is kept of a tactic that computed a region wrongly, for whoever mends it.
#pragma once
#include <string>

#include "tuning/race.h"

namespace wootz {

/// Writes FOLDER/<tactic>-<hash of the problem>/: model.onnx (the region alone, at its shapes, with its
/// constants), test_data_set_0/input_N.pb (what it was run on, as ONNX lays out test data) and README.txt
/// (tactic, configuration, element expected and found, seed, command). Returns that folder; empty where it
/// was there already, where the region holds what no ONNX file can, or where it is larger than 256 MiB.
/// Throws Error(kIo).
std::string save_reproducer(const WrongTactic& wrong, const std::string& folder, const std::string& device);

/// $XDG_CACHE_HOME/wootz/wrong, else ~/.cache/wootz/wrong; empty without a home.
std::string default_reproducer_folder();

}  // namespace wootz
