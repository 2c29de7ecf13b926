// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <charconv>

#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "base/error.h"
#include "device/reference_tactic.h"

namespace wootz {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

CudaTargetBackend::CudaTargetBackend(const CudaTarget& target)
    : target_(target),
      name_("cuda:" + (target.device ? std::to_string(target.device->ordinal()) : target.arch.name())),
      tactics_(target) {
  register_all_cuda_tactics(tactics_);
  tactics_.add(make_reference_tactic("reference.node"),
               CudaTactics::kReference);  // on the host, with copies that the runtime plans
  for (const auto& tactic : tactics_.all()) listed_.push_back(tactic.get());
}

const CudaDevice& CudaTargetBackend::device() const {
  if (target_.device) return *target_.device;
  throw Error(ErrorKind::kDevice,
              "an engine for " + target_.arch.name() +
                  " was asked to run where only its kernels can be compiled; run it on such "
                  "a GPU");
}

std::string CudaTargetBackend::describe() const {
  if (!target_.device) return target_.arch.name() + ", compiled for only";
  return target_.device->name() + ", " + target_.arch.name() + ", " +
         std::to_string(target_.multiprocessors) + " multiprocessors, " +
         std::to_string(target_.device->memory_bytes() >> 20) + " MiB";
}

TargetTraits CudaTargetBackend::traits(int) const {
  TargetTraits t;
  t.name = "cuda";
  t.prefers_channels_last = true;
  // Nominal rates: decisions must repeat from build to build. 128 float32 multiply-adds a clock and
  // multiprocessor, 64 on the two generations made for computing centres before 9.0.
  const bool half_rate = target_.arch.number == 75 || target_.arch.number == 80;
  const double clock = target_.device ? target_.device->clock_hz() : 1.7e9;
  t.flops_per_second = clock * target_.multiprocessors * (half_rate ? 128 : 256);
  t.bytes_per_second = target_.device               ? target_.device->bytes_per_second()
                       : target_.arch.number >= 100 ? 7e12
                       : target_.arch.number >= 90  ? 3.3e12
                                                    : 1e12;
  t.launch_seconds = 2e-6;
  t.cache_bytes = target_.l2_bytes;
  if (target_.arch.has_wgmma()) t.gated_types = {DType::kFloat16, DType::kBFloat16};
  t.gated_channel_multiple = 8;
  if (target_.arch.has_tma()) t.mean_types = {DType::kFloat16, DType::kBFloat16};
  t.multiplies_integers = target_.arch.at_least(75);
  t.quantizes_in_regions = true;
  t.fingerprint = target_.device ? target_.device->name() + "; " + target_.arch.name() + "; driver " +
                                       version_text(cuda::Driver::get().version())
                                 : target_.arch.name() + "; not timed";
  return t;
}

std::unique_ptr<Stream> CudaTargetBackend::make_stream(int) const {
  return std::make_unique<CudaStream>(device());
}

void* CudaTargetBackend::allocate(size_t bytes) const {
  return reinterpret_cast<void*>(device().allocate(bytes));  // NOLINT: a number on the device
}

void CudaTargetBackend::release(void* p) const noexcept {
  if (p) target_.device->release(reinterpret_cast<cuda::DevicePtr>(p));
}

void CudaTargetBackend::copy(void* to, const void* from, size_t bytes, Stream& stream) const {
  if (bytes == 0) return;
  device().make_current();
  WOOTZ_CUDA(cuMemcpyAsync, reinterpret_cast<cuda::DevicePtr>(to), reinterpret_cast<cuda::DevicePtr>(from),
             bytes, static_cast<CudaStream&>(stream).handle());
}

void* CudaTargetBackend::allocate_pinned(size_t bytes) const {
  device().make_current();
  void* p = nullptr;
  cuda::check(cuda::Driver::get()->cuMemHostAlloc(&p, std::max<size_t>(bytes, 1), 0), "cuMemHostAlloc",
              "asked for " + std::to_string(bytes) + " bytes of pinned host memory");
  return p;
}

void CudaTargetBackend::release_pinned(void* p) const noexcept {
  if (!p) return;
  try {
    device().make_current();
  } catch (const Error&) {
    return;  // the driver is gone, and the memory with it
  }
  cuda::Driver::get()->cuMemFreeHost(p);
}

bool CudaTargetBackend::is_device_memory(const void* p) const noexcept {
  if (!p) return false;
  auto type = cuda::MemoryType::kHost;
  // Memory that the driver has never heard of is an error, and the host's.
  const auto result = cuda::Driver::get()->cuPointerGetAttribute(&type, cuda::PointerAttribute::kMemoryType,
                                                                 reinterpret_cast<cuda::DevicePtr>(p));
  return result == cuda::kSuccess && type == cuda::MemoryType::kDevice;
}

std::string CudaBackend::describe() const {
  std::string reason;
  const cuda::Driver* driver = cuda::Driver::try_get(reason);
  std::string text;
  if (driver) {
    text = "driver for CUDA " + version_text(driver->version());
    for (int i = 0; i < driver->device_count(); ++i)
      text += "; " + std::to_string(i) + ": " + at(std::to_string(i))->describe();
  } else {
    text = reason;
  }
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::try_get(reason);
  return text + "; " + (nvrtc ? "NVRTC " + nvrtc->version() : "no NVRTC");
}

const Backend* CudaBackend::at(std::string_view selector) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = opened_.find(selector); known != opened_.end()) return known->second.get();
  int ordinal = 0;
  const char* end = selector.data() + selector.size();
  const bool is_number = std::from_chars(selector.data(), end, ordinal).ptr == end && !selector.empty();
  const CudaTarget target =
      is_number ? CudaDevice::get(ordinal).target() : CudaTarget::typical(CudaArch::parse(selector));
  auto& backend = opened_[std::string(selector)];
  backend = std::make_unique<CudaTargetBackend>(target);
  return backend.get();
}

}  // namespace wootz

namespace wootz::cuda_backend {

void register_backend(BackendRegistry& registry) { registry.add(std::make_unique<CudaBackend>()); }

}  // namespace wootz::cuda_backend
