// SPDX-License-Identifier: Apache-2.0
// Engines that come and go leave nothing behind, neither on the GPU nor on the host.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/cuda/cuda_device.h"
#include "engine/engine_file.h"
#include "runtime/execution_state.h"
#include "tests/compiler/compiled.h"
#include "tests/cuda/cuda_case.h"

namespace wootz::compile_tests {
namespace {

constexpr int kWarmUp = 20, kCycles = 1000;
/// What allocators round to, twice.
constexpr int64_t kMostOnDevice = int64_t{4} << 20, kMostOnHost = int64_t{16} << 20;

int64_t free_device_bytes() {
  CudaDevice::get(0).make_current();
  size_t free_bytes = 0, total = 0;
  WOOTZ_CUDA(cuMemGetInfo_v2, &free_bytes, &total);
  return static_cast<int64_t>(free_bytes);
}

int64_t resident_host_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * 4096;
}

TEST(CudaCycles, AThousandLoadsLeaveNothingBehind) {
  if (!has_gpu() || !has_nvrtc()) GTEST_SKIP() << "no GPU or no NVRTC here";
  const std::string file =
      (std::filesystem::temp_directory_path() / ("wootz_cycles_" + std::to_string(getpid()) + ".wtz"))
          .string();
  {
    ImportedModel model;
    model.graph = read_model(kSmallNet);
    CompileOptions options;
    options.backend = "cuda:0";
    options.shapes = {{"x", {2, 3, 8, 8}}};
    options.tune = false;
    save_engine(*compile(std::move(model), options), file);
  }
  const std::vector<Datum> input{ramp({2, 3, 8, 8})};
  int64_t on_device = 0, on_host = 0;
  for (int cycle = 0; cycle < kWarmUp + kCycles; ++cycle) {
    if (cycle == kWarmUp) on_device = free_device_bytes(), on_host = resident_host_bytes();
    ExecutionState state(load_engine(file));
    std::vector<Datum> got(1);
    const Status status = state.run(input, got);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_GE(free_device_bytes(), on_device - kMostOnDevice);
  EXPECT_LE(resident_host_bytes(), on_host + kMostOnHost);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace wootz::compile_tests
