// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's interface on the CPU, for tests: memory that the host must not touch, streams that run at
// once, graphs, and kernels that fake_nvrtc.cpp compiled. The environment sets what tests want to see:
//   FAKE_CUDA_VERSION (13000), FAKE_CUDA_DEVICES (1), FAKE_CUDA_ARCH (90), FAKE_CUDA_MEMORY (bytes, 4 GiB),
//   FAKE_CUDA_FAIL (a call's name, that fails with CUDA_ERROR_ILLEGAL_ADDRESS).
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "tests/cuda/fake/fibres.h"

namespace wootz::cuda {
struct StreamRecord {
  std::vector<std::function<Result()>>* captured = nullptr;
};
struct GraphRecord {
  std::vector<std::function<Result()>> work;
};
struct GraphExecRecord {
  std::vector<std::function<Result()>> work;
};
struct EventRecord {
  std::chrono::steady_clock::time_point at;
};
struct FunctionRecord {
  void (*entry)(void**);
  void (*run)(void**, unsigned grid, unsigned threads);  // null: the driver has the fibres
  fake::Thread** current;
  const unsigned long* sizes;  // the number of parameters, then the bytes of each
};
struct ModuleRecord {
  void* library = nullptr;
  std::vector<std::unique_ptr<FunctionRecord>> functions;
};
struct ContextRecord {
  int device;
};

namespace {

constexpr Result kInvalidValue = 1, kIllegalAddress = 700, kNotFound = 500, kLaunchFailed = 719;

std::recursive_mutex mutex;
thread_local Context current = nullptr;

long setting(const char* name, long fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::atol(text) : fallback;
}

bool fails(const char* call) {
  const char* asked = std::getenv("FAKE_CUDA_FAIL");
  return asked && std::string(asked) == call;
}

/// Device memory: one reservation that only driver calls may open.
class Memory {
 public:
  Memory() : size_(static_cast<size_t>(setting("FAKE_CUDA_MEMORY", 4L << 30))) {
    base_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  DevicePtr allocate(size_t bytes) {
    bytes = (bytes + 511) / 512 * 512;
    size_t at = 0;
    for (const auto& [begin, size] : blocks_) {
      if (begin >= at + bytes) break;
      at = begin + size;
    }
    if (at + bytes > size_) return 0;
    blocks_[at] = bytes;
    used_ += bytes;
    return reinterpret_cast<DevicePtr>(base_ + at);
  }
  bool release(DevicePtr p) {
    const auto it = blocks_.find(reinterpret_cast<char*>(p) - base_);
    if (it == blocks_.end()) return false;
    used_ -= it->second;
    blocks_.erase(it);
    return true;
  }
  bool holds(DevicePtr p, size_t bytes) const {
    const char* at = reinterpret_cast<const char*>(p);
    if (at < base_ || at + bytes > base_ + size_) return false;
    auto it = blocks_.upper_bound(static_cast<size_t>(at - base_));
    if (it == blocks_.begin()) return false;
    --it;
    return static_cast<size_t>(at - base_) + bytes <= it->first + it->second;
  }
  size_t size() const { return size_; }
  size_t used() const { return used_; }
  void open() { mprotect(base_, size_, PROT_READ | PROT_WRITE); }
  void close() { mprotect(base_, size_, PROT_NONE); }

 private:
  size_t size_, used_ = 0;
  char* base_;
  std::map<size_t, size_t> blocks_;
};

Memory& memory() {
  static Memory m;
  return m;
}

class Opened {
 public:
  Opened() { memory().open(); }
  ~Opened() { memory().close(); }
};

/// Runs now, or later as part of a graph.
Result enqueue(StreamHandle stream, std::function<Result()> work) {
  if (!current) return 201;
  if (stream && stream->captured) {
    stream->captured->push_back(std::move(work));
    return kSuccess;
  }
  return work();
}

/// Who hears of launches (-1) and copies (as CUPTI numbers their kinds): the fake of CUPTI.
using Listener = void (*)(int kind, size_t bytes, uint64_t start, uint64_t end);
Listener listener = nullptr;

class Noted {
 public:
  Noted(int kind, size_t bytes) : kind_(kind), bytes_(bytes), start_(now()) {}
  ~Noted() {
    if (listener) listener(kind_, bytes_, start_, now());
  }

