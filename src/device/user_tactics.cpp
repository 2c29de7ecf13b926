// SPDX-License-Identifier: Apache-2.0
#include "device/user_tactics.h"

#include "device/backend.h"
#include "device/region.h"
#include "ops/user_ops.h"

namespace wootz {
namespace {

std::vector<std::unique_ptr<Tactic>>& owned() {
  static std::vector<std::unique_ptr<Tactic>> tactics;
  return tactics;
}
std::vector<const Tactic*>& listed() {
  static std::vector<const Tactic*> tactics;
  return tactics;
}

TensorInfo info_of(const TensorDesc* desc) {
  TensorInfo info;
  if (!desc || desc->dtype == DType::kUndefined) return info;
  info.dtype = desc->dtype;
  info.has_shape = true;
  for (int64_t dim : desc->dims) {
    info.dims.push_back(std::to_string(dim));
    info.fixed.emplace_back(dim);
  }
  return info;
}

/// An operand of the node: its place among the problem's, -1 for one that is left out.
struct Operand {
  int place = -1;
  TensorDesc desc;
};

class UserKernel final : public Kernel {
 public:
  UserKernel(const Problem& problem, const Node& node, const OpKernel& kernel)
      : kernel_(kernel), attributes_(user_attributes(node)) {
    const Graph& body = problem.body();
    for (const Value* value : node.inputs()) {
      const int place = value ? body_input_index(body, value) : -1;
      inputs_.push_back({place, place < 0 ? TensorDesc{} : problem.inputs[static_cast<size_t>(place)]});
    }
    outputs_.resize(static_cast<size_t>(problem.body().outputs().size()));
    for (size_t i = 0; i < problem.outputs.size(); ++i)
      outputs_.at(static_cast<size_t>(body.outputs()[i]->output_index())) = {static_cast<int>(i),
                                                                             problem.outputs[i]};
  }

  void launch(const LaunchArgs& args) noexcept override {
    try {
      std::vector<Tensor> inputs, outputs;
      for (const Operand& x : inputs_) {
        if (x.place < 0 || x.desc.dtype == DType::kUndefined)
          inputs.emplace_back();
        else
          inputs.push_back(x.desc.constant
                               ? *x.desc.constant
                               : Tensor::view(x.desc.dtype, x.desc.dims, args.inputs[x.place], nullptr));
      }
      for (const Operand& y : outputs_)
        outputs.push_back(Tensor::view(y.desc.dtype, y.desc.dims, args.outputs[y.place], nullptr));
      kernel_.run(inputs, outputs, attributes_);
    } catch (...) {
      args.stream->fail(std::current_exception());
    }
  }

 private:
  const OpKernel& kernel_;
  OpAttributes attributes_;
  std::vector<Operand> inputs_, outputs_;
};

class UserTactic final : public Tactic {
 public:
  UserTactic(const UserOp& op, const OpKernel& kernel)
      : op_(op), kernel_(kernel), id_("user." + op.domain + "." + op.name + "." + kernel.name) {}
  std::string_view id() const override { return id_; }
  int version() const override { return kernel_.version; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const Graph& body = problem.body();
    if (body.node_count() != 1 || !body.nodes().front()->is(op_.domain, op_.name))
      return "another operator than " + op_.domain + "." + op_.name;
    const Node& node = *body.nodes().front();
    for (const Value* output : body.outputs())
      if (output->producer() != &node) return "an output that the operator does not write";
    if (body.outputs().size() != static_cast<size_t>(op_.outputs)) return "outputs that nobody reads";
    for (const auto* operands : {&problem.inputs, &problem.outputs})
      for (const TensorDesc& desc : *operands)
        if (desc.dtype != DType::kUndefined && !desc.is_row_major()) return "operands that are not row-major";
    std::vector<TensorInfo> inputs;
    for (const Value* value : node.inputs())
      inputs.push_back(info_of(value ? desc_of(problem, value) : nullptr));
    if (!kernel_.refusal) return std::nullopt;
    const std::string reason = kernel_.refusal(inputs, user_attributes(node));
    return reason.empty() ? std::nullopt : std::optional(reason);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<UserKernel>(problem, *problem.body().nodes().front(), kernel_);
  }

 private:
  const UserOp& op_;
  const OpKernel& kernel_;
  std::string id_;
};

}  // namespace

std::span<const Tactic* const> user_tactics() { return listed(); }

void add_op(UserOp op) {
  for (const OpKernel& kernel : op.kernels)
    if (kernel.name.empty() || !kernel.run)
      throw Error(ErrorKind::kInvalidArgument, "user operator " + op.domain + "." + op.name +
                                                   ": expected a name and a function for each kernel");
  const UserOp& added = UserOps::add(std::move(op));
  for (const OpKernel& kernel : added.kernels) {
    owned().push_back(std::make_unique<UserTactic>(added, kernel));
    listed().push_back(owned().back().get());
  }
}

}  // namespace wootz
