// SPDX-License-Identifier: Apache-2.0
#include "device/reference_tactic.h"

#include <cstring>

#include "device/backend.h"
#include "device/region.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace wootz {
namespace {

/// Copies elements between two strided arrays, in row-major order.
void copy_elements(DType dtype, const Dims& dims, const void* from, const Dims& from_strides, void* to,
                   const Dims& to_strides) {
  const int64_t count = element_count(dims);
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  Dims index(dims.size(), 0);
  int64_t source = 0, target = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kString)
      static_cast<std::string*>(to)[target] = static_cast<const std::string*>(from)[source];
    else
      std::memcpy(static_cast<char*>(to) + target * size, static_cast<const char*>(from) + source * size,
                  static_cast<size_t>(size));
    for (size_t d = dims.size(); d-- > 0;) {
      source += from_strides[d], target += to_strides[d];
      if (++index[d] < dims[d]) break;
      index[d] = 0;
      source -= dims[d] * from_strides[d], target -= dims[d] * to_strides[d];
    }
  }
}

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Problem& problem)
      : body_(problem.body()),
        inputs_(problem.inputs),
        outputs_(problem.outputs),
        gathered_(inputs_.size()) {}

  void launch(const LaunchArgs& args) noexcept override {
    try {
      std::vector<Datum> inputs;
      for (size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(input(i, args));
      std::vector<Datum> results =
          body_.node_count() == 1 ? run_single(inputs, args) : evaluate_graph(body_, inputs);
      for (size_t i = 0; i < outputs_.size(); ++i) write(results[i], i, args);
    } catch (...) {
      args.stream->fail(std::current_exception());
    }
  }

 private:
  Datum input(size_t i, const LaunchArgs& args) {
    const TensorDesc& desc = inputs_[i];
    if (desc.dtype == DType::kUndefined) return {};
    if (desc.constant) return *desc.constant;
    if (desc.is_row_major()) return Tensor::view(desc.dtype, desc.dims, args.inputs[i], nullptr);
    if (!gathered_[i].is_defined()) gathered_[i] = Tensor::zeros(desc.dtype, desc.dims);
    copy_elements(desc.dtype, desc.dims, args.inputs[i], desc.strides, gathered_[i].data(),
                  contiguous_strides(desc.dims));
    return gathered_[i];
  }

  /// One node: the reference may fill the outputs' own memory.
  std::vector<Datum> run_single(const std::vector<Datum>& inputs, const LaunchArgs& args) {
    const Node& node = *body_.nodes().front();
    const OpDef& def = op_of(node);
    std::vector<const Datum*> node_inputs;
    for (const Value* value : node.inputs()) {
      const int at = value ? body_input_index(body_, value) : -1;
      if (value && at < 0) return evaluate_graph(body_, inputs);  // constants inside the body
      node_inputs.push_back(at < 0 ? nullptr : &inputs[static_cast<size_t>(at)]);
    }
    if (!def.evaluate || !node.subgraphs().empty()) return evaluate_graph(body_, inputs);
    std::vector<Datum> node_outputs(node.outputs().size());
    std::vector<size_t> position(outputs_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TensorDesc& desc = outputs_[i];
      if (body_.outputs()[i]->producer() != &node) return evaluate_graph(body_, inputs);
      position[i] = static_cast<size_t>(body_.outputs()[i]->output_index());
      if (desc.is_row_major() && !desc.constant && desc.dtype != DType::kString && !overlaps_input(i, args))
        node_outputs[position[i]] = Tensor::view(desc.dtype, desc.dims, args.outputs[i], nullptr);
    }
    EvalContext context(node, node_inputs, node_outputs);
    def.evaluate(context);
    std::vector<Datum> results;
    for (size_t i = 0; i < outputs_.size(); ++i) results.push_back(node_outputs[position[i]]);
    return results;
  }

  /// In place: a reference expects its inputs to last until it ends.
  bool overlaps_input(size_t output, const LaunchArgs& args) const {
    const auto range = [](const TensorDesc& desc, const void* p) {
      int64_t span = 1;
      for (size_t d = 0; d < desc.dims.size(); ++d) span += (desc.dims[d] - 1) * desc.strides[d];
      const char* begin = static_cast<const char*>(p);
      return std::pair(begin, begin + span * static_cast<int64_t>(dtype_size(desc.dtype)));
    };
    const auto [begin, end] = range(outputs_[output], args.outputs[output]);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].constant || inputs_[i].dtype == DType::kUndefined || !args.inputs[i]) continue;
      const auto [from, to] = range(inputs_[i], args.inputs[i]);
      if (from < end && begin < to) return true;
    }
    return false;
  }

  void write(const Datum& result, size_t i, const LaunchArgs& args) const {
    const TensorDesc& desc = outputs_[i];
    // Shapes may depend on what inputs hold; a model that states others does not take those inputs.
    if (result.kind == Datum::Kind::kTensor && result.tensor.dtype() == desc.dtype &&
        result.tensor.dims() != desc.dims)
      throw Error(ErrorKind::kInvalidModel, "'" + body_.nodes().back()->op +
                                                "': by its shapes the model expects " + dims_text(desc.dims) +
                                                " as output " + std::to_string(i) + ", these inputs give " +
                                                dims_text(result.tensor.dims()));
    if (result.kind != Datum::Kind::kTensor || result.tensor.dtype() != desc.dtype ||
        result.tensor.dims() != desc.dims)
      throw Error(ErrorKind::kInternal, "the reference of '" + body_.nodes().back()->op + "' gave " +
                                            std::string(dtype_name(result.tensor.dtype())) +
                                            dims_text(result.tensor.dims()) + " as output " +
                                            std::to_string(i) + ", planned " +
                                            std::string(dtype_name(desc.dtype)) + dims_text(desc.dims));
    if (result.tensor.data() == args.outputs[i]) return;
    copy_elements(desc.dtype, desc.dims, result.tensor.data(), contiguous_strides(desc.dims), args.outputs[i],
                  desc.strides);
  }

  const Graph& body_;
  std::vector<TensorDesc> inputs_, outputs_;
  std::vector<Tensor> gathered_;  // row-major copies of strided inputs, made once
};

class ReferenceTactic final : public Tactic {
 public:
  explicit ReferenceTactic(std::string id) : id_(std::move(id)) {}
  std::string_view id() const override { return id_; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    for (const auto& node : problem.body().nodes()) {
      const OpDef* def = OpRegistry::global().find(*node);
      if (!def || !def->evaluate) return node->op + " has no reference";
    }
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<ReferenceKernel>(problem);
  }

 private:
  std::string id_;
};

}  // namespace

std::unique_ptr<Tactic> make_reference_tactic(std::string id) {
  return std::make_unique<ReferenceTactic>(std::move(id));
}

}  // namespace wootz
