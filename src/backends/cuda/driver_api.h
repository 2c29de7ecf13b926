// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's interface that Wootz calls, declared here so that no toolkit is needed to
// build. tests/backends/cuda/driver_abi_test.cpp holds it against cuda.h where there is one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wootz::cuda {

using Result = int;  // 0: success
using Device = int;
using DevicePtr = uint64_t;
using Context = struct ContextRecord*;
using Module = struct ModuleRecord*;
using Function = struct FunctionRecord*;
using StreamHandle = struct StreamRecord*;
using Event = struct EventRecord*;
using Graph = struct GraphRecord*;
using GraphExec = struct GraphExecRecord*;

inline constexpr Result kSuccess = 0, kOutOfMemoryResult = 2, kNoDevice = 100;

enum class DeviceAttribute : int {
  kClockKilohertz = 13,
  kMultiprocessors = 16,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytesPerBlockOptIn = 97,
};
enum class FunctionAttribute : int {
  kLocalBytes = 3,
  kRegisters = 4,
  kMostDynamicSharedBytes = 8,
  kNonPortableClusters = 14,
};
enum class PointerAttribute : int { kMemoryType = 2 };
enum class MemoryType : unsigned { kHost = 1, kDevice = 2, kUnified = 4 };
enum class CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
inline constexpr unsigned kNonBlockingStream = 1;

enum class LaunchAttributeId : int { kCluster = 4, kProgrammaticSerialization = 6 };
struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  union {
    struct {
      unsigned x, y, z;
    } cluster;
    int allowed;
    char size[64];
  } value;
};
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct alignas(128) TensorMap {
  uint64_t opaque[16];
};
enum class MapType : int {
  kUint8 = 0,
  kUint16 = 1,
  kUint32 = 2,
  kInt32 = 3,
  kUint64 = 4,
  kInt64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBFloat16 = 9,
  kTFloat32 = 11,
};
enum class MapInterleave : int { kNone = 0, k16Bytes = 1, k32Bytes = 2 };
enum class MapSwizzle : int { kNone = 0, k32Bytes = 1, k64Bytes = 2, k128Bytes = 3 };
enum class MapPromotion : int { kNone = 0, k64Bytes = 1, k128Bytes = 2, k256Bytes = 3 };

/// Entry points by their exported names; all there once Driver::get() has returned.
struct DriverTable {
  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int*);
  Result (*cuGetErrorName)(Result, const char**);
  Result (*cuGetErrorString)(Result, const char**);
  Result (*cuDeviceGetCount)(int*);
  Result (*cuDeviceGet)(Device*, int);
  Result (*cuDeviceGetName)(char*, int, Device);
  Result (*cuDeviceTotalMem_v2)(size_t*, Device);
  Result (*cuDeviceGetAttribute)(int*, DeviceAttribute, Device);
  Result (*cuDevicePrimaryCtxRetain)(Context*, Device);
  Result (*cuCtxSetCurrent)(Context);
  Result (*cuCtxGetCurrent)(Context*);
  Result (*cuMemGetInfo_v2)(size_t*, size_t*);
  Result (*cuMemAlloc_v2)(DevicePtr*, size_t);
  Result (*cuMemFree_v2)(DevicePtr);
  Result (*cuMemHostAlloc)(void**, size_t, unsigned);
  Result (*cuMemFreeHost)(void*);
  Result (*cuMemcpyAsync)(DevicePtr, DevicePtr, size_t, StreamHandle);
  Result (*cuMemcpyHtoDAsync_v2)(DevicePtr, const void*, size_t, StreamHandle);
  Result (*cuMemcpyDtoHAsync_v2)(void*, DevicePtr, size_t, StreamHandle);
  Result (*cuMemsetD8Async)(DevicePtr, unsigned char, size_t, StreamHandle);
  Result (*cuPointerGetAttribute)(void*, PointerAttribute, DevicePtr);
  Result (*cuStreamCreate)(StreamHandle*, unsigned);
  Result (*cuStreamDestroy_v2)(StreamHandle);
  Result (*cuStreamSynchronize)(StreamHandle);
  Result (*cuStreamBeginCapture_v2)(StreamHandle, CaptureMode);
  Result (*cuStreamEndCapture)(StreamHandle, Graph*);
  Result (*cuGraphInstantiateWithFlags)(GraphExec*, Graph, unsigned long long);
  Result (*cuGraphLaunch)(GraphExec, StreamHandle);
  Result (*cuGraphExecDestroy)(GraphExec);
  Result (*cuGraphDestroy)(Graph);
  Result (*cuEventCreate)(Event*, unsigned);
  Result (*cuEventDestroy_v2)(Event);
  Result (*cuEventRecord)(Event, StreamHandle);
  Result (*cuEventSynchronize)(Event);
  Result (*cuEventElapsedTime)(float*, Event, Event);
  Result (*cuModuleLoadData)(Module*, const void*);
  Result (*cuModuleUnload)(Module);
  Result (*cuModuleGetFunction)(Function*, Module, const char*);
  Result (*cuFuncSetAttribute)(Function, FunctionAttribute, int);
  Result (*cuFuncGetAttribute)(int*, FunctionAttribute, Function);
  Result (*cuLaunchKernelEx)(const LaunchConfig*, Function, void**, void**);
  Result (*cuTensorMapEncodeTiled)(TensorMap*, MapType, uint32_t, void*, const uint64_t*, const uint64_t*,
                                   const uint32_t*, const uint32_t*, MapInterleave, MapSwizzle, MapPromotion,
                                   int);
  Result (*cuTensorMapEncodeIm2col)(TensorMap*, MapType, uint32_t, void*, const uint64_t*, const uint64_t*,
                                    const int*, const int*, uint32_t, uint32_t, const uint32_t*,
                                    MapInterleave, MapSwizzle, MapPromotion, int);
};

}  // namespace wootz::cuda
