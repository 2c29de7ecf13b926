// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "quantize/range_choice.h"

namespace wootz {

/// The range of every activation that gets 8 bits, by value name: what a calibration file holds.
struct Calibration {
  struct Entry {
    ActivationRange range;             // that 8 bits stand for
    double smallest = 0, largest = 0;  // seen on samples
  };
  std::string model, method;
  size_t samples = 0;
  bool is_signed = false;
  std::map<std::string, Entry> tensors;

  std::string to_json() const;
  /// Throws kInvalidArgument: what is expected, what was found.
  static Calibration from_json(const std::string& text);
};

}  // namespace wootz
