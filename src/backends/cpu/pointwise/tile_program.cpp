// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/tile_program.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/pointwise/tile_kernels.h"

namespace wootz {
namespace {

constexpr int kScratch = 4096;  // floats: half of a small L1 cache
constexpr int kMaxSlots = 32;
constexpr int kMaxOperands = 64;

bool has_float_lanes(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         dtype == DType::kBool;
}

int tile_for(int slots) {
  int tile = 1024;
  while (tile * slots > kScratch) tile /= 2;
  return tile;
}

}  // namespace

/// Turns a scalar program into steps: constants aside, pairs of instructions merged, registers put into
/// slots.
class TileCompiler {
 public:
  explicit TileCompiler(const ScalarProgram& source)
      : source_(source), operands_(static_cast<int>(source.operands.size())) {}

  std::optional<TileProgram> compile() {
    constants_.resize(static_cast<size_t>(operands_));
    for (const auto& [reg, value] : source_.immediates)
      if (reg < operands_) constants_[static_cast<size_t>(reg)] = static_cast<float>(value);
    for (const ScalarInstruction& instruction : source_.instructions) nodes_.push_back(lower(instruction));
    count_uses();
    for (size_t i = 0; i < nodes_.size(); ++i) merge(static_cast<int>(i));
    return emit();
  }

 private:
  struct Node {
    int kernel = 0;
    int in[3] = {-1, -1, -1};  // registers
    float alpha = 0, beta = 0;
    bool dead = false;
  };

  std::optional<float> constant(int reg) const {
    return reg >= 0 && reg < operands_ ? constants_[static_cast<size_t>(reg)] : std::nullopt;
  }
  Node* producer(int reg) {
    return reg >= operands_ ? &nodes_[static_cast<size_t>(reg - operands_)] : nullptr;
  }
  int& uses(int reg) { return uses_[static_cast<size_t>(reg)]; }

  Node lower(const ScalarInstruction& from) const {
    Node node{tile_kernel_id(from.op), {from.a, from.b, from.c}, from.alpha, from.beta, false};
    const auto become = [&node](TileExtra op, int inputs) {
      node.kernel = tile_kernel_id(op);
      for (int k = inputs; k < 3; ++k) node.in[k] = -1;
    };
    if (from.op == ScalarOp::kCast) {
      if (from.dtype == DType::kBool) become(TileExtra::kToBool, 1);
      if (from.dtype == DType::kFloat16) become(TileExtra::kToHalf, 1);
      if (from.dtype == DType::kBFloat16) become(TileExtra::kToBFloat16, 1);
    }
    if (from.op == ScalarOp::kClip) {
      const bool low_known = from.b < 0 || constant(from.b), high_known = from.c < 0 || constant(from.c);
      if (low_known && high_known) {
        if (from.b >= 0) node.alpha = *constant(from.b);
        if (from.c >= 0) node.beta = *constant(from.c);
        become(TileExtra::kClipConst, 1);
      }
    }
    if (from.op == ScalarOp::kPow) {
      const std::optional<float> exponent = constant(from.b);
      if (exponent == 2.0f) node = {tile_kernel_id(ScalarOp::kMul), {from.a, from.a, -1}, 0, 0, false};
      if (exponent == 3.0f) become(TileExtra::kCube, 1);
      if (exponent == 0.5f) become(TileExtra::kPowHalf, 1);
      if (exponent == -1.0f) node = {tile_kernel_id(ScalarOp::kReciprocal), {from.a, -1, -1}, 0, 0, false};
    }
    return node;
  }

  void count_uses() {
    uses_.assign(static_cast<size_t>(operands_) + nodes_.size(), 0);
    for (const Node& node : nodes_)
      for (int reg : node.in)
        if (reg >= 0) ++uses(reg);
    for (int reg : source_.results) uses(reg) += 2;  // a result keeps its own instruction
  }

  /// The producer of `reg` when it has the given kernel and no other reader.
  Node* sole(int reg, int kernel) {
    Node* node = producer(reg);
    return node && !node->dead && node->kernel == kernel && uses(reg) == 1 ? node : nullptr;
  }

