// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/kernel_writer.h"

#include <algorithm>

#include "backends/cuda/codegen/program_source.h"

namespace wootz {

std::string KernelWriter::declare(PlannedOperand operand, const std::string& name, std::string_view type) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return name;
  const bool is_input = operand.kind == PlannedOperand::Kind::kInput;
  const std::string qualifier = is_input ? "const " : "";
  if (!names_.empty()) signature_ += ", ";
  signature_ += qualifier + "void* __restrict__ p" + name;
  pointers_ += qualifier + std::string(type) + "* __restrict__ " + name + " = static_cast<" + qualifier +
               std::string(type) + "*>(p" + name + ");\n";
  operands_.push_back(operand);
  names_.push_back(name);
  return name;
}

std::string KernelWriter::input(size_t i) {
  return declare({PlannedOperand::Kind::kInput, i, 0}, "x" + std::to_string(i),
                 memory_type(problem_.inputs[i].dtype));
}

std::string KernelWriter::output(size_t i) {
  return declare({PlannedOperand::Kind::kOutput, i, 0}, "y" + std::to_string(i),
                 memory_type(problem_.outputs[i].dtype));
}

std::string KernelWriter::workspace(std::string_view type, size_t offset) {
  return declare({PlannedOperand::Kind::kWorkspace, 0, offset}, "w" + std::to_string(offset), type);
}

PlannedLaunch KernelWriter::finish(std::string function, uint64_t grid, uint32_t threads, int blocks) && {
  PlannedLaunch launch;
  launch.code = before_ + "WZ_KERNEL(" + std::to_string(threads) +
                (blocks > 0 ? ", " + std::to_string(blocks) : std::string()) + ") " + function + "(" +
                signature_ + ") {\n" + pointers_ + early_ + "wz::after_previous();\nwz::start_next();\n" +
                body_ + "}\n";
  launch.function = std::move(function);
  launch.headers = std::move(headers_);
  launch.grid = std::max<uint64_t>(grid, 1);
  launch.threads = threads;
  launch.operands = std::move(operands_);
  return launch;
}

std::string table_text(std::string_view name, const std::vector<int64_t>& values) {
  std::string text = "WZ_CONSTANT int " + std::string(name) + "[] = {";
  for (int64_t v : values) text += std::to_string(v) + ", ";
  return text + (values.empty() ? "0};\n" : "};\n");
}

std::string table_text(std::string_view name, const std::vector<double>& values) {
  std::string text = "WZ_CONSTANT float " + std::string(name) + "[] = {";
  for (double v : values) text += register_literal(DType::kFloat32, v) + ", ";
  return text + (values.empty() ? "0};\n" : "};\n");
}

}  // namespace wootz
