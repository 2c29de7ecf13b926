// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

namespace wootz {

/// Binary labels of least total cost: minimum cut by Dinic's method. Variables are 0..n-1 and take label true
/// (source side) or false (sink side); of several minima the one with the fewest true labels is found.
class MinCut {
 public:
  int add_variable();
  void cost_if_true(int v, double cost);
  void cost_if_false(int v, double cost);
  /// Paid when a is true and b false.
  void cost_if_true_false(int a, int b, double cost);
  std::vector<bool> solve();

  static constexpr double kNever = 1e18;

 private:
  struct Edge {
    int to;
    double capacity;
  };
  void add_edge(int from, int to, double capacity);
  bool layer();
  double push(int node, double flow);

  std::vector<std::vector<int>> out_{{}, {}};  // node -> edges; 0 is the source, 1 the sink
  std::vector<Edge> edges_;                    // an edge and its reverse are 2k and 2k+1
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace wootz