  void merge(int index) {
    Node& node = nodes_[static_cast<size_t>(index)];
    const auto absorb = [&node](Node& other, int kernel, int a, int b, int c) {
      other.dead = true;
      node.kernel = kernel;
      node.in[0] = a, node.in[1] = b, node.in[2] = c;
    };
    if (node.kernel == tile_kernel_id(ScalarOp::kAdd)) {
      for (int k : {0, 1})
        if (Node* product = sole(node.in[k], tile_kernel_id(ScalarOp::kMul)))
          return absorb(*product, tile_kernel_id(TileExtra::kMulAdd), product->in[0], product->in[1],
                        node.in[1 - k]);
    } else if (node.kernel == tile_kernel_id(ScalarOp::kMul)) {
      for (int k : {0, 1})
        if (Node* sigmoid = sole(node.in[k], tile_kernel_id(ScalarOp::kSigmoid)))
          return absorb(*sigmoid, tile_kernel_id(TileExtra::kMulSigmoid), node.in[1 - k], sigmoid->in[0], -1);
    } else if (node.kernel == tile_kernel_id(ScalarOp::kRelu)) {
      if (Node* sum = sole(node.in[0], tile_kernel_id(ScalarOp::kAdd)))
        return absorb(*sum, tile_kernel_id(TileExtra::kAddRelu), sum->in[0], sum->in[1], -1);
    } else if (node.kernel == tile_kernel_id(TileExtra::kClipConst)) {
      if (Node* sum = sole(node.in[0], tile_kernel_id(ScalarOp::kAdd)))
        return absorb(*sum, tile_kernel_id(TileExtra::kAddClip), sum->in[0], sum->in[1], -1);
    }
  }

  using Ref = TileProgram::Ref;

  Ref constant_ref(float value) {
    program_.constants_.push_back(value);
    return {Ref::Kind::kConstant, static_cast<int16_t>(program_.constants_.size() - 1)};
  }

  Ref operand_ref(int reg) {
    if (const std::optional<float> value = constant(reg)) return constant_ref(*value);
    return {Ref::Kind::kOperand, static_cast<int16_t>(reg)};
  }

  /// The result that instruction `index` may write at once: nothing reads an operand afterwards, which may be
  /// its memory.
  int direct_result(int index) const {
    for (size_t i = static_cast<size_t>(index) + 1; i < nodes_.size(); ++i)
      for (int reg : nodes_[i].in)
        if (!nodes_[i].dead && reg >= 0 && reg < operands_ && !constants_[static_cast<size_t>(reg)])
          return -1;
    int result = -1;
    for (size_t r = 0; r < source_.results.size(); ++r) {
      if (source_.results[r] < operands_) return -1;
      if (source_.results[r] == operands_ + index && result < 0) result = static_cast<int>(r);
    }
    return result;
  }

  std::optional<TileProgram> emit() {
    std::vector<int> last(uses_.size(), -1);
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (int reg : nodes_[i].in)
        if (!nodes_[i].dead && reg >= 0) last[static_cast<size_t>(reg)] = static_cast<int>(i);
    for (int reg : source_.results) last[static_cast<size_t>(reg)] = static_cast<int>(nodes_.size());

    std::vector<Ref> refs(uses_.size());
    for (int reg = 0; reg < operands_; ++reg) refs[static_cast<size_t>(reg)] = operand_ref(reg);
    std::vector<int16_t> free_slots;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      const Node& node = nodes_[static_cast<size_t>(i)];
      if (node.dead) continue;
      TileProgram::Step step;
      step.kernel = static_cast<int16_t>(node.kernel);
      step.alpha = node.alpha, step.beta = node.beta;
      for (int k = 0; k < 3; ++k)
        if (node.in[k] >= 0)
          step.in[k] = refs[static_cast<size_t>(node.in[k])];
        else if (k > 0 && node.kernel == tile_kernel_id(ScalarOp::kClip))
          step.in[k] = constant_ref(k == 1 ? node.alpha : node.beta);
      for (int k = 0; k < 3; ++k) {  // a slot whose last reader this is may take the output
        const bool seen = (k > 0 && node.in[k] == node.in[0]) || (k > 1 && node.in[k] == node.in[1]);
        if (node.in[k] >= 0 && !seen && step.in[k].kind == Ref::Kind::kSlot &&
            last[static_cast<size_t>(node.in[k])] == i)
          free_slots.push_back(step.in[k].index);
      }
      Ref out{Ref::Kind::kResult, static_cast<int16_t>(direct_result(i))};
      if (out.index < 0) {
        out.kind = Ref::Kind::kSlot;
        if (free_slots.empty()) free_slots.push_back(static_cast<int16_t>(program_.slots_++));
        out.index = free_slots.back();
        free_slots.pop_back();
        if (last[static_cast<size_t>(operands_ + i)] < 0) free_slots.push_back(out.index);  // nobody reads it
      }
      step.out = refs[static_cast<size_t>(operands_ + i)] = out;
      program_.steps_.push_back(step);
    }
    if (program_.slots_ > kMaxSlots) return std::nullopt;
    for (int reg : source_.results) program_.results_.push_back(refs[static_cast<size_t>(reg)]);
    program_.operand_count_ = operands_;
    program_.tile_ = tile_for(program_.slots_);
    return std::move(program_);
  }

