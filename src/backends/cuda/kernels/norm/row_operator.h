// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/codegen/main_view.h"

namespace wootz {

/// One pass over a row: every element `v` (with its place `e`) is folded, then a statement makes a statistic
/// of `acc`.
struct RowPhase {
  std::string fold;       // "wz::SumFold<A>"
  std::string element;    // expression over v that is folded
  std::string statistic;  // statement over acc
  std::string replace;    // expression over v that later phases may use instead where v is held; empty: v
};

/// An operator whose results have the data's shape and depend on whole rows: softmax and norms. Dims may be
/// those of the data with one split in two.
struct RowOperator {
  Dims dims;
  std::vector<bool> reduced;
  Dims data_strides, result_strides;
  std::vector<Dims> tail_strides;
  /// Scale, then bias, where there.
  struct Parameter {
    size_t input;
    Dims strides;
  };
  std::vector<Parameter> parameters;
  std::vector<RowPhase> phases;
  std::string result;       // expression over v, the statistics, p0 and p1
  std::string held_result;  // where phases replaced v
  /// LayerNormalization's optional outputs: position in the problem and expression, one element a row.
  std::vector<std::pair<size_t, std::string>> row_outputs;
};

/// The operator of a region, or the reason why there is none.
std::optional<RowOperator> read_row_operator(const MainView& view, std::string& refusal);

}  // namespace wootz
