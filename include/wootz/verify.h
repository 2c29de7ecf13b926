// SPDX-License-Identifier: Apache-2.0
// Where an engine's error comes from: region by region, and node by node of its model.
#pragma once
#include <string>
#include <vector>

#include <wootz/builder.h>

namespace wootz {

/// Errors are relative to the largest magnitude of the tensor; below 0: not known.
struct RegionError {
  size_t step = 0;
  std::string region, tactic;
  std::vector<std::string> nodes;  // of the model
  std::string output;
  double own = -1;        // against the references on the region's own inputs, at up to 256 elements
  double inherited = -1;  // of these references against the model: what the inputs brought
  double total = -1;      // against the model, over all elements; below 0: the model has no such tensor
  double bound = 0;       // of `own`
  bool passed = true;
  std::string failure;  // element, expected, found
};

/// A node of the model. The engine that is judged has a value of its own only at the end of a region; an
/// engine that fuses nothing has one for every node.
struct NodeError {
  std::string node, op, output;
  int64_t step = -1;                              // the region that computes it; -1: folded away
  double fused = -1;                              // total error in the engine; below 0: inside of the region
  // In the engine that fuses nothing: its result against the node as the model states it, on the engine's own inputs; that
  // against the model; and both together.
  double own = -1, inherited = -1, unfused = -1;
  double other = -1;                              // total error on the other device
};

struct VerifyReport {
  std::vector<OutputComparison> outputs;  // against the model
  std::vector<RegionError> regions;       // an entry an output
  std::vector<NodeError> nodes;           // none without a model
  std::vector<std::string> notes;
  bool passed = true;
};

struct VerifyOptions {
  std::string model;         // the .onnx file; empty: the engine's own graph by the references is the judge
  NamedData inputs;          // empty: random ones, of the tuned shapes, at most two rows
  bool unfused = true;       // with a model: the errors of an engine that fuses nothing too
  std::string other_device;  // with a model: and of one on this device ("cpu", "cuda"); empty: none
  BuildOptions build;        // of these two engines
};

/// Throws Error: kInvalidArgument (inputs that the model does not take), and what build() throws.
WOOTZ_API VerifyReport verify(const Engine& engine, const VerifyOptions& options);

}  // namespace wootz