  const ScalarProgram& source_;
  const int operands_;
  std::vector<std::optional<float>> constants_;  // of operand registers
  std::vector<Node> nodes_;
  std::vector<int> uses_;
  TileProgram program_;
};

std::optional<std::string> TileProgram::refusal(const ScalarProgram& program) {
  if (program.operands.size() > kMaxOperands) return "more than 64 operands";
  if (program.results.size() > kMaxOperands) return "more than 64 results";
  for (DType dtype : program.operands)
    if (!has_float_lanes(dtype)) return "an operand of dtype " + std::string(dtype_name(dtype));
  for (const ScalarInstruction& i : program.instructions) {
    if (!has_float_lanes(i.dtype)) return "an instruction of dtype " + std::string(dtype_name(i.dtype));
    if (!tile_functions()[tile_kernel_id(i.op)])
      return "no vector loop for " + std::string(scalar_op_name(i.op));
  }
  if (!TileCompiler(program).compile()) return "more than 32 live values";
  return std::nullopt;
}

std::optional<TileProgram> TileProgram::compile(const ScalarProgram& program) {
  if (refusal(program)) return std::nullopt;
  return TileCompiler(program).compile();
}

void TileProgram::run(const TileOperand* operands, float* const* results, int count) const {
  if (count <= tile_) return run_tile(operands, results, count);
  TileOperand shifted[kMaxOperands];
  float* outputs[kMaxOperands];
  for (int start = 0; start < count; start += tile_) {
    for (int k = 0; k < operand_count_; ++k)
      shifted[k] = {operands[k].ptr ? operands[k].ptr + int64_t{start} * operands[k].stride : nullptr,
                    operands[k].stride};
    for (int r = 0; r < result_count(); ++r) outputs[r] = results[r] + start;
    run_tile(shifted, outputs, std::min(tile_, count - start));
  }
}

void TileProgram::run_tile(const TileOperand* operands, float* const* results, int count) const {
  alignas(64) float scratch[kScratch];
  bool uniform[kMaxSlots] = {};
  const TileFunction* functions = tile_functions();
  const auto read = [&](const Ref& ref) -> TileOperand {
    switch (ref.kind) {
      case Ref::Kind::kOperand: return operands[ref.index];
      case Ref::Kind::kConstant: return {&constants_[static_cast<size_t>(ref.index)], 0};
      case Ref::Kind::kSlot: return {scratch + ref.index * tile_, uniform[ref.index] ? 0 : 1};
      case Ref::Kind::kResult: return {results[ref.index], 1};
      case Ref::Kind::kNone: break;
    }
    return {nullptr, 0};
  };
  for (const Step& step : steps_) {
    TileArgs args;
    int varying = 0;
    for (int k = 0; k < 3 && step.in[k].kind != Ref::Kind::kNone; ++k) {
      const TileOperand operand = read(step.in[k]);
      args.in[k] = operand.ptr;
      args.stride[k] = operand.stride;
      varying |= operand.stride;
    }
    args.alpha = step.alpha, args.beta = step.beta;
    args.count = count;
    if (step.out.kind == Ref::Kind::kResult) {
      args.out = results[step.out.index];
    } else {  // a value that is the same throughout is computed once
      args.out = scratch + step.out.index * tile_;
      uniform[step.out.index] = varying == 0;
      if (varying == 0) args.count = 1;
    }
    functions[step.kernel](args);
  }
  for (int r = 0; r < result_count(); ++r) {
    const Ref& ref = results_[static_cast<size_t>(r)];
    if (ref.kind == Ref::Kind::kResult && ref.index == r) continue;
    const TileOperand operand = read(ref);
    TileArgs args;
    args.in[0] = operand.ptr, args.stride[0] = operand.stride, args.out = results[r], args.count = count;
    functions[tile_kernel_id(ScalarOp::kCopy)](args);
  }
}

}  // namespace wootz
