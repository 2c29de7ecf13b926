// SPDX-License-Identifier: Apache-2.0
// From a model that fails to the smallest one that still does.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include <wootz/engine.h>

namespace wootz {

struct ReduceOptions {
  /// Whether a model (an ONNX file's bytes) still fails. Called many times; must hold for the whole model.
  std::function<bool(const std::string& onnx_bytes)> still_fails;
  /// Input shapes to cut the model at; others are guessed as for a build.
  std::map<std::string, Dims> shapes;
  /// Keep the weights instead of random numbers of the same spread. Small integer tensors stay in any case:
  /// they are axes, sizes and indices.
  bool keep_weights = false;
  double seconds = 600;  // no new tries after that
  /// After each try: nodes of the smallest so far.
  std::function<void(size_t tries, size_t nodes)> progress;
};

struct ReducedModel {
  std::string onnx_bytes;
  size_t nodes_before = 0, nodes = 0, tries = 0;
  bool has_weights_of_model = false;  // random ones did not fail
};

/// Cuts nodes out (what they computed becomes inputs of the shapes seen in a run of the references), makes
/// inputs smaller, and fills weights with random numbers, as long as `still_fails` says so. Throws
/// Error(kInvalidArgument) where the whole model does not fail; what import throws.
WOOTZ_API ReducedModel reduce(const std::string& onnx_path, const ReduceOptions& options);

}  // namespace wootz
