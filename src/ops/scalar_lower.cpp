// SPDX-License-Identifier: Apache-2.0
// Pointwise nodes become a scalar program.
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "ops/registry.h"
#include "ops/scalar.h"

namespace wootz {
namespace {

/// Which attributes an instruction's alpha and beta come from.
std::pair<const char*, const char*> parameter_names(ScalarOp op) {
  switch (op) {
    case ScalarOp::kLeakyRelu:
    case ScalarOp::kElu:
    case ScalarOp::kCelu:
    case ScalarOp::kThresholdedRelu:
    case ScalarOp::kSilu: return {"alpha", nullptr};
    case ScalarOp::kSelu: return {"alpha", "gamma"};
    case ScalarOp::kHardSigmoid: return {"alpha", "beta"};
    case ScalarOp::kShrink: return {"lambd", "bias"};
    case ScalarOp::kIsInf: return {"detect_positive", "detect_negative"};
    case ScalarOp::kMod: return {"fmod", nullptr};
    default: return {nullptr, nullptr};
  }
}

float parameter(const Node& node, const OpDef& def, const char* name) {
  const Attribute* found = node.attributes.find(name);
  for (const AttributeSpec& spec : def.attributes)
    if (!found && spec.name == name && spec.fallback) found = &*spec.fallback;
  if (!found) return 0;
  if (const int64_t* integer = std::get_if<int64_t>(found)) return static_cast<float>(*integer);
  if (const float* real = std::get_if<float>(found)) return *real;
  return 0;
}

bool fits_program(DType dtype) {
  return dtype != DType::kUndefined && dtype != DType::kString && dtype != DType::kComplex64 &&
         dtype != DType::kComplex128;
}

/// A constant of one element as a number, where a double holds it exactly.
std::optional<double> scalar_constant(const Value& value) {
  if (!value.constant || value.constant->size() != 1 || !fits_program(value.constant->dtype()))
    return std::nullopt;
  const double number = value.constant->to_doubles()[0];
  if (is_integer(value.constant->dtype()) && std::abs(number) > 9007199254740992.0) return std::nullopt;
  return number;
}

class Lowering {
 public:
  Lowering(const Graph& body, const Value* from) : body_(body), from_(from) {}

  std::optional<LoweredProgram> run() {
    if (from_) add_operand(from_);
    for (const auto& node : body_.nodes()) {
      if (from_ && from_->producer() == node.get()) continue;
      if (!read_node(*node)) return std::nullopt;
    }
    for (const auto& [node, op] : nodes_) emit(*node, op);
    for (const Value* output : body_.outputs()) {
      auto it = registers_.find(output);
      if (it == registers_.end()) return std::nullopt;
      lowered_.program.results.push_back(it->second);
      lowered_.results.push_back(output);
    }
    return std::move(lowered_);
  }

 private:
  void add_operand(const Value* value) {
    const int at = static_cast<int>(lowered_.operands.size());
    if (!registers_.emplace(value, at).second) return;
    lowered_.operands.push_back(value);
    lowered_.program.operands.push_back(value->type.dtype);
    if (auto number = scalar_constant(*value)) lowered_.program.immediates.emplace_back(at, *number);
  }

  /// Finds the node's instruction and makes operands of what no node of the program writes.
  bool read_node(const Node& node) {
    const OpDef* def = OpRegistry::global().find(node);
    if (!def || !def->scalar || !node.output(0) || !fits_program(node.output(0)->type.dtype)) return false;
    const std::optional<ScalarOp> op = def->scalar(node);
    if (!op) return false;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (i > 0 && scalar_op_arity(*op) == 1)
        break;  // operands that decide what the node is, not its elements
      const Value* input = node.input(i);
      if (!input) continue;
      if (!fits_program(input->type.dtype)) return false;
      const Node* producer = input->producer();
      const bool outside = !producer || producer->graph() != &body_;
      if (!outside && input != from_ && !written_.contains(input))
        return false;  // another output of the main node
      if (outside && !is_folded_bound(node, *op, i)) add_operand(input);
    }
    written_.insert(node.output(0));
    nodes_.emplace_back(&node, *op);
    return true;
  }

  /// A floating-point Clip's constant bounds live in the instruction where a float holds them.
  static bool is_folded_bound(const Node& node, ScalarOp op, size_t i) {
    if (op != ScalarOp::kClip || i == 0 || !is_float(node.input(0)->type.dtype)) return false;
    const std::optional<double> bound = scalar_constant(*node.input(i));
    return bound && static_cast<double>(static_cast<float>(*bound)) == *bound;
  }

  int register_of(const Value* value) const { return registers_.at(value); }
  DType dtype_of(int at) const {
    const auto operands = static_cast<int>(lowered_.operands.size());
    return at < operands ? lowered_.program.operands[static_cast<size_t>(at)]
                         : lowered_.program.instructions[static_cast<size_t>(at - operands)].dtype;
  }
  int push(ScalarInstruction instruction) {
    lowered_.program.instructions.push_back(instruction);
    return static_cast<int>(lowered_.operands.size() + lowered_.program.instructions.size()) - 1;
  }

  void emit(const Node& node, ScalarOp op) {
    const OpDef& def = op_of(node);
    ScalarInstruction instruction{op, node.output(0)->type.dtype};
    const auto [alpha, beta] = parameter_names(op);
    if (alpha) instruction.alpha = parameter(node, def, alpha);
    if (beta) instruction.beta = parameter(node, def, beta);
    instruction.a = register_of(node.input(0));
    if (op == ScalarOp::kClip) {
      emit_bounds(node, instruction);
    } else if (scalar_op_arity(op) == 2) {
      for (size_t i = 1; i + 1 < node.inputs().size(); ++i)
        instruction.a = emit_pair(instruction, register_of(node.input(i)));
      instruction.b = operand_of_type(instruction, register_of(node.input(node.inputs().size() - 1)));
    } else if (op == ScalarOp::kWhere) {
      instruction.b = register_of(node.input(1));
      instruction.c = register_of(node.input(2));
    }
    registers_[node.output(0)] = push(instruction);
  }

  /// Variadic operators (Max, Min, Sum) are chains of pairs.
  int emit_pair(ScalarInstruction instruction, int b) {
    instruction.b = b;
    return push(instruction);
  }

  /// Pow takes an exponent of another dtype; an instruction's operands have one.
  int operand_of_type(const ScalarInstruction& instruction, int b) {
    if (instruction.op != ScalarOp::kPow || dtype_of(b) == instruction.dtype) return b;
    return push({ScalarOp::kCast, instruction.dtype, b});
  }

  void emit_bounds(const Node& node, ScalarInstruction& instruction) {
    instruction.alpha = -std::numeric_limits<float>::infinity();
    instruction.beta = std::numeric_limits<float>::infinity();
    for (size_t i = 1; i <= 2; ++i) {
      const Value* bound = node.input(i);
      if (!bound) continue;
      if (is_folded_bound(node, instruction.op, i))
        (i == 1 ? instruction.alpha : instruction.beta) = static_cast<float>(*scalar_constant(*bound));
      else
        (i == 1 ? instruction.b : instruction.c) = register_of(bound);
    }
  }

  const Graph& body_;
  const Value* from_;
  LoweredProgram lowered_;
  std::unordered_map<const Value*, int> registers_;
  std::unordered_set<const Value*> written_;
  std::vector<std::pair<const Node*, ScalarOp>> nodes_;
};

}  // namespace

std::optional<LoweredProgram> lower_pointwise(const Graph& body, const Value* from) {
  return Lowering(body, from).run();
}

}  // namespace wootz
