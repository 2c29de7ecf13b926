// SPDX-License-Identifier: Apache-2.0
#include "tuning/region_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/thread_pool.h"
#include "device/device_backend.h"
#include "device/region.h"
#include "ir/element.h"
#include "memory/strided_copy.h"
#include "ops/registry.h"

namespace wootz {
namespace {

double draw(InputKind kind, std::mt19937_64& random) {
  const double uniform = double(random() >> 11) * 0x1p-53 * 2 - 1;
  switch (kind) {
    case InputKind::kRandom: return uniform;
    case InputKind::kLarge: return uniform * 1e3;
    case InputKind::kNonFinite: {
      const uint64_t pick = random() % 64;
      if (pick == 0) return std::numeric_limits<double>::quiet_NaN();
      if (pick == 1) return std::numeric_limits<double>::infinity();
      if (pick == 2) return -std::numeric_limits<double>::infinity();
      return uniform;
    }
  }
  return uniform;
}

/// Large tensors repeat their first elements, a prime number of them: no row or channel is like its
/// neighbour, and hundreds of megabytes cost no more than a copy.
constexpr int64_t kRandomElements = 1'048'573;

Tensor random_tensor(DType dtype, const Dims& dims, InputKind kind, int most_integer,
                     std::mt19937_64& random) {
  Tensor t = Tensor::zeros(dtype, dims);
  const int64_t n = std::min(t.size(), kRandomElements);
  visit_numeric(dtype, [&](auto element) {
    using T = decltype(element);
    T* p = t.as<T>();
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        p[i] = random() % 2 == 0;
      else if constexpr (std::is_floating_point_v<T>)
        p[i] = static_cast<T>(draw(kind, random));
      else if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>)
        p[i] = T(draw(kind, random));
      else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
        p[i] = static_cast<T>(random());
      else if constexpr (std::is_integral_v<T>)
        p[i] = static_cast<T>(random() % static_cast<uint64_t>(most_integer + 1));
      else
        p[i] = T(static_cast<int64_t>(random()));
    }
  });
  const size_t block = static_cast<size_t>(n) * dtype_size(dtype);
  for (size_t at = block; at < t.size_bytes(); at += block)
    std::memcpy(t.as<char>() + at, t.data(), std::min(block, t.size_bytes() - at));
  return t;
}

/// A view that repeats elements (stride 0) holds one value for all of them: every copy gets the first one's.
Tensor repeated(Tensor t, const TensorDesc& d) {
  bool repeats = false;
  for (size_t axis = 0; axis < d.dims.size(); ++axis)
    repeats = repeats || (d.strides[axis] == 0 && d.dims[axis] > 1);
  if (!repeats) return t;
  const Dims row_major = contiguous_strides(d.dims);
  const size_t bytes = dtype_size(d.dtype);
  for (int64_t flat = 0; flat < t.size(); ++flat) {
    int64_t rest = flat, first = 0;
    for (size_t axis = d.dims.size(); axis-- > 0; rest /= d.dims[axis])
      if (d.strides[axis] != 0) first += rest % d.dims[axis] * row_major[axis];
    if (first != flat)
      std::memcpy(t.as<char>() + static_cast<size_t>(flat) * bytes,
                  t.as<char>() + static_cast<size_t>(first) * bytes, bytes);
  }
  return t;
}

/// Row-major data into the order of the descriptor, on all CPUs: a batch of pictures takes seconds on one.
void copy_in_parallel(char* to, const TensorDesc& d, const char* from) {
  constexpr int64_t kWorthIt = 1 << 20;  // elements
  const auto bytes = static_cast<int64_t>(dtype_size(d.dtype));
  const Dims row_major = contiguous_strides(d.dims);
  if (d.size() < kWorthIt || d.dims[0] < 2) {
    copy_strided(to, d.strides, from, row_major, d.dims, dtype_size(d.dtype));
    return;
  }
  const auto pool = ThreadPool::shared(allowed_cpus());
  (*pool)([&](int part, int parts) {
    const int64_t first = d.dims[0] * part / parts, last = d.dims[0] * (part + 1) / parts;
    if (first == last) return;
    Dims dims = d.dims;
    dims[0] = last - first;
    copy_strided(to + first * d.strides[0] * bytes, d.strides, from + first * row_major[0] * bytes, row_major,
                 dims, dtype_size(d.dtype));
  });
}

