// SPDX-License-Identifier: Apache-2.0
// The cases that dump_node_tests.py wrote: their values, and how results are held against them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace wootz::conformance {

std::vector<std::byte> read_bytes(const std::filesystem::path& path);

/// `prefix`0, `prefix`1, ... of a data set.
std::vector<Datum> read_values(const std::filesystem::path& folder, const std::string& prefix);

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};
Tolerance read_tolerance(const std::filesystem::path& folder);

/// What a case asks for beside its outputs: see dump_bug_cases.py. Cases without policy.txt are strict.
struct Policy {
  bool may_fail = false, must_fail = false;
  bool repeated_rows = false;      // rows of the outputs' first dimension are equal to the bit
  std::vector<std::string> marks;  // inner tensors that become outputs too
};
Policy read_policy(const std::filesystem::path& folder);

/// Empty where both halves of every output's first dimension are the same.
std::string compare_rows(const std::vector<Datum>& found);

/// Empty where the result is as expected; otherwise what differs.
std::string compare(const Datum& found, const Datum& expected, const Tolerance& tolerance);

/// An optional input of the model is given as its tensor or sequence where the graph declares no optional.
void unwrap_optionals(const Graph& graph, std::vector<Datum>& inputs);

}  // namespace wootz::conformance
