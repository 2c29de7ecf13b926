// SPDX-License-Identifier: Apache-2.0
// NVRTC's interface over g++: kernels become shared objects that fake_driver.cpp runs on the CPU.
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Program {
  std::string text, log, binary;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string without_dynamic_shared(const std::string& text) {
  static const std::regex dynamic(R"(extern\s+__shared__\s+([^;]*)\[\]\s*;)");
  return std::regex_replace(text, dynamic, "static $1[262144];");
}

/// A caller for each kernel, that takes its parameters as the driver does.
std::string callers(const std::string& text, bool runs_itself) {
  static const std::regex kernel(
      R"((?:__global__\s+void\s+(?:__(?:launch_bounds|cluster_dims)__\((?:[^()]|\([^()]*\))*\)\s*)*|)"
      R"(WZ_KERNEL\([^)]*\)\s*)(\w+)\s*\()");
  std::string result;
  const std::string exported = "extern \"C\" __attribute__((visibility(\"default\"))) ";
  for (std::sregex_iterator i(text.begin(), text.end(), kernel), end; i != end; ++i) {
    const std::string name = (*i)[1].str();
    result += exported + "void fake_call_" + name + "(void** p) { fake_call(&" + name + ", p); }\n" +
              exported + "const unsigned long* fake_sizes_" + name + "() { return FakeSizes<decltype(" +
              name + ")>::value; }\n";
    if (runs_itself)
      result += exported + "void fake_run_" + name +
                "(void** p, unsigned grid, unsigned threads) { emulation::launch(&fake_call_" + name +
                ", p, grid, threads); }\n";
  }
  return result;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return 0;
}
__attribute__((visibility("default"))) const char* nvrtcGetErrorString(int) {
  return "NVRTC_ERROR_COMPILATION";
}
__attribute__((visibility("default"))) int nvrtcCreateProgram(Program** out, const char* text, const char*,
                                                              int count, const char* const* headers,
                                                              const char* const* names) {
  auto* program = new Program{text, "", "", {}};
  for (int i = 0; i < count; ++i) program->headers.emplace_back(names[i], headers[i]);
  *out = program;
  return 0;
}
__attribute__((visibility("default"))) int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
__attribute__((visibility("default"))) int nvrtcCompileProgram(Program* program, int, const char* const*) {
  char folder_name[] = "/tmp/fake_nvrtc_XXXXXX";
  if (!mkdtemp(folder_name)) return 6;
  const fs::path folder = folder_name;
  // Kernels over base/device.cuh (included, or pasted) get its names from tests/cuda/emulation.h, which runs
  // their threads itself.
  const std::string emulation = "#include \"" FAKE_TESTS "/cuda/emulation.h\"\n";
  static const std::string device = read_file(FAKE_TESTS "/../src/backends/cuda/kernels/base/device.cuh");
  const size_t pasted = program->text.find(device);
  bool runs_itself = pasted != std::string::npos;
  if (runs_itself) program->text.replace(pasted, device.size(), emulation);
  for (const auto& [name, text] : program->headers) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream header(folder / name);
    if (name == "base/device.cuh")
      header << emulation, runs_itself = true;
    else if (name == "gemm/sm90.cuh")
      header << "#include \"" FAKE_TESTS "/cuda/sm90_emulation.h\"\n";
    else
      header << without_dynamic_shared(text);
  }
  std::ofstream(folder / "kernel.cpp")
      << (runs_itself ? "#define __global__\n#define __grid_constant__\n#define __launch_bounds__(...)\n"
                        "#define __cluster_dims__(...)\n"
                        "#define __align__(n) __attribute__((aligned(n)))\n#include <algorithm>\nusing "
                        "std::max;\nusing std::min;\n"
                      : "#include \"" FAKE_TESTS "/cuda/fake/emulation.h\"\n")
      << "#line 1\n"
      << without_dynamic_shared(program->text) << "\n#include \"" FAKE_TESTS "/cuda/fake/calls.h\"\n"
      << callers(program->text, runs_itself);
  const std::string f = folder.string();
  const std::string command = "g++ -std=c++17 -O1 -w -shared -fPIC -fno-gnu-unique -fvisibility=hidden -I" +
                              f + " " + f + "/kernel.cpp -o " + f + "/kernel.so > " + f + "/log 2>&1";
  const int status = std::system(command.c_str());
  program->log = read_file(folder / "log");
  if (status == 0) {
    const std::string bytes = read_file(folder / "kernel.so");
    const uint64_t size = bytes.size();
    program->binary = "FAKECUB1" + std::string(reinterpret_cast<const char*>(&size), sizeof size) + bytes;
  }
  fs::remove_all(folder);
  return status == 0 ? 0 : 6;
}
__attribute__((visibility("default"))) int nvrtcGetCUBINSize(Program* p, size_t* size) {
  *size = p->binary.size();
  return 0;
}
__attribute__((visibility("default"))) int nvrtcGetCUBIN(Program* p, char* to) {
  std::memcpy(to, p->binary.data(), p->binary.size());
  return 0;
}
__attribute__((visibility("default"))) int nvrtcGetProgramLogSize(Program* p, size_t* size) {
  *size = p->log.size() + 1;
  return 0;
}
__attribute__((visibility("default"))) int nvrtcGetProgramLog(Program* p, char* to) {
  std::memcpy(to, p->log.c_str(), p->log.size() + 1);
  return 0;
}
}
