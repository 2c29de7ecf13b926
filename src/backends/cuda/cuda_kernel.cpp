// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_kernel.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/driver.h"
#include "base/error.h"

namespace wootz {
namespace {

constexpr size_t kMostParameters = 64;

void add_headers(std::string_view text, cuda::Source& source) {
  constexpr std::string_view kInclude = "#include \"";
  for (size_t at = text.find(kInclude); at != std::string_view::npos; at = text.find(kInclude, at)) {
    at += kInclude.size();
    const std::string name(text.substr(at, text.find('"', at) - at));
    const auto known = [&](const auto& header) { return header.first == name; };
    if (std::any_of(source.headers.begin(), source.headers.end(), known)) continue;
    const std::string_view header = cuda_source(name);
    source.headers.emplace_back(name, std::string(header));
    add_headers(header, source);
  }
}

}  // namespace

cuda::Source make_cuda_source(std::string_view name, const std::string& constants,
                              std::vector<std::string> options) {
  cuda::Source source;
  source.name = std::string(name);
  source.text = constants + "\n" + std::string(cuda_source(name));
  source.options = std::move(options);
  add_headers(source.text, source);
  return source;
}

CudaLaunch& CudaLaunch::bytes(const void* data, size_t size, size_t alignment) {
  WOOTZ_ASSERT(parameters_.size() < kMostParameters);
  const size_t aligned = (used_ + alignment - 1) / alignment * alignment;
  used_ = aligned + size;
  bytes_.resize((used_ + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(reinterpret_cast<char*>(bytes_.data()) + aligned, data, size);
  Parameter p;
  p.offset = aligned;
  parameters_.push_back(std::move(p));
  return *this;
}

CudaLaunch& CudaLaunch::address(CudaOperand operand) {
  const cuda::DevicePtr none = 0;
  bytes(&none, sizeof none, alignof(cuda::DevicePtr));
  parameters_.back().is_address = true;
  parameters_.back().operand = operand;
  return *this;
}

CudaLaunch& CudaLaunch::map(CudaOperand operand, TensorMapSpec spec) {
  const cuda::TensorMap none{};
  bytes(&none, sizeof none, alignof(uint64_t));
  parameters_.back().is_map = true;
  parameters_.back().begins_on = 16;
  parameters_.back().operand = operand;
  parameters_.back().spec = std::move(spec);
  return *this;
}

CudaLaunch& CudaLaunch::begins_on(size_t bytes) {
  parameters_.back().begins_on = bytes;
  return *this;
}

CudaLaunch& CudaLaunch::null() {
  const cuda::DevicePtr none = 0;
  return bytes(&none, sizeof none, alignof(cuda::DevicePtr));
}

CudaLaunch& CudaLaunch::input(size_t i, size_t offset_bytes) {
  if (const auto& constant = kernel_->input_constants_.at(i)) return this->constant(*constant, offset_bytes);
  return address({CudaOperand::Kind::kInput, i, offset_bytes});
}
CudaLaunch& CudaLaunch::output(size_t i, size_t offset_bytes) {
  return address({CudaOperand::Kind::kOutput, i, offset_bytes});
}
CudaLaunch& CudaLaunch::workspace(size_t offset_bytes) {
  return address({CudaOperand::Kind::kWorkspace, 0, offset_bytes});
}
CudaLaunch& CudaLaunch::constant(const Tensor& tensor, size_t offset_bytes) {
  return address({CudaOperand::Kind::kConstant, kernel_->keep(tensor), offset_bytes});
}
CudaLaunch& CudaLaunch::map_input(size_t i, TensorMapSpec spec, size_t offset_bytes) {
  if (const auto& constant = kernel_->input_constants_.at(i))
    return map({CudaOperand::Kind::kConstant, kernel_->keep(*constant), offset_bytes}, std::move(spec));
  return map({CudaOperand::Kind::kInput, i, offset_bytes}, std::move(spec));
}
CudaLaunch& CudaLaunch::map_output(size_t i, TensorMapSpec spec, size_t offset_bytes) {
  return map({CudaOperand::Kind::kOutput, i, offset_bytes}, std::move(spec));
}
CudaLaunch& CudaLaunch::map_workspace(TensorMapSpec spec, size_t offset_bytes) {
  return map({CudaOperand::Kind::kWorkspace, 0, offset_bytes}, std::move(spec));
}
CudaLaunch& CudaLaunch::map_constant(const Tensor& tensor, TensorMapSpec spec) {
  return map({CudaOperand::Kind::kConstant, kernel_->keep(tensor), 0}, std::move(spec));
}

CudaKernel::CudaKernel(const CudaTarget& target, const Problem& problem) : target_(target) {
  for (const TensorDesc& d : problem.inputs) input_constants_.push_back(d.constant);
}

CudaLaunch& CudaKernel::add(const cuda::Source& source, const char* function, const CudaGeometry& geometry) {
  const auto cubin = cuda::compile_cached(source, target_.arch.name());
  launches_.push_back(std::unique_ptr<CudaLaunch>(new CudaLaunch(*this)));
  CudaLaunch& launch = *launches_.back();
  launch.geometry_ = geometry;
  if (!target_.device) return launch;
  target_.device->make_current();
  modules_.push_back(target_.device->load(cubin, source.name));
  launch.function_ = modules_.back()->function(function);
  using enum cuda::FunctionAttribute;
  constexpr size_t kWithoutOptIn = 48 * 1024;
  if (geometry.shared_bytes > kWithoutOptIn) {
    // Kernels share a function: its limit is only ever raised.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    int most = 0;
    WOOTZ_CUDA(cuFuncGetAttribute, &most, kMostDynamicSharedBytes, launch.function_);
    const auto wanted = static_cast<int>(geometry.shared_bytes);
    if (most < wanted) WOOTZ_CUDA(cuFuncSetAttribute, launch.function_, kMostDynamicSharedBytes, wanted);
  }
  constexpr unsigned kPortableCluster = 8;
  if (geometry.cluster.x * geometry.cluster.y * geometry.cluster.z > kPortableCluster)
    WOOTZ_CUDA(cuFuncSetAttribute, launch.function_, kNonPortableClusters, 1);
  // Loads the code now: a function that is loaded lazily cannot be while a graph is captured.
  int registers = 0;
  WOOTZ_CUDA(cuFuncGetAttribute, &registers, kRegisters, launch.function_);
  return launch;
}

void CudaKernel::add_clear(size_t workspace_offset, size_t bytes) {
  launches_.push_back(std::unique_ptr<CudaLaunch>(new CudaLaunch(*this)));
  launches_.back()->clear_offset_ = workspace_offset;
  launches_.back()->clear_bytes_ = bytes;
}

size_t CudaKernel::keep(const Tensor& tensor) {
  constants_.push_back(target_.device ? target_.device->upload(tensor) : nullptr);
  return constants_.size() - 1;
}

bool CudaKernel::takes(CudaOperand::Kind kind, size_t index, size_t skew) const {
  for (const auto& launch : launches_)
    for (const CudaLaunch::Parameter& p : launch->parameters_)
      if ((p.is_map || p.is_address) && p.operand.kind == kind && p.operand.index == index &&
          (skew + p.operand.offset_bytes) % p.begins_on != 0)
        return false;
  return true;
}

cuda::DevicePtr CudaKernel::resolve(const CudaOperand& operand, const LaunchArgs& args) const {
  const auto number = [](const void* p) { return reinterpret_cast<cuda::DevicePtr>(p); };
  cuda::DevicePtr base = 0;
  switch (operand.kind) {
    case CudaOperand::Kind::kInput: base = number(args.inputs[operand.index]); break;
    case CudaOperand::Kind::kOutput: base = number(args.outputs[operand.index]); break;
    case CudaOperand::Kind::kWorkspace: base = number(args.workspace); break;
    case CudaOperand::Kind::kConstant: base = constants_[operand.index]->address(); break;
  }
  return base + operand.offset_bytes;
}

void CudaKernel::start(CudaLaunch& launch, const LaunchArgs& args) {
  const auto& driver = cuda::Driver::get();
  const cuda::StreamHandle stream = static_cast<CudaStream*>(args.stream)->handle();
  if (!launch.function_) {
    cuda::check(
        driver->cuMemsetD8Async(reinterpret_cast<cuda::DevicePtr>(args.workspace) + launch.clear_offset_, 0,
                                launch.clear_bytes_, stream),
        "cuMemsetD8Async");
    return;
  }
  if (launch.geometry_.grid.x * launch.geometry_.grid.y * launch.geometry_.grid.z == 0)
    return;  // no elements
  char* const values = reinterpret_cast<char*>(launch.bytes_.data());
  void* pointers[kMostParameters];
  size_t count = 0;
  for (CudaLaunch::Parameter& p : launch.parameters_) {
    if (p.is_address) {
      const cuda::DevicePtr address = resolve(p.operand, args);
      std::memcpy(values + p.offset, &address, sizeof address);
    } else if (p.is_map) {
      const cuda::DevicePtr address = resolve(p.operand, args);
      if (address != p.mapped) {
        const cuda::TensorMap map = encode(p.spec, address);
        std::memcpy(values + p.offset, &map, sizeof map);
        p.mapped = address;
      }
    }
    pointers[count++] = values + p.offset;
  }
  const CudaGeometry& g = launch.geometry_;
  cuda::LaunchAttribute attributes[2]{};
  unsigned used = 0;
  if (g.early_start) {
    attributes[used].id = cuda::LaunchAttributeId::kProgrammaticSerialization;
    attributes[used++].value.allowed = 1;
  }
  if (g.cluster.x * g.cluster.y * g.cluster.z > 1) {
    attributes[used].id = cuda::LaunchAttributeId::kCluster;
    attributes[used++].value.cluster = {g.cluster.x, g.cluster.y, g.cluster.z};
  }
  const cuda::LaunchConfig config{
      g.grid.x, g.grid.y,   g.grid.z, g.block.x, g.block.y, g.block.z, static_cast<unsigned>(g.shared_bytes),
      stream,   attributes, used};
  cuda::check(driver->cuLaunchKernelEx(&config, launch.function_, pointers, nullptr), "cuLaunchKernelEx");
}

void CudaKernel::launch(const LaunchArgs& args) noexcept {
  try {
    if (!target_.device)
      throw Error(ErrorKind::kDevice,
                  "this kernel was compiled for a GPU that is not here; run the engine on one");
    for (const auto& l : launches_) start(*l, args);
  } catch (...) {
    args.stream->fail(std::current_exception());
  }
}

}  // namespace wootz
