// SPDX-License-Identifier: Apache-2.0
#include "tuning/problem_buffers.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "base/check.h"
#include "base/thread_pool.h"
#include "device/device_backend.h"
#include "ir/tensor_memory.h"
#include "ops/strided_copy.h"

namespace wootz {
namespace {

/// Larger results stay on the device, but for the elements that are looked at.
constexpr size_t kWholeBytes = size_t{1} << 20;

/// Elements that the strides of a descriptor span.
int64_t storage_elements(const TensorDesc& d) {
  if (d.size() == 0) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < d.dims.size(); ++i) last += (d.dims[i] - 1) * d.strides[i];
  return last + 1;
}

/// Row-major data into the order of the descriptor, on all CPUs along the longest axis: a batch of pictures
/// takes seconds on one.
void copy_in_parallel(char* to, const TensorDesc& d, const char* from) {
  constexpr int64_t kWorthIt = 1 << 16;  // elements
  const auto bytes = static_cast<int64_t>(dtype_size(d.dtype));
  const Dims row_major = contiguous_strides(d.dims);
  const bool is_shared = std::find(d.strides.begin(), d.strides.end(), 0) != d.strides.end();
  if (d.size() < kWorthIt || is_shared) {
    copy_strided(d.dtype, d.dims, from, row_major, to, d.strides);
    return;
  }
  const auto axis = static_cast<size_t>(std::max_element(d.dims.begin(), d.dims.end()) - d.dims.begin());
  const auto pool = ThreadPool::shared(allowed_cpus());
  (*pool)([&](int part, int parts) {
    const int64_t first = d.dims[axis] * part / parts, last = d.dims[axis] * (part + 1) / parts;
    if (first == last) return;
    Dims dims = d.dims;
    dims[axis] = last - first;
    copy_strided(d.dtype, dims, from + first * row_major[axis] * bytes, row_major,
                 to + first * d.strides[axis] * bytes, d.strides);
  });
}

}  // namespace

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
    copy_in_parallel(input_storage_[i].as<char>(), d, inputs[i].tensor.as<char>());
  }
  send(input_storage_, inputs_, stream);
}

void ProblemBuffers::change_inputs(const KindChange& change) {
  constexpr int64_t kWorthIt = 1 << 16;  // elements
  WOOTZ_ASSERT(!on_device_);
  random_storage_.resize(input_storage_.size());
  for (size_t i = 0; i < input_storage_.size(); ++i) {
    Tensor &to = input_storage_[i], &from = random_storage_[i];
    if (!to.is_defined()) continue;
    if (!from.is_defined()) {
      from = std::move(to);
      to = unset_tensor(from.dtype(), from.dims());
      inputs_[i] = to.data();
    }
    const auto change_part = [&](int64_t first, int64_t last) {
      const size_t at = static_cast<size_t>(first) * dtype_size(from.dtype());
      change(from.dtype(), from.as<char>() + at, to.as<char>() + at, last - first);
    };
    if (from.size() < kWorthIt) {
      change_part(0, from.size());
      continue;
    }
    (*ThreadPool::shared(allowed_cpus()))([&](int part, int parts) {
      change_part(from.size() * part / parts, from.size() * (part + 1) / parts);
    });
  }
}

void ProblemBuffers::fill(std::span<const Datum> inputs, const BatchSample& few, Stream& stream) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorDesc& d = problem_.inputs[i];
    if (d.constant || d.dtype == DType::kUndefined) continue;
    if (!on_device_ && few.has_batch(i)) {
      spread_on_host(i, inputs[i].tensor, few);
      continue;
    }
    if (few.has_batch(i)) {
      spread(i, inputs[i].tensor, few, stream);
      continue;
    }
    copy_in_parallel(input_storage_[i].as<char>(), d, inputs[i].tensor.as<char>());
    if (on_device_)
      static_cast<DeviceStream&>(stream).upload(inputs_[i], input_storage_[i].data(),
                                                input_storage_[i].size_bytes());
  }
  stream.synchronize();
}