 private:
  static uint64_t now() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  int kind_;
  size_t bytes_;
  uint64_t start_;
};

Result copy(DevicePtr to, DevicePtr from, size_t bytes, bool to_device, bool from_device) {
  const Noted noted(to_device ? from_device ? 8 : 1 : 2, bytes);
  if (to_device && !memory().holds(to, bytes)) return kInvalidValue;
  if (from_device && !memory().holds(from, bytes)) return kInvalidValue;
  const Opened opened;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default"))) Result
#define FAKE_LOCK                                          \
  const std::lock_guard<std::recursive_mutex> lock(mutex); \
  if (fails(__func__)) return kIllegalAddress

FAKE_API cuInit(unsigned) { return setting("FAKE_CUDA_DEVICES", 1) > 0 ? kSuccess : kNoDevice; }
FAKE_API cuDriverGetVersion(int* v) {
  *v = static_cast<int>(setting("FAKE_CUDA_VERSION", 13000));
  return kSuccess;
}
FAKE_API cuGetErrorName(Result r, const char** name) {
  *name = r == kOutOfMemoryResult ? "CUDA_ERROR_OUT_OF_MEMORY"
          : r == kIllegalAddress  ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                  : "CUDA_ERROR_OF_THE_FAKE";
  return kSuccess;
}
FAKE_API cuGetErrorString(Result r, const char** text) {
  *text = r == kOutOfMemoryResult ? "out of memory"
          : r == kIllegalAddress  ? "an illegal memory access"
                                  : "failed";
  return kSuccess;
}
FAKE_API cuDeviceGetCount(int* n) {
  *n = static_cast<int>(setting("FAKE_CUDA_DEVICES", 1));
  return kSuccess;
}
FAKE_API cuDeviceGet(Device* d, int i) {
  *d = i;
  return kSuccess;
}
FAKE_API cuDeviceGetName(char* name, int size, Device) {
  std::strncpy(name, "fake GPU", static_cast<size_t>(size));
  return kSuccess;
}
FAKE_API cuDeviceTotalMem_v2(size_t* bytes, Device) {
  *bytes = memory().size();
  return kSuccess;
}
FAKE_API cuDeviceGetAttribute(int* value, DeviceAttribute which, Device) {
  const auto arch = static_cast<int>(setting("FAKE_CUDA_ARCH", 90));
  switch (which) {
    case DeviceAttribute::kClockKilohertz: *value = 1000000; break;
    case DeviceAttribute::kMultiprocessors: *value = 4; break;
    case DeviceAttribute::kMemoryClockKilohertz: *value = 1000000; break;
    case DeviceAttribute::kMemoryBusBits: *value = 512; break;
    case DeviceAttribute::kL2Bytes: *value = 1 << 20; break;
    case DeviceAttribute::kComputeMajor: *value = arch / 10; break;
    case DeviceAttribute::kComputeMinor: *value = arch % 10; break;
    case DeviceAttribute::kSharedBytesPerBlockOptIn: *value = 227 << 10; break;
  }
  return kSuccess;
}
FAKE_API cuDevicePrimaryCtxRetain(Context* context, Device d) {
  static ContextRecord contexts[16] = {{0}, {1}, {2}, {3}};
  *context = &contexts[d];
  return kSuccess;
}
FAKE_API cuCtxSetCurrent(Context c) {
  current = c;
  return kSuccess;
}
FAKE_API cuCtxGetCurrent(Context* c) {
  *c = current;
  return kSuccess;
}
FAKE_API cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  FAKE_LOCK;
  *total = memory().size();
  *free_bytes = memory().size() - memory().used();
  return kSuccess;
}
FAKE_API cuMemAlloc_v2(DevicePtr* p, size_t bytes) {
  FAKE_LOCK;
  if (!current) return 201;
  *p = memory().allocate(bytes);
  return *p ? kSuccess : kOutOfMemoryResult;
}
FAKE_API cuMemFree_v2(DevicePtr p) {
  FAKE_LOCK;
  return memory().release(p) ? kSuccess : kInvalidValue;
}
FAKE_API cuMemHostAlloc(void** p, size_t bytes, unsigned) {
  *p = std::malloc(bytes);
  return *p ? kSuccess : kOutOfMemoryResult;
}
FAKE_API cuMemFreeHost(void* p) {
  std::free(p);
  return kSuccess;
}
FAKE_API cuMemcpyAsync(DevicePtr to, DevicePtr from, size_t bytes, StreamHandle s) {
  FAKE_LOCK;
  return enqueue(s, [=] { return copy(to, from, bytes, memory().holds(to, 1), memory().holds(from, 1)); });
}
FAKE_API cuMemcpyHtoDAsync_v2(DevicePtr to, const void* from, size_t bytes, StreamHandle s) {
  FAKE_LOCK;
  if (memory().holds(reinterpret_cast<DevicePtr>(from), 1)) return kInvalidValue;
  return enqueue(s, [=] { return copy(to, reinterpret_cast<DevicePtr>(from), bytes, true, false); });
}
FAKE_API cuMemcpyDtoHAsync_v2(void* to, DevicePtr from, size_t bytes, StreamHandle s) {
  FAKE_LOCK;
  if (memory().holds(reinterpret_cast<DevicePtr>(to), 1)) return kInvalidValue;
  return enqueue(s, [=] { return copy(reinterpret_cast<DevicePtr>(to), from, bytes, false, true); });
}
FAKE_API cuMemsetD8Async(DevicePtr to, unsigned char value, size_t bytes, StreamHandle s) {
  FAKE_LOCK;
  return enqueue(s, [=] {
    if (!memory().holds(to, bytes)) return kInvalidValue;
    const Opened opened;
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return kSuccess;
  });
}
extern "C" __attribute__((visibility("default"))) void fake_listen(Listener heard) { listener = heard; }
/// What the fakes of NVIDIA's libraries do on a stream, with the device's memory open.
FAKE_API fake_enqueue(StreamHandle s, const std::function<void()>& work) {
  FAKE_LOCK;
  return enqueue(s, [work] {
    const Opened opened;
    work();
    return kSuccess;
  });
}
/// Whether device memory begins before that address and goes on.
extern "C" __attribute__((visibility("default"))) int fake_is_inside(const void* p) {
  FAKE_LOCK;
  return memory().holds(reinterpret_cast<DevicePtr>(p) - 1, 2);
}
extern "C" __attribute__((visibility("default"))) int fake_is_recorded(StreamHandle s) {
  FAKE_LOCK;
  return s && s->captured;
}
FAKE_API cuPointerGetAttribute(void* to, PointerAttribute, DevicePtr p) {
  FAKE_LOCK;
  if (!memory().holds(p, 1)) return kInvalidValue;
  *static_cast<MemoryType*>(to) = MemoryType::kDevice;
  return kSuccess;
}
FAKE_API cuStreamCreate(StreamHandle* s, unsigned) {
  *s = new StreamRecord();
  return kSuccess;
}
FAKE_API cuStreamDestroy_v2(StreamHandle s) {
  delete s;
  return kSuccess;
}
FAKE_API cuStreamSynchronize(StreamHandle) {
  FAKE_LOCK;
  return kSuccess;
}
FAKE_API cuStreamBeginCapture_v2(StreamHandle s, CaptureMode) {
  FAKE_LOCK;
  s->captured = new std::vector<std::function<Result()>>();
  return kSuccess;
}
FAKE_API cuStreamEndCapture(StreamHandle s, Graph* graph) {
  FAKE_LOCK;
  *graph = new GraphRecord{std::move(*s->captured)};
  delete s->captured;
  s->captured = nullptr;
  return kSuccess;
}
FAKE_API cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  FAKE_LOCK;
  *exec = new GraphExecRecord{graph->work};
  return kSuccess;
}
FAKE_API cuGraphLaunch(GraphExec exec, StreamHandle s) {
  FAKE_LOCK;
  for (const auto& work : exec->work)
    if (const Result r = enqueue(s, work); r != kSuccess) return r;
  return kSuccess;
}
FAKE_API cuGraphExecDestroy(GraphExec exec) {
  delete exec;
  return kSuccess;
}
FAKE_API cuGraphDestroy(Graph graph) {
  delete graph;
  return kSuccess;
}
FAKE_API cuEventCreate(Event* e, unsigned) {
  *e = new EventRecord();
  return kSuccess;
}
FAKE_API cuEventDestroy_v2(Event e) {
  delete e;
  return kSuccess;
}
FAKE_API cuEventRecord(Event e, StreamHandle) {
  e->at = std::chrono::steady_clock::now();
  return kSuccess;
}
FAKE_API cuEventSynchronize(Event) { return kSuccess; }
FAKE_API cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return kSuccess;
}
FAKE_API cuModuleLoadData(Module* module, const void* data) {
  FAKE_LOCK;
  const char* bytes = static_cast<const char*>(data);
  if (std::memcmp(bytes, "FAKECUB1", 8) != 0) return 200;
  uint64_t size = 0;
  std::memcpy(&size, bytes + 8, sizeof size);
  char path[] = "/tmp/fake_cubin_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, bytes + 16, size) != static_cast<ssize_t>(size)) return 200;
  close(file);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (!library) return 200;
  *module = new ModuleRecord();
  (*module)->library = library;
  return kSuccess;
}
FAKE_API cuModuleUnload(Module module) {
  FAKE_LOCK;
  dlclose(module->library);
  delete module;
  return kSuccess;
}
FAKE_API cuModuleGetFunction(Function* function, Module module, const char* name) {
  FAKE_LOCK;
  auto entry =
      reinterpret_cast<void (*)(void**)>(dlsym(module->library, (std::string("fake_call_") + name).c_str()));
  auto thread = static_cast<fake::Thread**>(dlsym(module->library, "fake_thread"));
  auto run = reinterpret_cast<void (*)(void**, unsigned, unsigned)>(
      dlsym(module->library, (std::string("fake_run_") + name).c_str()));
  auto sizes = reinterpret_cast<const unsigned long* (*)()>(
      dlsym(module->library, (std::string("fake_sizes_") + name).c_str()));
  if (!entry || (!thread && !run) || !sizes) return kNotFound;
  module->functions.push_back(std::make_unique<FunctionRecord>(FunctionRecord{entry, run, thread, sizes()}));
  *function = module->functions.back().get();
  return kSuccess;
}
FAKE_API cuFuncSetAttribute(Function, FunctionAttribute, int) { return kSuccess; }
FAKE_API cuFuncGetAttribute(int* value, FunctionAttribute, Function) {
  *value = 0;
  return kSuccess;
}
FAKE_API cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void**) {
  FAKE_LOCK;
  const fake::Size grid{config->grid_x, config->grid_y, config->grid_z},
      block{config->block_x, config->block_y, config->block_z};
  const unsigned threads = block.x * block.y * block.z;
  if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.y > 65535 || grid.z == 0 ||
      grid.z > 65535 || config->shared_bytes > (227u << 10))
    return kInvalidValue;
  std::vector<std::vector<char>> values;
  for (size_t i = 0; i < function->sizes[0]; ++i) {
    const char* from = static_cast<const char*>(parameters[i]);
    values.emplace_back(from, from + function->sizes[i + 1]);
  }
  return enqueue(config->stream, [=]() mutable {
    const Opened opened;
    const Noted noted(-1, 0);
    std::vector<void*> pointers;
    for (auto& v : values) pointers.push_back(v.data());
    if (function->run) {
      if (grid.y * grid.z * block.y * block.z != 1) return kInvalidValue;
      function->run(pointers.data(), grid.x, block.x);
      return kSuccess;
    }
    return fake::run_grid(function->entry, pointers.data(), function->current, grid, block) ? kSuccess
                                                                                            : kLaunchFailed;
  });
}
/// What tests/cuda/sm90_emulation.h reads.
struct OpaqueMap {
  char* address;
  uint64_t dims[5], strides[4];
  uint32_t box[5];                                    // im2col: channels, pixels
  uint8_t rank, element_bytes, is_im2col, row_bytes;  // rows: what the swizzle spans, 0: plain
  int8_t lower[2], upper[2], step[2];                 // of the im2col mode, width first
};
static_assert(sizeof(OpaqueMap) <= sizeof(TensorMap));

