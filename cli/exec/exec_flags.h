// SPDX-License-Identifier: Apache-2.0
// The flags of NVIDIA's trtexec that `wootz exec` knows, and what becomes of each.
#pragma once
#include <span>
#include <string_view>

namespace wootz::cli {

/// What becomes of a flag. A flag that changes results or times is done or refused, never passed over.
enum class FlagFate : unsigned char {
  kDone,     // does here what it does there
  kNoted,    // changes neither results nor times here; accepted with a note
  kRefused,  // an error that names what to use instead
};

struct ExecFlag {
  std::string_view name;  // without dashes
  bool takes_value;       // --name=value
  FlagFate fate;
  std::string_view text;  // done: help; noted: the note; refused: why, and what to use instead
};

/// Every flag of trtexec 11.x, the precision and calibration flags of 10.x and what is left of 8.x.
std::span<const ExecFlag> exec_flags();
const ExecFlag* find_exec_flag(std::string_view name);

}  // namespace wootz::cli
