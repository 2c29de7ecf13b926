// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN's graph interface that Wootz calls, on the CPU, for tests: descriptors keep their
// attributes, plans walk the operations on the fake driver's streams. Two engines are proposed, the first of
// which no plan can be made of.
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "backends/cuda/vendor/cudnn.h"
#include "tests/cuda/fake/floats.h"
#include "tests/cuda/fake/on_stream.h"
#include "tests/cuda/fake/refusal.h"

namespace wootz::cuda::dnn {
struct HandleRecord {
  StreamHandle stream = nullptr;
};
struct DescriptorRecord {
  Kind kind;
  std::map<Attribute, std::vector<char>> attributes;
  int engine = 0;
  bool is_final = false;

  template <class T>
  std::vector<T> list(Attribute which) const {
    const auto it = attributes.find(which);
    if (it == attributes.end()) return {};
    std::vector<T> values(it->second.size() / sizeof(T));
    std::memcpy(values.data(), it->second.data(), it->second.size());
    return values;
  }
  template <class T>
  T one(Attribute which, T fallback = {}) const {
    const auto values = list<T>(which);
    return values.empty() ? fallback : values[0];
  }
  const DescriptorRecord& part(Attribute which) const { return *one<RawDescriptor>(which); }
};

namespace {

constexpr Status kBad = 2000, kUnsupported = 3000;

size_t size_of(ValueType type) {
  switch (type) {
    case ValueType::kHandle:
    case ValueType::kInt64:
    case ValueType::kPointer:
    case ValueType::kDescriptor: return 8;
    case ValueType::kBoolean: return 1;
    default: return 4;
  }
}

/// Values of the graph's tensors by number; those in memory are read and written there.
class Run {
 public:
  Run(const DescriptorRecord& graph, std::map<int64_t, char*> places) : places_(std::move(places)) {
    for (const RawDescriptor operation : graph.list<RawDescriptor>(Attribute::kGraphOperations))
      operation->kind == Kind::kConvolutionForward ? convolve(*operation) : combine(*operation);
  }

 private:
  using Ints = std::vector<int64_t>;
  static fake::Float float_of(const DescriptorRecord& tensor) {
    const auto type = tensor.one<DataType>(Attribute::kTensorType);
    return type == DataType::kFloat32   ? fake::Float::k32
           : type == DataType::kFloat16 ? fake::Float::k16
                                        : fake::Float::kBrain;
  }
  static int64_t offset(const DescriptorRecord& tensor, const Ints& at) {
    const Ints dims = tensor.list<int64_t>(Attribute::kTensorDims),
               strides = tensor.list<int64_t>(Attribute::kTensorStrides);
    int64_t sum = 0;
    for (size_t d = 0; d < 4; ++d) sum += (dims[d] == 1 ? 0 : at[d]) * strides[d];
    return sum;
  }
  char* place(const DescriptorRecord& tensor) {
    const auto id = tensor.one<int64_t>(Attribute::kTensorId);
    if (!tensor.one<char>(Attribute::kTensorIsVirtual)) return places_.at(id);
    std::vector<float>& values = inner_[id];
    const Ints d = tensor.list<int64_t>(Attribute::kTensorDims);
    values.resize(static_cast<size_t>(d[0] * d[1] * d[2] * d[3]));
    return reinterpret_cast<char*>(values.data());
  }
  float read(const DescriptorRecord& tensor, const Ints& at) {
    return fake::read(float_of(tensor), place(tensor), offset(tensor, at));
  }
  void write(const DescriptorRecord& tensor, const Ints& at, float x) {
    fake::write(float_of(tensor), place(tensor), offset(tensor, at), x);
  }
  template <class F>
  static void each(const DescriptorRecord& tensor, F&& f) {
    const Ints d = tensor.list<int64_t>(Attribute::kTensorDims);
    for (int64_t n = 0; n < d[0]; ++n)
      for (int64_t c = 0; c < d[1]; ++c)
        for (int64_t h = 0; h < d[2]; ++h)
          for (int64_t w = 0; w < d[3]; ++w) f(Ints{n, c, h, w});
  }

  void convolve(const DescriptorRecord& o) {
    const DescriptorRecord &what = o.part(Attribute::kForwardConvolution), &x = o.part(Attribute::kForwardX),
                           &w = o.part(Attribute::kForwardW), &y = o.part(Attribute::kForwardY);
    const Ints strides = what.list<int64_t>(Attribute::kConvolutionStrides),
               pads = what.list<int64_t>(Attribute::kConvolutionPrePads),
               dilations = what.list<int64_t>(Attribute::kConvolutionDilations),
               xd = x.list<int64_t>(Attribute::kTensorDims), wd = w.list<int64_t>(Attribute::kTensorDims),
               yd = y.list<int64_t>(Attribute::kTensorDims);
    const int64_t groups = xd[1] / wd[1];
    each(y, [&](const Ints& at) {
      float sum = 0;
      const int64_t first = at[1] / (yd[1] / groups) * wd[1];
      for (int64_t r = 0; r < wd[2]; ++r)
        for (int64_t s = 0; s < wd[3]; ++s) {
          const int64_t h = at[2] * strides[0] - pads[0] + r * dilations[0],
                        v = at[3] * strides[1] - pads[1] + s * dilations[1];
          if (h < 0 || h >= xd[2] || v < 0 || v >= xd[3]) continue;
          for (int64_t c = 0; c < wd[1]; ++c)
            sum += read(x, {at[0], first + c, h, v}) * read(w, {at[1], c, r, s});
        }
      write(y, at, sum);
    });
  }
  void combine(const DescriptorRecord& o) {
    const DescriptorRecord &x = o.part(Attribute::kOperationX), &y = o.part(Attribute::kOperationY);
    const auto mode = o.part(Attribute::kOperationPointwise).one<PointwiseMode>(Attribute::kPointwiseMode);
    const float scale = o.one<float>(Attribute::kOperationAlphaB, 1);
    each(y, [&](const Ints& at) {
      float value = read(x, at);
      if (mode == PointwiseMode::kAdd)
        value += scale * read(o.part(Attribute::kOperationB), at);
      else
        value = value > 0 || value != value ? value : 0;
      write(y, at, value);
    });
  }

