// SPDX-License-Identifier: Apache-2.0
// Our declarations of the driver's interface against NVIDIA's header, where a toolkit is installed.
#include <gtest/gtest.h>

#include "backends/cuda/driver_api.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace wootz::cuda {
namespace {

template <class Ours, class Theirs>
constexpr bool kSameNumber(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= alignof(CUtensorMap));
static_assert(sizeof(DevicePtr) == sizeof(CUdeviceptr) && sizeof(Device) == sizeof(CUdevice));

TEST(DriverAbi, NumbersAreThoseOfTheHeader) {
  EXPECT_TRUE(kSameNumber(kOutOfMemoryResult, CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_TRUE(kSameNumber(kNoDevice, CUDA_ERROR_NO_DEVICE));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kMemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_TRUE(kSameNumber(DeviceAttribute::kSharedBytesPerBlockOptIn,
                          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  EXPECT_TRUE(kSameNumber(FunctionAttribute::kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  EXPECT_TRUE(kSameNumber(FunctionAttribute::kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS));
  EXPECT_TRUE(kSameNumber(FunctionAttribute::kMostDynamicSharedBytes,
                          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  EXPECT_TRUE(kSameNumber(FunctionAttribute::kNonPortableClusters,
                          CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
  EXPECT_TRUE(kSameNumber(PointerAttribute::kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
  EXPECT_TRUE(kSameNumber(MemoryType::kDevice, CU_MEMORYTYPE_DEVICE));
  EXPECT_TRUE(kSameNumber(CaptureMode::kThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_TRUE(kSameNumber(LaunchAttributeId::kCluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  EXPECT_TRUE(kSameNumber(LaunchAttributeId::kProgrammaticSerialization,
                          CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
  EXPECT_TRUE(kSameNumber(MapType::kBFloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
  EXPECT_TRUE(kSameNumber(MapType::kTFloat32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32));
  EXPECT_TRUE(kSameNumber(MapSwizzle::k128Bytes, CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_TRUE(kSameNumber(MapPromotion::k256Bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
}

}  // namespace
}  // namespace wootz::cuda
#else
TEST(DriverAbi, NumbersAreThoseOfTheHeader) { GTEST_SKIP() << "no CUDA toolkit here: cuda.h is missing"; }
#endif
