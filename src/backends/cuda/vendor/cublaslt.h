// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt's interface that Wootz calls, declared here so that no toolkit is needed to build, and
// the library, loaded at run time. tests/cuda/vendor_abi_test.cpp holds the declarations against cublasLt.h
// where there is one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "backends/cuda/driver_api.h"

namespace wootz {
class CudaDevice;
}

namespace wootz::cuda::lt {

using Status = int;  // 0: success
constexpr Status kInvalidValue = 7, kNotSupported = 15;
using Handle = struct HandleRecord*;
using Operation = struct OperationRecord*;
using Layout = struct LayoutRecord*;
using Preference = struct PreferenceRecord*;

enum class DataType : int { kFloat32 = 0, kFloat16 = 2, kBFloat16 = 14 };
enum class ComputeType : int { kFloat32 = 68, kTFloat32 = 77 };
enum class OperationAttribute : int {
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
  kBiasType = 26,
};
enum class LayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };
enum class PreferenceAttribute : int {
  kWorkspaceBytes = 1,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8,
};
/// Bits of an epilogue; 1 alone is the plain result. The library's GELU is the tanh form.
enum Epilogue : int { kPlain = 1, kRelu = 2, kBias = 4, kGeluTanh = 32 };

struct Algorithm {
  uint64_t opaque[8];
};
struct Suggestion {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

struct Table {
  size_t (*cublasLtGetVersion)();
  const char* (*cublasLtGetStatusName)(Status);
  Status (*cublasLtCreate)(Handle*);
  Status (*cublasLtMatmulDescCreate)(Operation*, ComputeType, DataType scale);
  Status (*cublasLtMatmulDescDestroy)(Operation);
  Status (*cublasLtMatmulDescSetAttribute)(Operation, OperationAttribute, const void*, size_t);
  Status (*cublasLtMatrixLayoutCreate)(Layout*, DataType, uint64_t rows, uint64_t columns, int64_t pitch);
  Status (*cublasLtMatrixLayoutDestroy)(Layout);
  Status (*cublasLtMatrixLayoutSetAttribute)(Layout, LayoutAttribute, const void*, size_t);
  Status (*cublasLtMatmulPreferenceCreate)(Preference*);
  Status (*cublasLtMatmulPreferenceDestroy)(Preference);
  Status (*cublasLtMatmulPreferenceSetAttribute)(Preference, PreferenceAttribute, const void*, size_t);
  Status (*cublasLtMatmulAlgoGetHeuristic)(Handle, Operation, Layout a, Layout b, Layout c, Layout d,
                                           Preference, int most, Suggestion*, int* count);
  Status (*cublasLtMatmul)(Handle, Operation, const void* alpha, const void* a, Layout, const void* b, Layout,
                           const void* beta, const void* c, Layout, void* d, Layout, const Algorithm*,
                           void* workspace, size_t workspace_bytes, StreamHandle);
};

class Library {
 public:
  /// The library, loaded once: what $WOOTZ_CUBLASLT names (empty: none), else libcublasLt.so.13 or .12 where
  /// NVRTC is looked for too. Null, and why, where there is none.
  static const Library* try_get(std::string& reason);

  const Table* operator->() const { return &table_; }
  /// A handle of a GPU, made once. Callable from many threads. Throws Error(kUnsupported).
  Handle handle(const CudaDevice& device) const;
  /// Throws Error(kUnsupported) with the call and the library's name for the status: whatever a library says,
  /// other tactics go on; a device that is lost throws by itself.
  void check(Status status, const char* call) const;

 private:
  Library();
  Table table_{};
  mutable std::mutex mutex_;
  mutable std::map<int, Handle> handles_;  // by ordinal
};

}  // namespace wootz::cuda::lt
