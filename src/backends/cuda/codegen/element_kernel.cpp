// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/element_kernel.h"

#include <algorithm>
#include <numeric>

namespace wootz {
namespace {

constexpr int64_t kThreads = 256;

bool is_large(const TensorDesc& desc) {
  int64_t last = 0;
  for (size_t d = 0; d < desc.strides.size() && d < desc.dims.size(); ++d)
    last += std::abs(desc.strides[d]) * (desc.dims[d] - 1);
  return last >= (int64_t{1} << 31) || desc.size() >= (int64_t{1} << 31);
}

}  // namespace

ElementKernel::ElementKernel(const Problem& problem, size_t output, int along, int64_t width)
    : writer_(problem),
      dims_(problem.outputs[output].dims),
      dtype_(problem.outputs[output].dtype),
      width_(width) {
  const TensorDesc& y = problem.outputs[output];
  bool large = false;
  for (const TensorDesc& d : problem.inputs) large = large || (d.dtype != DType::kUndefined && is_large(d));
  for (const TensorDesc& d : problem.outputs) large = large || is_large(d);
  std::vector<size_t> order(dims_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return y.strides[a] > y.strides[b]; });
  const auto extent = [&](size_t d) { return static_cast<int>(d) == along ? dims_[d] / width : dims_[d]; };
  threads_total_ = 1;
  for (size_t d = 0; d < dims_.size(); ++d) threads_total_ *= extent(d);
  const std::string flat = large ? "u64" : "u32";
  writer_ << "using I = " << (large ? "i64" : "int") << ";\nconst " << flat << " i = static_cast<" << flat
          << ">(blockIdx.x) * " << kThreads << " + threadIdx.x;\nif (i >= " << threads_total_
          << "u) return;\n";
  std::string rest = "i";
  for (size_t k = order.size(); k-- > 0;) {
    const size_t d = order[k];
    const std::string at = std::to_string(d), next = "rest" + at, size = std::to_string(extent(d)) + "u";
    const std::string scale = static_cast<int>(d) == along && width > 1 ? " * " + std::to_string(width) : "";
    if (k == 0) {
      writer_ << "const I c" << at << " = static_cast<I>(" << rest << ")" << scale << ";\n";
    } else {
      writer_ << "const " << flat << " " << next << " = " << rest << " / " << size << ";\nconst I c" << at
              << " = static_cast<I>(" << rest << " - " << next << " * " << size << ")" << scale << ";\n";
    }
    rest = next;
  }
  target_ = writer_.output(output) + " + (" + offset(y.strides) + ")";
}

std::string ElementKernel::store_register(const std::string& reg) const {
  return store(store_text(dtype_, reg));
}

PlannedLaunch ElementKernel::finish(std::string function) && {
  return std::move(writer_).finish(
      std::move(function), static_cast<uint64_t>((threads_total_ + kThreads - 1) / kThreads), kThreads);
}

int64_t group_width(int64_t extent, size_t along, std::initializer_list<GroupOperand> operands) {
  int64_t width = 16;
  for (const GroupOperand& o : operands)
    width = std::min<int64_t>(width, 16 / static_cast<int64_t>(dtype_size(o.dtype)));
  const auto fits = [&] {
    if (extent % width != 0) return false;
    for (const GroupOperand& o : operands)
      for (size_t d = 0; d < o.strides->size(); ++d)
        if (d == along ? (*o.strides)[d] != 1 : (*o.strides)[d] % width != 0) return false;
    return true;
  };
  while (width > 1 && !fits()) width /= 2;
  return width;
}

std::string index_text(const std::string& element, const std::string& count) {
  return "wz::place_of(static_cast<i64>(wz::load(" + element + ")), " + count + ")";
}

}  // namespace wootz