/// Refuses what the driver refuses, and what the emulation does not know.
Result encode_array(OpaqueMap& map, MapType type, uint32_t rank, void* address, const uint64_t* dims,
                    const uint64_t* strides, MapSwizzle swizzle) {
  if (rank < 1 || rank > 5 || reinterpret_cast<uintptr_t>(address) % 16 != 0) return kInvalidValue;
  if (type != MapType::kFloat16 && type != MapType::kBFloat16 && type != MapType::kUint8 &&
      type != MapType::kTFloat32)
    return 801;
  if (swizzle == MapSwizzle::k32Bytes) return 801;
  map.address = static_cast<char*>(address);
  map.rank = static_cast<uint8_t>(rank), map.element_bytes = type == MapType::kUint8      ? 1
                                                             : type == MapType::kTFloat32 ? 4
                                                                                          : 2;
  map.row_bytes = swizzle == MapSwizzle::kNone ? 0 : swizzle == MapSwizzle::k64Bytes ? 64 : 128;
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] == 0 || dims[d] > uint64_t{1} << 32) return kInvalidValue;
    map.dims[d] = dims[d];
    if (d == 0) continue;
    if (strides[d - 1] % 16 != 0 || strides[d - 1] >= uint64_t{1} << 40) return kInvalidValue;
    map.strides[d - 1] = strides[d - 1];
  }
  return kSuccess;
}

