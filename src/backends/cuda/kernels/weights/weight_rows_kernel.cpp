// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/weights/weight_rows_kernel.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/gemm/tail_source.h"

namespace wootz {
namespace {

constexpr int64_t kMostRowsOfA = 16, kColumnsOfTile = 16, kMostTileWarps = 16;  // tiles times warps

bool uses_matrix_unit(const CudaTarget& target, const Contraction& c) {
  return c.element != DType::kFloat32 && target.arch.at_least(80);
}

/// Relative: waves of 16 warps a multiprocessor; what a warp reads of the weights and of A in each chunk.
double rows_cost(const CudaTarget& target, const Contraction& c, const WeightRowsForm& form, int64_t tiles,
                 int64_t warps) {
  const double blocks = std::ceil(double(c.n) / double(kColumnsOfTile * tiles));
  const double waves = std::max(1.0, blocks * double(warps) / (16.0 * target.multiprocessors));
  const double chunks = std::ceil(double(c.k) / double(form.chunk * warps));
  const double rows = double(form.chunk * c.rows() * static_cast<int64_t>(dtype_size(c.element)));
  return waves * chunks * (512.0 * double(tiles) + 0.5 * rows + 256);
}

}  // namespace

std::optional<std::string> weight_rows_refusal(const Contraction& c) {
  if (c.is_convolution || c.matrices() != 1 || c.rows() > kMostRowsOfA) return "more than 16 rows";
  if (!c.a_pitch()) return "rows that are not evenly spaced or have gaps";
  if (c.element != DType::kFloat32 && c.element != DType::kFloat16 && c.element != DType::kBFloat16)
    return "rows of type " + std::string(dtype_name(c.element)) + ", expected floats of 16 or 32 bits";
  return TailSource::refusal(c);
}

std::vector<TacticConfig> weight_rows_configs(const CudaTarget& target, const Contraction& c,
                                              const WeightRowsForm& form) {
  std::vector<std::pair<double, TacticConfig>> rated;
  for (int64_t tiles : {1, 2, 4})
    for (int64_t warps : {4, 8, 16})
      if (tiles * warps <= kMostTileWarps)
        rated.emplace_back(rows_cost(target, c, form, tiles, warps),
                           TacticConfig{{{"tiles", tiles}, {"warps", warps}}});
  std::stable_sort(rated.begin(), rated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr size_t kMost = 5;
  std::vector<TacticConfig> list;
  for (size_t i = 0; i < std::min(kMost, rated.size()); ++i) list.push_back(std::move(rated[i].second));
  return list;
}

std::unique_ptr<Kernel> make_weight_rows(const CudaTarget& target, const Problem& problem,
                                         const Contraction& c, const WeightRowsForm& form,
                                         const TacticConfig& config, const Packed& packed) {
  const TailSource tail(c, {});
  const int64_t tiles = config.get("tiles"), warps = config.get("warps"), pitch = *c.a_pitch();
  std::string text = tail.text();
  define(text, "ROWS", c.rows()), define(text, "K", c.k), define(text, "FORM", form.form);
  define(text, "BLOCK", form.block), define(text, "TILES", tiles), define(text, "WARPS", warps);
  define(text, "HAS_ZEROS", form.has_zeros), define(text, "ZERO", form.zero);
  define(text, "USE_MMA", uses_matrix_unit(target, c)), define(text, "A_VECTORS", pitch % 4 == 0);
  CudaGeometry geometry;
  geometry.grid.x = static_cast<unsigned>((c.n + kColumnsOfTile * tiles - 1) / (kColumnsOfTile * tiles));
  geometry.block.x = static_cast<unsigned>(32 * warps);
  geometry.early_start = target.arch.at_least(90);
  auto kernel = std::make_unique<CudaKernel>(target, problem);
  CudaLaunch& launch = kernel->add(make_cuda_source("weights/weight_rows.cu", text), "weight_rows", geometry);
  launch.input(static_cast<size_t>(c.a_input)).constant(packed.at(0));
  size_t next = 1;
  const auto add = [&](bool has) {
    if (has)
      launch.constant(packed.at(next++));
    else
      launch.null();
  };
  add(c.few_bits.has_value());
  add(form.has_zeros || form.has_places);
  tail.add_parameters(launch.value(pitch));
  return kernel;
}

}  // namespace wootz