/// Larger results stay on the device, but for the elements that are looked at.
constexpr size_t kWholeBytes = size_t{1} << 20;

/// Where element `flat` (row-major) of an array lies, in elements.
size_t position(const TensorDesc& d, int64_t flat) {
  int64_t at = 0;
  for (size_t axis = d.dims.size(); axis-- > 0;) {
    at += flat % d.dims[axis] * d.strides[axis];
    flat /= d.dims[axis];
  }
  return static_cast<size_t>(at);
}

/// Elements that the strides of a descriptor span.
int64_t storage_elements(const TensorDesc& d) {
  if (d.size() == 0) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < d.dims.size(); ++i) last += (d.dims[i] - 1) * d.strides[i];
  return last + 1;
}

double type_epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 0x1p-52;
    case DType::kFloat32: return 0x1p-23;
    case DType::kFloat16: return 0x1p-10;
    case DType::kBFloat16: return 0x1p-7;
    default: return 0x1p-2;
  }
}

/// 8-bit results of a rounding may differ by one step where the float32 value sits on the border.
double allowed_steps(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8 ? 1 : 0; }

/// Products that one output element sums, over the heavy nodes of the body.
double longest_sum(const Problem& problem) {
  double longest = 1;
  for (const auto& node : problem.body().nodes()) {
    const OpDef* def = OpRegistry::global().find(*node);
    if (!def || def->fusion == FusionKind::kPointwise) continue;
    for (const TensorDesc& d : problem.inputs)
      if (!d.dims.empty())
        longest = std::max(longest, double(d.size()) / double(std::max<int64_t>(1, d.dims[0])));
  }
  return std::min(longest, 65536.0);
}

}  // namespace

std::string_view input_kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::kRandom: return "random";
    case InputKind::kLarge: return "large";
    case InputKind::kNonFinite: return "non-finite";
  }
  return "?";
}

std::vector<Datum> make_inputs(const Problem& problem, InputKind kind, uint64_t seed, int most_integer) {
  std::mt19937_64 random(seed);
  std::vector<Datum> inputs;
  for (const TensorDesc& d : problem.inputs) {
    if (d.dtype == DType::kUndefined)
      inputs.emplace_back();
    else if (d.constant)
      inputs.emplace_back(*d.constant);
    else
      inputs.emplace_back(repeated(random_tensor(d.dtype, d.dims, kind, most_integer, random), d));
  }
  return inputs;
}

double error_bound(const Problem& problem, const Tactic& tactic) {
  double epsilon = 0;
  for (const TensorDesc& d : problem.outputs)
    if (is_float(d.dtype)) epsilon = std::max(epsilon, type_epsilon(d.dtype));
  // The reference rounds every value between nodes, kernels need not.
  for (const auto& node : problem.body().nodes())
    for (const Value* v : node->outputs())
      if (v && (v->type.dtype == DType::kFloat16 || v->type.dtype == DType::kBFloat16))
        epsilon = std::max(epsilon, type_epsilon(v->type.dtype));
  return 4 * epsilon * std::sqrt(longest_sum(problem)) + 8 * epsilon + tactic.extra_error();
}

ProblemBuffers::ProblemBuffers(const Problem& problem, const Backend& backend)
    : problem_(problem), backend_(backend), on_device_(as_device(backend) != nullptr) {
  for (const TensorDesc& d : problem.inputs) {
    input_storage_.push_back(d.constant || d.dtype == DType::kUndefined
                                 ? Tensor()
                                 : Tensor::zeros(d.dtype, {storage_elements(d)}));
    inputs_.push_back(d.constant ? const_cast<void*>(d.constant->data()) : place(input_storage_.back()));
  }
  for (const TensorDesc& d : problem.outputs) {
    output_storage_.push_back(d.dtype == DType::kUndefined ? Tensor()
                                                           : Tensor::zeros(d.dtype, {storage_elements(d)}));
    outputs_.push_back(place(output_storage_.back()));
  }
}