FAKE_API cuTensorMapEncodeTiled(TensorMap* map, MapType type, uint32_t rank, void* address,
                                const uint64_t* dims, const uint64_t* strides, const uint32_t* box,
                                const uint32_t* steps, MapInterleave, MapSwizzle swizzle, MapPromotion, int) {
  OpaqueMap opaque{};
  if (const Result r = encode_array(opaque, type, rank, address, dims, strides, swizzle); r != kSuccess)
    return r;
  for (uint32_t d = 0; d < rank; ++d) {
    if (box[d] == 0 || box[d] > 256 || steps[d] != 1) return kInvalidValue;
    opaque.box[d] = box[d];
  }
  if (box[0] * opaque.element_bytes % 16 != 0 ||
      (opaque.row_bytes != 0 && box[0] * opaque.element_bytes > opaque.row_bytes))
    return kInvalidValue;
  std::memcpy(map, &opaque, sizeof opaque);
  return kSuccess;
}
FAKE_API cuTensorMapEncodeIm2col(TensorMap* map, MapType type, uint32_t rank, void* address,
                                 const uint64_t* dims, const uint64_t* strides, const int* lower,
                                 const int* upper, uint32_t channels, uint32_t pixels, const uint32_t* steps,
                                 MapInterleave, MapSwizzle swizzle, MapPromotion, int) {
  OpaqueMap opaque{};
  if (rank != 4 || swizzle == MapSwizzle::kNone) return 801;
  if (const Result r = encode_array(opaque, type, rank, address, dims, strides, swizzle); r != kSuccess)
    return r;
  if (channels * opaque.element_bytes > opaque.row_bytes || channels * opaque.element_bytes % 16 != 0 ||
      pixels == 0 || pixels > 1024)
    return kInvalidValue;
  opaque.is_im2col = 1, opaque.box[0] = channels, opaque.box[1] = pixels;
  for (int d = 0; d < 2; ++d) {
    if (lower[d] < -128 || lower[d] > 127 || upper[d] < -128 || upper[d] > 127) return kInvalidValue;
    if (steps[d + 1] < 1 || steps[d + 1] > 8) return kInvalidValue;
    opaque.lower[d] = static_cast<int8_t>(lower[d]), opaque.upper[d] = static_cast<int8_t>(upper[d]);
    opaque.step[d] = static_cast<int8_t>(steps[d + 1]);
  }
  std::memcpy(map, &opaque, sizeof opaque);
  return kSuccess;
}

}  // namespace wootz::cuda
