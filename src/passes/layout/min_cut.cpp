// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/min_cut.h"

#include <algorithm>
#include <queue>

namespace wootz {
namespace {

constexpr int kSource = 0, kSink = 1;
constexpr double kTiny = 1e-15;  // seconds; less is rounding

}  // namespace

int MinCut::add_variable() {
  out_.emplace_back();
  return static_cast<int>(out_.size()) - 3;
}

void MinCut::cost_if_true(int v, double cost) { add_edge(v + 2, kSink, cost); }
void MinCut::cost_if_false(int v, double cost) { add_edge(kSource, v + 2, cost); }
void MinCut::cost_if_true_false(int a, int b, double cost) { add_edge(a + 2, b + 2, cost); }

void MinCut::add_edge(int from, int to, double capacity) {
  if (capacity <= 0) return;
  out_[size_t(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  out_[size_t(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::layer() {
  level_.assign(out_.size(), -1);
  level_[kSource] = 0;
  std::queue<int> work;
  work.push(kSource);
  while (!work.empty()) {
    const int n = work.front();
    work.pop();
    for (int e : out_[size_t(n)]) {
      const Edge& edge = edges_[size_t(e)];
      if (edge.capacity <= kTiny || level_[size_t(edge.to)] >= 0) continue;
      level_[size_t(edge.to)] = level_[size_t(n)] + 1;
      work.push(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

double MinCut::push(int node, double flow) {
  if (node == kSink) return flow;
  for (size_t& i = next_[size_t(node)]; i < out_[size_t(node)].size(); ++i) {
    const int e = out_[size_t(node)][i];
    Edge& edge = edges_[size_t(e)];
    if (edge.capacity <= kTiny || level_[size_t(edge.to)] != level_[size_t(node)] + 1) continue;
    const double pushed = push(edge.to, std::min(flow, edge.capacity));
    if (pushed <= kTiny) continue;
    edge.capacity -= pushed;
    edges_[size_t(e ^ 1)].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::solve() {
  while (layer()) {
    next_.assign(out_.size(), 0);
    while (push(kSource, kNever) > kTiny) {
    }
  }
  // The last layering reached what the source side of the least cut is.
  std::vector<bool> labels;
  for (size_t n = 2; n < out_.size(); ++n) labels.push_back(level_[n] >= 0);
  return labels;
}

}  // namespace wootz
