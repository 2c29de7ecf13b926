// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

#include <wootz/builder.h>

namespace wootz::cli {

/// One line on a terminal's stderr that shows stage, share done and time left; silent elsewhere. Ctrl-C
/// cancels the build.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  bool operator()(const BuildProgress& progress);
  void clear();

 private:
  bool is_terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace wootz::cli
