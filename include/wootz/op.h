// SPDX-License-Identifier: Apache-2.0
// Operators of the caller's own: what a custom domain of a model means, and how to compute it fast.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <wootz/engine.h>

namespace wootz {

using OpAttribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                 std::vector<float>, std::vector<std::string>>;
/// Those that the node states; defaults are the operator's own business.
using OpAttributes = std::map<std::string, OpAttribute>;

/// A fast way to compute a user's operator on the CPU. It is held against the operator's evaluate before it
/// may run, and raced like any other kernel. Tensors are row-major; an input that the node leaves out is
/// undefined.
struct OpKernel {
  std::string name;  // the tactic's id is "user.<domain>.<operator>.<name>"
  int version = 1;   // a new one invalidates cached timings
  /// Why it does not take these operands (all dims are numbers); empty text: it does. Absent: it takes all.
  std::function<std::string(std::span<const TensorInfo> inputs, const OpAttributes&)> refusal;
  /// Fills the outputs, on the calling thread. An exception fails the run.
  std::function<void(std::span<const Tensor> inputs, std::span<Tensor> outputs, const OpAttributes&)> run;
};

struct UserOp {
  std::string domain;  // not empty
  std::string name;
  std::string doc;
  int min_inputs = 1, max_inputs = 1;  // -1: any number
  int outputs = 1;
  std::vector<std::string> attributes;  // the names that a node may state
  /// The shape function: types of the outputs. A dimension is a number or an expression over those of the
  /// inputs, e.g. "2*n + 1"; "?" where only the run can tell. Inputs that are left out have no dtype.
  std::function<std::vector<TensorInfo>(std::span<const TensorInfo> inputs, const OpAttributes&)> infer;
  /// The reference: what the operator means. Inputs that are left out are undefined tensors.
  std::function<std::vector<Tensor>(std::span<const Tensor> inputs, const OpAttributes&)> evaluate;
  std::vector<OpKernel> kernels;  // best guess first
};

/// Adds an operator to this process. Do so before any model or engine that uses it is read, and from one
/// thread. Throws Error(kInvalidArgument): a domain, name or function is missing, or the operator is there
/// already.
WOOTZ_API void add_op(UserOp op);

}  // namespace wootz