ProblemBuffers::ProblemBuffers(const ProblemBuffers& first, Stream& stream)
    : problem_(first.problem_),
      backend_(first.backend_),
      on_device_(true),
      input_storage_(first.input_storage_),
      output_storage_(first.output_storage_) {
  WOOTZ_ASSERT(first.on_device_);
  for (size_t i = 0; i < input_storage_.size(); ++i) {
    inputs_.push_back(input_storage_[i].is_defined() ? place(input_storage_[i]) : first.inputs_[i]);
    if (input_storage_[i].is_defined())
      backend_.copy(inputs_[i], first.inputs_[i], input_storage_[i].size_bytes(), stream);
  }
  for (Tensor& t : output_storage_) outputs_.push_back(place(t));
}

ProblemBuffers::~ProblemBuffers() {
  for (void* p : allocated_) backend_.release(p);
  backend_.release(device_workspace_);
}

void* ProblemBuffers::place(Tensor& storage) {
  if (!on_device_ || !storage.is_defined()) return storage.data();
  allocated_.push_back(backend_.allocate(std::max<size_t>(storage.size_bytes(), 1)));
  return allocated_.back();
}

void ProblemBuffers::send(const std::vector<Tensor>& storage, const std::vector<void*>& to, Stream& stream) {
  if (!on_device_) return;
  for (size_t i = 0; i < storage.size(); ++i)
    if (storage[i].is_defined())
      static_cast<DeviceStream&>(stream).upload(to[i], storage[i].data(), storage[i].size_bytes());
  stream.synchronize();
}

size_t ProblemBuffers::size_bytes() const {
  size_t bytes = 0;
  for (const Tensor& t : input_storage_) bytes += t.is_defined() ? t.size_bytes() : 0;
  for (const Tensor& t : output_storage_) bytes += t.is_defined() ? t.size_bytes() : 0;
  return bytes;
}

void ProblemBuffers::fill(std::span<const Datum> inputs, Stream& stream) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorDesc& d = problem_.inputs[i];
    if (d.constant || d.dtype == DType::kUndefined) continue;
    if (on_device_)
      copy_in_parallel(input_storage_[i].as<char>(), d, inputs[i].tensor.as<char>());
    else
      copy_strided(input_storage_[i].data(), d.strides, inputs[i].tensor.data(), contiguous_strides(d.dims),
                   d.dims, dtype_size(d.dtype));
  }
  send(input_storage_, inputs_, stream);
}

void ProblemBuffers::poison_outputs(Stream& stream) {
  // NaN in every float kind: an element that a kernel forgets cannot pass.
  for (size_t i = 0; i < output_storage_.size(); ++i) {
    Tensor& t = output_storage_[i];
    if (!t.is_defined()) continue;
    const unsigned char poison = is_float(t.dtype()) ? 0xff : 0x5a;
    if (on_device_)
      static_cast<DeviceStream&>(stream).fill(outputs_[i], poison, t.size_bytes());
    else
      std::memset(t.data(), poison, t.size_bytes());
  }
}

LaunchArgs ProblemBuffers::args(Kernel& kernel, Stream& stream) {
  const size_t bytes = kernel.workspace_bytes();
  if (on_device_) {
    if (!device_workspace_ || device_workspace_bytes_ < bytes) {
      backend_.release(device_workspace_);
      device_workspace_ = nullptr;
      device_workspace_ = backend_.allocate(std::max<size_t>(bytes, 64));
      device_workspace_bytes_ = bytes;
    }
    return {inputs_.data(), outputs_.data(), device_workspace_, &stream};
  }
  if (!workspace_.is_defined() || workspace_.size_bytes() < bytes)
    workspace_ = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(bytes)});
  return {inputs_.data(), outputs_.data(), workspace_.data(), &stream};
}

void ProblemBuffers::fetch_outputs(std::span<const std::vector<int64_t>> at, Stream& stream) {
  if (on_device_)
    for (size_t i = 0; i < output_storage_.size(); ++i) {
      Tensor& t = output_storage_[i];
      if (!t.is_defined()) continue;
      auto& device = static_cast<DeviceStream&>(stream);
      if (t.size_bytes() <= kWholeBytes) {
        device.download(t.data(), outputs_[i], t.size_bytes());
        continue;
      }
      const size_t bytes = dtype_size(t.dtype());
      for (int64_t flat : at[i]) {
        const size_t offset = position(problem_.outputs[i], flat) * bytes;
        device.download(t.as<char>() + offset, static_cast<char*>(outputs_[i]) + offset, bytes);
      }
    }
  stream.synchronize();
}

