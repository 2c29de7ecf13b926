// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "backends/cuda/codegen/main_view.h"

namespace wootz {

/// A kernel with one thread for each element of an output, or for a group of neighbours along one dim.
/// Threads walk the output in the order of its memory; the text finds signed coordinates "c0", "c1" ... in
/// the output's logical dims (those of the group's first element), of type `I` (int, or i64 for large
/// tensors).
class ElementKernel {
 public:
  /// Output `output` of the problem. `along`: the dim of groups, -1: single elements.
  ElementKernel(const Problem& problem, size_t output, int along = -1, int64_t width = 1);

  KernelWriter& text() { return writer_; }
  std::string input(size_t i) { return writer_.input(i); }
  /// "c0 * 12 + c1": where an operand with these strides over the output's dims has the element.
  std::string offset(const Dims& strides) const { return offset_text(strides, dims_, "c"); }
  /// The output's pointer plus the offset of the element.
  std::string target() const { return target_; }
  /// A statement that stores one memory element (not a register).
  std::string store(const std::string& element) const { return "*(" + target_ + ") = " + element + ";\n"; }
  /// The same for a register of the output's dtype.
  std::string store_register(const std::string& reg) const;
  int64_t width() const { return width_; }

  PlannedLaunch finish(std::string function) &&;

 private:
  KernelWriter writer_;
  Dims dims_;
  DType dtype_;
  int64_t width_, threads_total_ = 0;
  std::string target_;
};

/// The widest group along dim `along` for operands of these dims, strides and dtypes: 16 bytes of the
/// smallest dtype, every stride but that of the dim a whole number of groups; 1 where a stride of the dim is
/// not 1.
struct GroupOperand {
  const Dims* strides;
  DType dtype;
};
int64_t group_width(int64_t extent, size_t along, std::initializer_list<GroupOperand> operands);

/// The register expression of an index operand's element, negative ones counted from `count` and clamped into
/// it.
std::string index_text(const std::string& element, const std::string& count);

}  // namespace wootz
