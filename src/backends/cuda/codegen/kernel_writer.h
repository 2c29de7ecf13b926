// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/launch_plan.h"

namespace wootz {

/// Collects a kernel's parameters and body. Parameters become typed pointers: inputs "x0", "x1" ..., outputs
/// "y0" ..., by their position in the problem; workspace "w0" ... in order of request.
class KernelWriter {
 public:
  explicit KernelWriter(const Problem& problem) : problem_(problem) {}

  /// The pointer's name; the same for every call with the same operand.
  std::string input(size_t i);
  std::string output(size_t i);
  std::string workspace(std::string_view type, size_t offset);

  KernelWriter& operator<<(std::string_view text) {
    body_ += text;
    return *this;
  }
  KernelWriter& operator<<(int64_t number) {
    body_ += std::to_string(number);
    return *this;
  }
  /// Statements before the kernel waits for its predecessor; they may read constants only.
  std::string& early() { return early_; }
  /// Text before the kernel: constants, functions.
  std::string& before() { return before_; }
  /// An embedded file that the code needs.
  void header(std::string name) { headers_.push_back(std::move(name)); }

  /// `blocks` that a multiprocessor should hold at once bound the registers; 0: as the compiler likes.
  PlannedLaunch finish(std::string function, uint64_t grid, uint32_t threads, int blocks = 0) &&;

 private:
  std::string declare(PlannedOperand operand, const std::string& name, std::string_view type);

  const Problem& problem_;
  std::vector<PlannedOperand> operands_;
  std::vector<std::string> names_;
  std::string signature_, pointers_, before_, early_, body_;
  std::vector<std::string> headers_;
};

/// A table of integers or floats in constant memory: "WZ_CONSTANT int name[] = {...};".
std::string table_text(std::string_view name, const std::vector<int64_t>& values);
std::string table_text(std::string_view name, const std::vector<double>& values);

}  // namespace wootz
