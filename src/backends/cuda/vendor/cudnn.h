// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN's graph interface that Wootz calls, declared here so that no toolkit is needed to build,
// and the library, loaded at run time. tests/cuda/vendor_abi_test.cpp holds the declarations against cudnn.h
// where there is one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "backends/cuda/driver_api.h"

namespace wootz {
class CudaDevice;
}

namespace wootz::cuda::dnn {

using Status = int;  // 0: success
using Handle = struct HandleRecord*;
using RawDescriptor = struct DescriptorRecord*;

enum class Kind : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
};
enum class ValueType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kPointwiseMode = 14,
  kDescriptor = 15,
};
enum class Attribute : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kConvolutionType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPostPads = 104,
  kConvolutionPrePads = 105,
  kConvolutionRank = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspaceBytes = 402,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kOperationPointwise = 750,
  kOperationX = 751,
  kOperationB = 752,
  kOperationY = 753,
  kOperationAlphaX = 754,
  kOperationAlphaB = 755,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
};
enum class DataType : int { kFloat32 = 0, kFloat16 = 2, kBFloat16 = 9 };
enum class PointwiseMode : int { kAdd = 0, kRelu = 100 };
enum class ConvolutionMode : int { kCrossCorrelation = 1 };
enum class HeuristicMode : int { kFallback = 2, kBest = 3 };

struct Table {
  const char* (*cudnnGetErrorString)(Status);
  Status (*cudnnCreate)(Handle*);
  Status (*cudnnSetStream)(Handle, StreamHandle);
  Status (*cudnnBackendCreateDescriptor)(Kind, RawDescriptor*);
  Status (*cudnnBackendDestroyDescriptor)(RawDescriptor);
  Status (*cudnnBackendSetAttribute)(RawDescriptor, Attribute, ValueType, int64_t count, const void*);
  Status (*cudnnBackendGetAttribute)(RawDescriptor, Attribute, ValueType, int64_t most, int64_t* count,
                                     void*);
  Status (*cudnnBackendFinalize)(RawDescriptor);
  Status (*cudnnBackendExecute)(Handle, RawDescriptor plan, RawDescriptor pack);
};

class Library {
 public:
  /// The library, loaded once: what $WOOTZ_CUDNN names (empty: none), else libcudnn.so.9 where NVRTC is
  /// looked for too. Null, and why, where there is none.
  static const Library* try_get(std::string& reason);
  static const Library& get();  // throws Error(kDevice)

  const Table* operator->() const { return &table_; }
  /// A handle of a GPU, made once. Callable from many threads. Throws Error(kUnsupported).
  Handle handle(const CudaDevice& device) const;
  /// Runs a plan on a stream; the handle is one thread's at a time.
  Status execute(Handle handle, RawDescriptor plan, RawDescriptor pack, StreamHandle stream) const;
  /// Throws Error(kUnsupported) with the call and the library's text for the status: whatever a library says,
  /// other tactics go on; a device that is lost throws by itself.
  void check(Status status, const char* call) const;

 private:
  Library();
  Table table_{};
  mutable std::mutex mutex_, running_;
  mutable std::map<int, Handle> handles_;  // by ordinal
};

/// A descriptor that cleans up after itself. Members throw Error(kUnsupported).
class Descriptor {
 public:
  explicit Descriptor(Kind kind);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  RawDescriptor raw() const { return raw_; }

  Descriptor& set(Attribute attribute, ValueType type, int64_t count, const void* values);
  template <class T>
  Descriptor& set(Attribute attribute, ValueType type, const T& value) {
    return set(attribute, type, 1, &value);
  }
  Descriptor& set(Attribute attribute, std::span<const int64_t> values) {
    return set(attribute, ValueType::kInt64, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(Attribute attribute, const Descriptor& other) {
    return set(attribute, ValueType::kDescriptor, other.raw_);
  }
  void finalize();

 private:
  RawDescriptor raw_ = nullptr;
};

}  // namespace wootz::cuda::dnn
