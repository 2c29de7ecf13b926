// SPDX-License-Identifier: Apache-2.0
// Gather along one axis, e.g. rows of an embedding: a copy of the inner elements for each index.
#include <cstring>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/parallel.h"

namespace wootz::cpu_gather_rows_tactic {
namespace {

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const NodeView& view, size_t axis)
      : data_(view.source(0)), indices_(view.source(1)), wide_(view.input(1).dtype == DType::kInt64) {
    const TensorDesc& x = view.input(0);
    const auto size = static_cast<int64_t>(dtype_size(x.dtype));
    rows_ = x.dims[axis];
    for (size_t d = 0; d < axis; ++d) outer_ *= x.dims[d];
    for (size_t d = axis + 1; d < x.dims.size(); ++d) bytes_ *= x.dims[d];
    bytes_ *= size;
    count_ = view.input(1).size();
  }

  void launch(const LaunchArgs& args) noexcept override {
    const char* data = data_.as<char>(args);
    const void* indices = indices_.get(args);
    char* out = static_cast<char*>(args.outputs[0]);
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t row = index(indices, i);
      if (row >= -rows_ && row < rows_) continue;
      args.stream->fail(std::make_exception_ptr(
          Error(ErrorKind::kInvalidArgument, "Gather: expected indices in [" + std::to_string(-rows_) + ", " +
                                                 std::to_string(rows_) + "), found " + std::to_string(row))));
      return;
    }
    const double seconds = static_cast<double>(outer_ * count_) * (5e-9 + static_cast<double>(bytes_) / 6e9);
    parallel_ranges(pool_of(args), outer_ * count_, 1, seconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = index(indices, i % count_);
        if (row < 0) row += rows_;
        std::memcpy(out + i * bytes_, data + (i / count_ * rows_ + row) * bytes_,
                    static_cast<size_t>(bytes_));
      }
    });
  }

 private:
  int64_t index(const void* indices, int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(indices)[i] : static_cast<const int32_t*>(indices)[i];
  }

  OperandSource data_, indices_;
  bool wide_;
  int64_t outer_ = 1, rows_ = 0, count_ = 0, bytes_ = 1;
};

class GatherRows final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.gather.rows"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"Gather"});
    if (!view || problem.outputs.size() != 1) return "not one Gather";
    const auto dense = [](const TensorDesc& d) { return d.constant || d.is_row_major(); };
    if (!dense(view->input(0)) || !dense(view->input(1)) || !problem.outputs[0].is_row_major())
      return "an operand that is not row-major";
    if (view->input(0).dtype == DType::kString) return "strings";
    const DType index = view->input(1).dtype;
    if (index != DType::kInt32 && index != DType::kInt64)
      return "indices of type " + std::string(dtype_name(index));
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    const auto view = NodeView::of(problem, {"Gather"});
    const int64_t axis = view->node().attributes.get<int64_t>("axis", 0);
    const auto rank = static_cast<int64_t>(view->input(0).dims.size());
    return std::make_unique<GatherKernel>(*view, static_cast<size_t>(axis < 0 ? axis + rank : axis));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<GatherRows>()); }

}  // namespace wootz::cpu_gather_rows_tactic
