// SPDX-License-Identifier: Apache-2.0
#include "cli/peer.h"

#include <cstdlib>
#include <fstream>

#include <wootz/error.h>

#include "cli/child.h"
#include "cli/npz.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

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
  const ScratchFolder scratch;
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
