// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's interface on the CPU, for tests: products by loops on the fake driver's streams. It knows two
// algorithms, the second with a workspace that it fills.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "backends/cuda/vendor/cublaslt.h"
#include "tests/cuda/fake/floats.h"
#include "tests/cuda/fake/on_stream.h"
#include "tests/cuda/fake/refusal.h"

namespace wootz::cuda::lt {
struct HandleRecord {};
struct OperationRecord {
  ComputeType compute;
  std::map<OperationAttribute, uint64_t> attributes;
  uint64_t get(OperationAttribute which) const {
    const auto it = attributes.find(which);
    return it == attributes.end() ? 0 : it->second;
  }
};
struct LayoutRecord {
  DataType type;
  int64_t rows, columns, pitch;
  int64_t batch_count = 1, batch_stride = 0;
};
struct PreferenceRecord {
  uint64_t workspace = 0;
  uint32_t alignment = 256;
};

namespace {

constexpr Status kInvalid = 7, kFailed = 14, kUnsupported = 15;
constexpr size_t kWorkspace = 4096;

fake::Float float_of(DataType type) {
  return type == DataType::kFloat32   ? fake::Float::k32
         : type == DataType::kFloat16 ? fake::Float::k16
                                      : fake::Float::kBrain;
}

/// A matrix after its transposition.
struct Operand {
  LayoutRecord layout;
  const void* data;
  bool transposed;
  int64_t rows() const { return transposed ? layout.columns : layout.rows; }
  int64_t columns() const { return transposed ? layout.rows : layout.columns; }
  float at(int64_t batch, int64_t row, int64_t column) const {
    const int64_t r = transposed ? column : row, c = transposed ? row : column;
    return fake::read(float_of(layout.type), data, batch * layout.batch_stride + c * layout.pitch + r);
  }
};

float finish(float x, uint64_t epilogue) {
  if (epilogue & kRelu) return x > 0 || x != x ? x : 0.0f;
  if (epilogue & kGeluTanh) return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

bool is_off(const void* p, uintptr_t alignment = 16) {
  return reinterpret_cast<uintptr_t>(p) % alignment != 0;
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default")))

FAKE_API size_t cublasLtGetVersion() { return 130000; }
FAKE_API const char* cublasLtGetStatusName(Status) { return "CUBLAS_STATUS_OF_THE_FAKE"; }
FAKE_API Status cublasLtCreate(Handle* handle) {
  *handle = new HandleRecord();
  return 0;
}
FAKE_API Status cublasLtMatmulDescCreate(Operation* o, ComputeType compute, DataType scale) {
  if (scale != DataType::kFloat32) return kUnsupported;
  if (fake::is_refused("make")) return kFailed;
  *o = new OperationRecord{compute, {}};
  return 0;
}
FAKE_API Status cublasLtMatmulDescDestroy(Operation o) {
  delete o;
  return 0;
}
FAKE_API Status cublasLtMatmulDescSetAttribute(Operation o, OperationAttribute which, const void* value,
                                               size_t size) {
  if (size != (which == OperationAttribute::kBiasPointer ? 8u : 4u)) return kInvalid;
  uint64_t number = 0;
  std::memcpy(&number, value, size);
  o->attributes[which] = number;
  return 0;
}
FAKE_API Status cublasLtMatrixLayoutCreate(Layout* l, DataType type, uint64_t rows, uint64_t columns,
                                           int64_t pitch) {
  if (pitch < static_cast<int64_t>(rows)) return kInvalid;
  *l = new LayoutRecord{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), pitch, 1, 0};
  return 0;
}
FAKE_API Status cublasLtMatrixLayoutDestroy(Layout l) {
  delete l;
  return 0;
}
FAKE_API Status cublasLtMatrixLayoutSetAttribute(Layout l, LayoutAttribute which, const void* value,
                                                 size_t size) {
  if (which == LayoutAttribute::kBatchStride && size == 8) {
    std::memcpy(&l->batch_stride, value, size);
  } else if (which == LayoutAttribute::kBatchCount && size == 4) {
    int32_t count = 0;
    std::memcpy(&count, value, size);
    l->batch_count = count;
  } else {
    return kInvalid;
  }
  return 0;
}
FAKE_API Status cublasLtMatmulPreferenceCreate(Preference* p) {
  *p = new PreferenceRecord();
  return 0;
}
FAKE_API Status cublasLtMatmulPreferenceDestroy(Preference p) {
  delete p;
  return 0;
}
FAKE_API Status cublasLtMatmulPreferenceSetAttribute(Preference p, PreferenceAttribute which,
                                                     const void* value, size_t size) {
  const bool is_workspace = which == PreferenceAttribute::kWorkspaceBytes;
  if (size != (is_workspace ? 8u : 4u)) return kInvalid;
  if (is_workspace)
    std::memcpy(&p->workspace, value, size);
  else
    std::memcpy(&p->alignment, value, size);
  return 0;
}
FAKE_API Status cublasLtMatmulAlgoGetHeuristic(Handle, Operation, Layout, Layout, Layout, Layout,
                                               Preference preference, int most, Suggestion* list,
                                               int* count) {
  *count = std::min(most, preference->workspace >= kWorkspace ? 2 : 1);
  for (int i = 0; i < *count; ++i) {
    list[i] = {};
    list[i].algorithm.opaque[0] = 0xA160 + static_cast<uint64_t>(i);
    list[i].workspace_bytes = i == 1 ? kWorkspace : 0;
  }
  return preference->alignment == 16 ? 0 : kUnsupported;
}
FAKE_API Status cublasLtMatmul(Handle handle, Operation o, const void* alpha, const void* a, Layout la,
                               const void* b, Layout lb, const void* beta, const void* c, Layout lc, void* d,
                               Layout ld, const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                               StreamHandle stream) {
  const uint64_t epilogue = o->get(OperationAttribute::kEpilogue), which = algorithm->opaque[0] - 0xA160;
  const void* bias = reinterpret_cast<const void*>(o->get(OperationAttribute::kBiasPointer));  // NOLINT
  const Operand x{*la, a, o->get(OperationAttribute::kTransposeA) != 0},
      y{*lb, b, o->get(OperationAttribute::kTransposeB) != 0}, z{*lc, c, false};
  const LayoutRecord result = *ld;
  if (!handle || which > 1 || workspace_bytes < which * kWorkspace || is_off(a) || is_off(b) || is_off(c) ||
      is_off(d) || is_off(workspace, 256) || ((epilogue & kBias) && (!bias || is_off(bias))))
    return kInvalid;
  if (fake::is_run_refused(stream, workspace)) return kFailed;
  if (x.rows() != result.rows || y.columns() != result.columns || x.columns() != y.rows() ||
      la->batch_count != ld->batch_count || lb->batch_count != ld->batch_count ||
      lc->batch_count != ld->batch_count)
    return kInvalid;
  float scale = 0, old = 0;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&old, beta, sizeof old);
  return fake::on_stream(stream, [=] {
    if (which == 1) std::memset(workspace, 0xEE, kWorkspace);
    for (int64_t m = 0; m < result.batch_count; ++m)
      for (int64_t column = 0; column < result.columns; ++column)
        for (int64_t row = 0; row < result.rows; ++row) {
          float sum = 0;
          for (int64_t k = 0; k < x.columns(); ++k) sum += x.at(m, row, k) * y.at(m, k, column);
          sum *= scale;
          if (old != 0) sum += old * z.at(m, row, column);
          if (epilogue & kBias) sum += fake::read(float_of(result.type), bias, row);
          fake::write(float_of(result.type), d, m * result.batch_stride + column * result.pitch + row,
                      finish(sum, epilogue));
        }
  });
}

}  // namespace wootz::cuda::lt