void ProblemBuffers::spread_on_host(size_t input, const Tensor& rows, const BatchSample& few) {
  const TensorDesc& d = few.few().inputs[input];
  Tensor& to = input_storage_[input];
  const size_t row = static_cast<size_t>(few.extent(input) * d.strides[0]) * dtype_size(d.dtype);
  const size_t count = static_cast<size_t>(d.dims[0] / few.extent(input));
  Tensor stored = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(row * count)});
  copy_in_parallel(stored.as<char>(), d, rows.as<char>());
  const auto places = static_cast<int64_t>(few.source().size());
  (*ThreadPool::shared(allowed_cpus()))([&](int part, int parts) {
    for (int64_t r = places * part / parts; r < places * (part + 1) / parts; ++r) {
      const size_t at = static_cast<size_t>(r) * row;
      std::memcpy(to.as<char>() + at,
                  stored.as<char>() + static_cast<size_t>(few.source()[static_cast<size_t>(r)]) * row,
                  std::min(row, to.size_bytes() - at));
    }
  });
}

/// One copy over the bus, the others within the device.
void ProblemBuffers::spread(size_t input, const Tensor& rows, const BatchSample& few, Stream& stream) {
  const TensorDesc& d = few.few().inputs[input];
  const size_t row = static_cast<size_t>(few.extent(input) * d.strides[0]) * dtype_size(d.dtype);
  const size_t count = static_cast<size_t>(d.dims[0] / few.extent(input)),
               whole = input_storage_[input].size_bytes();
  Tensor storage = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(row * count)});
  copy_in_parallel(storage.as<char>(), d, rows.as<char>());
  const std::unique_ptr<void, std::function<void(void*)>> staged(backend_.allocate(storage.size_bytes()),
                                                                 [this](void* p) { backend_.release(p); });
  static_cast<DeviceStream&>(stream).upload(staged.get(), storage.data(), storage.size_bytes());
  for (size_t r = 0; r < few.source().size(); ++r) {
    const size_t at = r * row;
    backend_.copy(static_cast<char*>(inputs_[input]) + at,
                  static_cast<const char*>(staged.get()) + static_cast<size_t>(few.source()[r]) * row,
                  std::min(row, whole - at), stream);
  }
  stream.synchronize();
}

size_t ProblemBuffers::byte_offset(size_t i, int64_t flat) const {
  const TensorDesc& d = problem_.outputs[i];
  int64_t position = 0;
  for (size_t axis = d.dims.size(); axis-- > 0;) {
    position += flat % d.dims[axis] * d.strides[axis];
    flat /= d.dims[axis];
  }
  return static_cast<size_t>(position) * dtype_size(d.dtype);
}

void ProblemBuffers::poison(std::span<const std::vector<int64_t>> at, Stream& stream) {
  for (size_t i = 0; i < at.size(); ++i) {
    Tensor& t = output_storage_[i];
    if (!t.is_defined()) continue;
    const unsigned char poison = is_float(t.dtype()) ? 0xff : 0x5a;
    if (on_device_) {
      static_cast<DeviceStream&>(stream).fill(outputs_[i], poison, t.size_bytes());
      continue;
    }
    for (int64_t flat : at[i])
      std::memset(t.as<char>() + byte_offset(i, flat), poison, dtype_size(t.dtype()));
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
    workspace_ = unset_tensor(DType::kUint8, {static_cast<int64_t>(bytes)});
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
      for (int64_t flat : at[i]) {
        const size_t offset = byte_offset(i, flat);
        device.download(t.as<char>() + offset, static_cast<char*>(outputs_[i]) + offset,
                        dtype_size(t.dtype()));
      }
    }
  stream.synchronize();
}

Tensor ProblemBuffers::output_elements(size_t i, std::span<const int64_t> at) const {
  const size_t bytes = dtype_size(problem_.outputs[i].dtype);
  Tensor to = Tensor::zeros(problem_.outputs[i].dtype, {static_cast<int64_t>(at.size())});
  for (size_t k = 0; k < at.size(); ++k)
    std::memcpy(to.as<char>() + k * bytes, output_storage_[i].as<char>() + byte_offset(i, at[k]), bytes);
  return to;
}

}  // namespace wootz
