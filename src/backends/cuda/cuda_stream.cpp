// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_stream.h"

#include "backends/cuda/driver.h"
#include "backends/cuda/vendor/cupti.h"
#include "backends/cuda/vendor/nvtx.h"
#include "base/error.h"

namespace wootz {
namespace {

cuda::DevicePtr number(const void* p) { return reinterpret_cast<cuda::DevicePtr>(p); }

class CudaGraph final : public Recording {
 public:
  explicit CudaGraph(cuda::GraphExec exec, const CudaDevice& device) : exec_(exec), device_(device) {}
  ~CudaGraph() override {
    try {
      device_.make_current();
    } catch (const Error&) {
      return;  // the driver is gone, and the graph with it
    }
    cuda::Driver::get()->cuGraphExecDestroy(exec_);
  }
  void replay(Stream& stream) override {
    WOOTZ_CUDA(cuGraphLaunch, exec_, static_cast<CudaStream&>(stream).handle());
  }

 private:
  cuda::GraphExec exec_;
  const CudaDevice& device_;
};

}  // namespace

CudaStream::CudaStream(const CudaDevice& device) : device_(device) {
  device_.make_current();
  WOOTZ_CUDA(cuStreamCreate, &own_, cuda::kNonBlockingStream);
  active_ = own_;
}

CudaStream::~CudaStream() {
  try {
    device_.make_current();
  } catch (const Error&) {
    return;  // the driver is gone, and the stream with it
  }
  const auto& driver = cuda::Driver::get();
  driver->cuStreamSynchronize(own_);  // what it still runs uses memory that is freed next
  for (cuda::Event e : marks_) driver->cuEventDestroy_v2(e);
  if (capture_) driver->cuStreamDestroy_v2(capture_);
  driver->cuStreamDestroy_v2(own_);
}

void CudaStream::begin_run() { device_.make_current(); }

void CudaStream::synchronize() {
  device_.make_current();
  WOOTZ_CUDA(cuStreamSynchronize, active_);
}

void CudaStream::upload(void* device, const void* host, size_t bytes) {
  if (bytes > 0) WOOTZ_CUDA(cuMemcpyHtoDAsync_v2, number(device), host, bytes, active_);
}

void CudaStream::download(void* host, const void* device, size_t bytes) {
  if (bytes > 0) WOOTZ_CUDA(cuMemcpyDtoHAsync_v2, host, number(device), bytes, active_);
}

void CudaStream::fill(void* device, unsigned char value, size_t bytes) {
  if (bytes > 0) WOOTZ_CUDA(cuMemsetD8Async, number(device), value, bytes, active_);
}

void CudaStream::begin_record() {
  if (!capture_) WOOTZ_CUDA(cuStreamCreate, &capture_, cuda::kNonBlockingStream);
  WOOTZ_CUDA(cuStreamBeginCapture_v2, capture_, cuda::CaptureMode::kThreadLocal);
  is_recording_ = true;
}

std::unique_ptr<Recording> CudaStream::end_record() {
  is_recording_ = false;
  const auto& driver = cuda::Driver::get();
  cuda::Graph graph = nullptr;
  cuda::Result result = driver->cuStreamEndCapture(capture_, &graph);
  cuda::GraphExec exec = nullptr;
  if (result == cuda::kSuccess && graph) {
    result = driver->cuGraphInstantiateWithFlags(&exec, graph, 0);
    driver->cuGraphDestroy(graph);
  }
  if (result == cuda::kSuccess && exec) return std::make_unique<CudaGraph>(exec, device_);
  fail(std::make_exception_ptr(
      Error(ErrorKind::kDevice, "a CUDA graph was refused: " + cuda::Driver::get().describe(result))));
  return nullptr;
}

void CudaStream::mark(size_t slot) {
  while (marks_.size() <= slot) {
    marks_.push_back(nullptr);
    WOOTZ_CUDA(cuEventCreate, &marks_.back(), 0);
  }
  WOOTZ_CUDA(cuEventRecord, marks_[slot], active_);
}

double CudaStream::elapsed_us(size_t from, size_t to) {
  float milliseconds = 0;
  WOOTZ_CUDA(cuEventSynchronize, marks_.at(to));
  WOOTZ_CUDA(cuEventElapsedTime, &milliseconds, marks_.at(from), marks_.at(to));
  return 1e3 * milliseconds;
}

void CudaStream::begin_range(const char* name) noexcept { cuda::Nvtx::get().push(name); }
void CudaStream::end_range() noexcept { cuda::Nvtx::get().pop(); }

std::string CudaStream::begin_activity() {
  std::string reason;
  cuda::Cupti* cupti = cuda::Cupti::try_get(reason);
  if (!cupti) return reason;
  synchronize();
  if (std::string why = cupti->start(); !why.empty()) return why;
  activity_ = cupti;
  return "";
}

std::vector<DeviceActivity> CudaStream::end_activity() {
  if (!activity_) return {};
  synchronize();
  return std::exchange(activity_, nullptr)->stop();
}

void CudaStream::tag(uint64_t number) noexcept {
  if (activity_) activity_->tag(number);
}

void CudaStream::use(void* callers_stream) {
  active_ = callers_stream ? static_cast<cuda::StreamHandle>(callers_stream) : own_;
}

}  // namespace wootz
