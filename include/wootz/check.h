// SPDX-License-Identifier: Apache-2.0
// What would come of a model, told before anything is built.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <wootz/engine.h>

namespace wootz {

struct CheckOptions {
  std::string device = "cpu";
  int threads = 0;
  std::map<std::string, Dims> shapes;  // as in BuildOptions
  bool vendor_libraries = true;
};

/// Nodes that no kernel serves: they would run by the reference, which is slow.
struct SlowOperator {
  std::string op;                  // "Det", "ai.onnx.ml.SVMRegressor"
  std::string reason;              // the kernels' refusal, or what is not known before the run
  std::vector<std::string> nodes;  // ONNX nodes
};

struct CheckReport {
  /// Everything that is wrong with the model; empty: it can be built. The kind is kInvalidModel or
  /// kUnsupported.
  std::vector<std::string> problems;
  ErrorKind kind = ErrorKind::kInvalidModel;
  std::vector<SlowOperator> slow;
  std::vector<std::string> notes;  // what the user should know but need not change
  std::vector<TensorInfo> inputs, outputs;
  std::map<std::string, int64_t> opsets;
  size_t nodes = 0, steps = 0;  // of the file after import, and of the plan
};

/// Reads a model without its weights and plans it without timing or packing anything. Throws Error (kIo,
/// kInvalidArgument); what is wrong with the model itself is in the report.
WOOTZ_API CheckReport check(const std::string& onnx_path, const CheckOptions& options = {});

}  // namespace wootz