Tensor ProblemBuffers::output_elements(size_t i, std::span<const int64_t> at) const {
  const TensorDesc& d = problem_.outputs[i];
  Tensor to = Tensor::zeros(d.dtype, {static_cast<int64_t>(at.size())});
  const size_t bytes = dtype_size(d.dtype);
  for (size_t k = 0; k < at.size(); ++k)
    std::memcpy(to.as<char>() + k * bytes, output_storage_[i].as<char>() + position(d, at[k]) * bytes, bytes);
  return to;
}

RegionCheck::RegionCheck(const Problem& problem, const Bindings& bindings, InputKind kind, uint64_t seed,
                         size_t most_elements)
    : problem_(problem), kind_(kind) {
  // Integers may be indices into something of size 1: the reference refuses what is out of range.
  try {
    inputs_ = make_inputs(problem, kind, seed, 1);
    expect(bindings, seed, most_elements);
  } catch (const Error&) {
    inputs_ = make_inputs(problem, kind, seed, 0);
    expect(bindings, seed, most_elements);
  }
}

RegionCheck::~RegionCheck() = default;

void RegionCheck::expect(const Bindings& bindings, uint64_t seed, size_t most_elements) {
  positions_.clear();
  expected_.clear();
  const Graph& body = problem_.body();
  SampledReference reference(body, inputs_, bindings);
  for (size_t i = 0; i < problem_.outputs.size(); ++i) {
    if (problem_.outputs[i].dtype == DType::kUndefined) {
      positions_.emplace_back();
      expected_.emplace_back();
      continue;
    }
    positions_.push_back(sample_positions(problem_.outputs[i].dims, most_elements, seed + i));
    expected_.push_back(reference.elements(body.outputs()[i], positions_.back()));
  }
}

CheckResult RegionCheck::run(Kernel& kernel, const Backend& backend, Stream& stream, const Tactic& tactic) {
  stream.begin_run();
  if (!buffers_) {
    buffers_ = std::make_unique<ProblemBuffers>(problem_, backend);
    buffers_->fill(inputs_, stream);
  }
  ProblemBuffers& buffers = *buffers_;
  buffers.poison_outputs(stream);
  kernel.launch(buffers.args(kernel, stream));
  buffers.fetch_outputs(positions_, stream);
  stream.end_run();
  CheckResult result;
  if (as_device(backend)) {
    // What a launch was refused for is its own fault; a lost device has thrown above.
    if (std::exception_ptr error = stream.take_error()) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        result.failure = e.what();
        result.error = std::numeric_limits<double>::infinity();
        return result;
      }
    }
  }
  const double bound = error_bound(problem_, tactic);
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!expected_[i].is_defined()) continue;
    const std::vector<double> want = expected_[i].to_doubles(),
                              got = buffers.output_elements(i, positions_[i]).to_doubles();
    double scale = 0;
    for (double w : want)
      if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
    const bool is_exact = !is_float(problem_.outputs[i].dtype);
    for (size_t k = 0; k < want.size(); ++k) {
      // Methods that combine neighbours (Winograd) may spread a non-finite value, but none may lose it.
      if (!std::isfinite(want[k])) {
        if (std::isfinite(got[k]) && std::isnan(want[k]))
          result.error = std::numeric_limits<double>::infinity();
        continue;
      }
      if (!std::isfinite(got[k]) && kind_ == InputKind::kNonFinite) continue;
      const double difference = std::fabs(got[k] - want[k]);
      const double relative =
          is_exact    ? (difference <= allowed_steps(problem_.outputs[i].dtype) ? 0.0 : difference)
          : scale > 0 ? difference / scale
                      : difference;
      if (!(relative <= result.error))
        result.error = std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
      if (!(relative <= bound) && result.failure.empty())
        result.failure = "wrong result on " + std::string(input_kind_name(kind_)) + " inputs: output " +
                         std::to_string(i) + " element " + std::to_string(positions_[i][k]) + ": expected " +
                         std::to_string(want[k]) + ", found " + std::to_string(got[k]);
    }
  }
  if (!(result.error <= bound) && result.failure.empty())
    result.failure = "a NaN was lost on non-finite inputs";
  return result;
}

}  // namespace wootz
