// SPDX-License-Identifier: Apache-2.0
// Other programs, and places for what they read and write.
#pragma once
#include <string>
#include <vector>

namespace wootz::cli {

/// A folder that vanishes with the object. Throws Error(kIo) where none can be made.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

/// Runs a program with what it prints in a file; its exit status, 128 and the signal that ended it, or -1
/// when it could not be started.
int run_program(const std::vector<std::string>& words, const std::string& output);

/// The program that runs here.
std::string own_program();

}  // namespace wootz::cli
