// SPDX-License-Identifier: Apache-2.0
// Random legal graphs. Every operator's samples are the seeds: their dims, types and attributes are changed
// at random, and what inference or the reference refuses is thrown away.
#pragma once
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/op.h"

namespace wootz::random_graphs {

struct MadeGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Datum> inputs;  // of the graph
};

struct MakerOptions {
  uint64_t seed = 1;
  std::string op;         // this operator only, and pointwise ones around it; empty: all
  bool has_peer = false;  // only what an ONNX file of opset 23 can hold, for ONNX Runtime
  bool symbolic = false;  // the inputs' dims become symbols
};

/// One graph of 1 to about 12 nodes. Its operators are counted in `reached`.
MadeGraph make_graph(const MakerOptions& options, std::map<std::string, int64_t>& reached);

/// The graph again with a symbol for each dimension of its inputs, all else inferred anew.
std::unique_ptr<Graph> with_symbolic_dims(const Graph& graph);

}  // namespace wootz::random_graphs