  std::map<int64_t, char*> places_;
  std::map<int64_t, std::vector<float>> inner_;
};

constexpr int64_t kWorkspace = 2048;

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default")))

FAKE_API const char* cudnnGetErrorString(Status) { return "CUDNN_STATUS_OF_THE_FAKE"; }
FAKE_API Status cudnnCreate(Handle* handle) {
  *handle = new HandleRecord();
  return 0;
}
FAKE_API Status cudnnSetStream(Handle handle, StreamHandle stream) {
  handle->stream = stream;
  return 0;
}
FAKE_API Status cudnnBackendCreateDescriptor(Kind kind, RawDescriptor* d) {
  *d = new DescriptorRecord{kind, {}, 0, false};
  return 0;
}
FAKE_API Status cudnnBackendDestroyDescriptor(RawDescriptor d) {
  delete d;
  return 0;
}
FAKE_API Status cudnnBackendSetAttribute(RawDescriptor d, Attribute which, ValueType type, int64_t count,
                                         const void* values) {
  if (d->is_final || count < 1) return kBad;
  const auto* from = static_cast<const char*>(values);
  d->attributes[which].assign(from, from + size_of(type) * static_cast<size_t>(count));
  return 0;
}
FAKE_API Status cudnnBackendGetAttribute(RawDescriptor d, Attribute which, ValueType type, int64_t most,
                                         int64_t* count, void* values) {
  if (!d->is_final) return kBad;
  if (which == Attribute::kPlanWorkspaceBytes && type == ValueType::kInt64) {
    *count = 1;
    std::memcpy(values, &kWorkspace, sizeof kWorkspace);
    return 0;
  }
  if (which != Attribute::kHeuristicResults || type != ValueType::kDescriptor || most < 2) return kBad;
  *count = 2;
  for (int i = 0; i < 2; ++i) {
    RawDescriptor engine = static_cast<RawDescriptor*>(values)[i];
    if (engine->kind != Kind::kEngineConfig) return kBad;
    engine->engine = i;
    engine->is_final = true;
    engine->attributes[Attribute::kHeuristicGraph] = d->attributes.at(Attribute::kHeuristicGraph);
  }
  return 0;
}
FAKE_API Status cudnnBackendFinalize(RawDescriptor d) {
  if (fake::is_refused("make")) return kBad;
  for (const auto& [which, bytes] : d->attributes) {  // what it is made of is final
    const bool is_part = which == Attribute::kForwardX || which == Attribute::kForwardW ||
                         which == Attribute::kForwardY || which == Attribute::kOperationX ||
                         which == Attribute::kOperationB || which == Attribute::kHeuristicGraph ||
                         which == Attribute::kPlanEngineConfig;
    if (is_part && !d->part(which).is_final) return kBad;
  }
  if (d->kind == Kind::kTensor && d->list<int64_t>(Attribute::kTensorDims).size() != 4) return kBad;
  if (d->kind == Kind::kPlan && d->part(Attribute::kPlanEngineConfig).engine == 0) return kUnsupported;
  d->is_final = true;
  return 0;
}
FAKE_API Status cudnnBackendExecute(Handle handle, RawDescriptor plan, RawDescriptor pack) {
  const auto ids = pack->list<int64_t>(Attribute::kPackIds);
  const auto pointers = pack->list<char*>(Attribute::kPackPointers);
  char* const workspace = pack->one<char*>(Attribute::kPackWorkspace);
  if (fake::is_run_refused(handle->stream, workspace)) return kBad;
  if (!plan->is_final || !pack->is_final || ids.size() != pointers.size() || !workspace) return kBad;
  std::map<int64_t, char*> places;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (reinterpret_cast<uintptr_t>(pointers[i]) % 16 != 0) return kBad;
    places[ids[i]] = pointers[i];
  }
  const DescriptorRecord& graph = plan->part(Attribute::kPlanEngineConfig).part(Attribute::kHeuristicGraph);
  return fake::on_stream(handle->stream, [=, &graph] {
    std::memset(workspace, 0xEE, kWorkspace);
    Run(graph, places);
  });
}

}  // namespace wootz::cuda::dnn
