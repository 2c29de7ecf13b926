// SPDX-License-Identifier: Apache-2.0
// A graph as JSON. Large tensors are numbers in a blob list, so that the file can map them.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "engine/json.h"

#include "engine/json.h"
#include "ir/graph.h"

namespace wootz {

/// The blobs of one engine: tensors by number, each stored once.
class BlobList {
 public:
  int add(const Tensor& tensor);
  const std::vector<Tensor>& tensors() const { return tensors_; }
  void set(std::vector<Tensor> tensors) { tensors_ = std::move(tensors); }
  const Tensor& at(int64_t number) const;  // Error(kInvalidEngine) where there is none

 private:
  std::vector<Tensor> tensors_;
};

Json json_from_graph(const Graph& graph, BlobList& blobs);
/// Throws Error(kInvalidEngine) on anything out of place; the graph returned passes verify_graph.
std::unique_ptr<Graph> graph_from_json(const Json& json, const BlobList& blobs);

}  // namespace wootz
