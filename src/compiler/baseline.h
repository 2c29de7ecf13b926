// SPDX-License-Identifier: Apache-2.0
// The imported graph as judge: run node by node by the references, before any pass touched it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "ir/graph.h"

namespace wootz {

/// Runs the untouched graph. Convolutions and matrix products above a size are computed in float32 on all
/// threads and held against their references on sampled elements; everything else is the reference itself.
class Baseline {
 public:
  Baseline(std::shared_ptr<const Graph> imported, int threads)
      : graph_(std::move(imported)), pool_(ThreadPool::shared(threads)) {}

  /// Throws Error(kInternal) when a quick result leaves its reference. `visit` sees every value that is
  /// computed.
  std::vector<Datum> run(std::span<const Datum> inputs,
                         std::function<void(const Value*, const Datum&)> visit = {}) const;
  const Graph& graph() const { return *graph_; }

 private:
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace wootz
