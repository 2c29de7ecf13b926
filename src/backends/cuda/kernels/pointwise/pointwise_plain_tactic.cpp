// SPDX-License-Identifier: Apache-2.0
// Pointwise regions of dense floating-point operands of one shape and elementary operations: the simplest
// CUDA tactic, and the example of docs/cuda.md.
#include "backends/cuda/cuda_kernel.h"
#include "backends/cuda/cuda_names.h"
#include "backends/cuda/cuda_tactics.h"
#include "device/region.h"
#include "ops/scalar.h"

namespace wootz::cuda_pointwise_plain_tactic {
namespace {

/// The instruction as C++ over the registers r0, r1, ...; empty where this tactic has no form for it.
std::string expression(const ScalarInstruction& in, const std::vector<std::string>& r) {
  const auto a = [&] { return r[static_cast<size_t>(in.a)]; };
  const auto b = [&] { return r[static_cast<size_t>(in.b)]; };
  switch (in.op) {
    case ScalarOp::kCopy: return a();
    case ScalarOp::kAdd: return "(" + a() + " + " + b() + ")";
    case ScalarOp::kSub: return "(" + a() + " - " + b() + ")";
    case ScalarOp::kMul: return "(" + a() + " * " + b() + ")";
    case ScalarOp::kDiv: return "(" + a() + " / " + b() + ")";
    case ScalarOp::kNeg: return "(-" + a() + ")";
    case ScalarOp::kAbs: return "fabsf(" + a() + ")";
    case ScalarOp::kSqrt: return "sqrtf(" + a() + ")";
    case ScalarOp::kExp: return "expf(" + a() + ")";
    case ScalarOp::kTanh: return "tanhf(" + a() + ")";
    case ScalarOp::kErf: return "erff(" + a() + ")";
    case ScalarOp::kRelu: return "(" + a() + " < 0.0f ? 0.0f : " + a() + ")";  // NaN stays
    case ScalarOp::kSigmoid: return "(1.0f / (1.0f + expf(-" + a() + ")))";
    default: return "";
  }
}

bool is_plain_float(DType t) { return t == DType::kFloat32 || t == DType::kFloat16 || t == DType::kBFloat16; }

struct Generated {
  std::string constants;
  std::vector<int> inputs;  // the region's, one an operand
};

std::optional<Generated> generate(const Problem& problem, std::string& why) {
  const std::optional<LoweredProgram> lowered = lower_pointwise(problem.body());
  why = "not one result of elementary operations on dense floats of one shape";
  if (!lowered || lowered->program.results.size() != 1 || problem.outputs.size() != 1) return std::nullopt;
  const TensorDesc& out = problem.outputs[0];
  if (!is_plain_float(out.dtype) || !out.is_row_major()) return std::nullopt;
  Generated g;
  std::string parameters;
  std::vector<std::string> registers;
  for (const Value* operand : lowered->operands) {
    const int i = body_input_index(problem.body(), operand);
    if (i < 0) return std::nullopt;
    const TensorDesc& d = problem.inputs[static_cast<size_t>(i)];
    if (!is_plain_float(d.dtype) || !d.is_row_major() || d.dims != out.dims) return std::nullopt;
    const std::string name = "x" + std::to_string(g.inputs.size());
    parameters += (parameters.empty() ? "const " : ", const ") + std::string(*cuda_type_name(d.dtype)) +
                  "* __restrict__ " + name;
    registers.push_back("to_float(" + name + "[i])");
    g.inputs.push_back(i);
  }
  for (const ScalarInstruction& in : lowered->program.instructions) {
    if (!is_plain_float(in.dtype)) return std::nullopt;
    const std::string text = expression(in, registers);
    if (text.empty()) return std::nullopt;
    registers.push_back(text);
  }
  if (parameters.empty()) return std::nullopt;
  g.constants = "#define OUT " + std::string(*cuda_type_name(out.dtype)) + "\n#define OPERANDS " +
                parameters + "\n#define EXPRESSION " +
                registers[static_cast<size_t>(lowered->program.results[0])] + "\n";
  return g;
}

class PointwisePlain final : public Tactic {
 public:
  explicit PointwisePlain(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.pointwise.plain"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    std::string why;
    if (!generate(problem, why)) return why;
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {TacticConfig{{{"threads", 256}}}, TacticConfig{{{"threads", 128}}}};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed&) const override {
    std::string why;
    const Generated g = *generate(problem, why);
    const int64_t count = problem.outputs[0].size(), threads = config.get("threads", 256);
    auto kernel = std::make_unique<CudaKernel>(target_, problem);
    CudaGeometry geometry;
    geometry.grid.x = static_cast<unsigned>((count + threads - 1) / threads);
    geometry.block.x = static_cast<unsigned>(threads);
    CudaLaunch& launch = kernel->add(make_cuda_source("pointwise/pointwise_plain.cu", g.constants),
                                     "pointwise_plain", geometry);
    for (int i : g.inputs) launch.input(static_cast<size_t>(i));
    launch.output(0).value(count);
    return kernel;
  }

 private:
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<PointwisePlain>(tactics.target()), CudaTactics::kLast);
}

}  // namespace wootz::cuda_pointwise_plain_tactic
