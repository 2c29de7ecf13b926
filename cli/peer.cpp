// SPDX-License-Identifier: Apache-2.0
#include "cli/peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <wootz/error.h>

#include "cli/npz.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

/// A folder that vanishes with the object.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wootz-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw Error(ErrorKind::kIo,
                  "cannot make a folder in " + pattern + "; set TMPDIR to a folder with room");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string file(const char* name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

/// Runs a program with standard error in a file; its exit status, -1 when it could not be started.
int run_program(const std::vector<std::string>& words, const std::string& errors) {
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last.empty() ? "it said nothing" : last;
}

}  // namespace

bool is_peer(std::string_view runtime) {
  return runtime == "onnxruntime" || runtime == "openvino" || runtime == "torch";
}

NamedData run_peer(const std::string& runtime, const std::string& model, const NamedData& inputs, bool all) {
  const Scratch scratch;
  write_npz(scratch.file("inputs.npz"), inputs);
  write_text_file(scratch.file("peer_run.py"), peer_text("peer_run.py"));
  const char* python = std::getenv("WOOTZ_PYTHON");
  const int status =
      run_program({python ? python : "python3", scratch.file("peer_run.py"), runtime, model,
                   scratch.file("inputs.npz"), scratch.file("outputs.npz"), all ? "all" : "outputs"},
                  scratch.file("errors.txt"));
  if (status != 0)
    throw Error(ErrorKind::kUnsupported,
                runtime + " did not run '" + model + "': " + last_line(scratch.file("errors.txt")) +
                    "; WOOTZ_PYTHON names the Python to use (now " + (python ? python : "python3") + ")");
  NamedData outputs;
  for (auto& [name, tensor] : read_npz(scratch.file("outputs.npz"))) outputs[name] = Datum(std::move(tensor));
  return outputs;
}

}  // namespace wootz::cli
