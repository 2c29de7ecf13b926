// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/attention/attention_plan.h"

#include <algorithm>

#include "backends/cuda/kernels/attention/attention_problem.h"

namespace wootz {
namespace {

constexpr int64_t kMostSplitBlocks = 2048;
constexpr const char* kTilesHeader = "attention/attention_tiles.cuh";

PlannedLaunch write(const AttentionProblem& r, const char* header, const std::string& constants,
                    const std::string& name, uint64_t grid, uint32_t threads, int at_once = 0) {
  const MainView& view = *r.view;
  KernelWriter w(view.problem());
  w.header("attention/attention_scores.cuh");
  w.header(header);
  w.before() = "struct P {\n" + r.constants + constants + "};\n";
  const std::string q = w.input(view.input_index(0)), k = w.input(view.input_index(1)),
                    v = w.input(view.input_index(2)),
                    mask = view.has_input(3) ? w.input(view.input_index(3))
                                             : "static_cast<const float*>(nullptr)";
  const std::string y = w.output(view.output_index(0));
  w << "wz::" << name << "<P>::run(" << q << ", " << k << ", " << v << ", " << mask << ", " << y << ");\n";
  return std::move(w).finish("attention", grid, threads, at_once);
}

}  // namespace

LaunchPlan plan_attention_tiles(const Problem& problem, const TacticConfig& config) {
  const AttentionProblem r = AttentionProblem::read(problem);
  if (!r.refusal.empty()) return LaunchPlan::refuse(r.refusal);
  const TensorDesc &q = r.view->input(0), &v = r.view->input(2);
  if (q.dtype != DType::kFloat16 && q.dtype != DType::kBFloat16)
    return LaunchPlan::refuse("elements that have not 16 bits");
  if (q.dims[3] > 128 || v.dims[3] > 128) return LaunchPlan::refuse("heads of more than 128 elements");
  LaunchPlan plan;
  const int64_t queries = q.dims[2];
  if (r.view->output(0)->size() == 0) return plan;
  int64_t warps = config.get("warps", 0);
  if (warps == 0)
    for (warps = 4; warps > 1 && r.heads * ((queries + 16 * warps - 1) / (16 * warps)) < 132;) warps /= 2;
  const int64_t blocks = (queries + 16 * warps - 1) / (16 * warps);
  const bool small =
      q.dims[3] <= 64 && v.dims[3] <= 64;  // 128 registers hold a warp's tile: 16 warps at once
  plan.launches.push_back(write(r, kTilesHeader,
                                "static constexpr int kWarps = " + std::to_string(warps) + ";\n",
                                "AttentionTiles", static_cast<uint64_t>(r.heads * blocks),
                                static_cast<uint32_t>(32 * warps), small ? static_cast<int>(16 / warps) : 0));
  return plan;
}

LaunchPlan plan_attention_split(const Problem& problem, const TacticConfig& config) {
  const AttentionProblem r = AttentionProblem::read(problem);
  if (!r.refusal.empty()) return LaunchPlan::refuse(r.refusal);
  const TensorDesc &q = r.view->input(0), &k = r.view->input(1), &v = r.view->input(2);
  if (q.dtype != DType::kFloat16 && q.dtype != DType::kBFloat16)
    return LaunchPlan::refuse("elements that have not 16 bits");
  if (q.dims[3] > 128 || v.dims[3] > 128) return LaunchPlan::refuse("heads of more than 128 elements");
  // Each block reads all keys for 16 queries: more blocks than run at once only read them more often.
  const int64_t blocks = r.heads * ((q.dims[2] + 15) / 16), keys = k.dims[2];
  if (blocks > kMostSplitBlocks) return LaunchPlan::refuse("queries enough to fill a GPU in larger tiles");
  LaunchPlan plan;
  if (r.view->output(0)->size() == 0) return plan;
  // Values and sums of all warps have to fit into 48 KB.
  const int64_t pitch = (v.dims[3] + 15) / 16 * 16 + 8, most = (47 << 10) / (16 * pitch * 4);
  const int64_t warps =
      std::clamp<int64_t>(std::min(config.get("warps", 8), (keys + 31) / 32), 1, std::min<int64_t>(most, 8));
  plan.launches.push_back(write(
      r, "attention/attention_split.cuh", "static constexpr int kWarps = " + std::to_string(warps) + ";\n",
      "AttentionSplit", static_cast<uint64_t>(blocks), static_cast<uint32_t>(32 * warps)));
  return plan;
}

LaunchPlan plan_attention_warps(const Problem& problem, const TacticConfig&) {
  const AttentionProblem r = AttentionProblem::read(problem);
  if (!r.refusal.empty()) return LaunchPlan::refuse(r.refusal);
  if (r.view->input(2).dims[3] > 512) return LaunchPlan::refuse("heads of more than 512 elements");
  LaunchPlan plan;
  if (r.view->output(0)->size() == 0) return plan;
  const int64_t jobs = r.heads * r.view->input(0).dims[2];
  plan.launches.push_back(
      write(r, kTilesHeader, "", "AttentionWarps", static_cast<uint64_t>((jobs + 7) / 8), 256));
  return plan;
}

LaunchPlan plan_attention_floats(const Problem& problem, const TacticConfig& config) {
  const AttentionProblem r = AttentionProblem::read(problem);
  if (!r.refusal.empty()) return LaunchPlan::refuse(r.refusal);
  const TensorDesc &q = r.view->input(0), &v = r.view->input(2);
  if (q.dtype != DType::kFloat32) return LaunchPlan::refuse("elements other than float32");
  const int64_t size = q.dims[3], value_size = v.dims[3];
  if (size > 128 || value_size > 128) return LaunchPlan::refuse("heads of more than 128 elements");
  LaunchPlan plan;
  if (r.view->output(0)->size() == 0) return plan;
  const auto blocks = [&](int64_t rows) { return (q.dims[2] + rows - 1) / rows; };
  int64_t rows = config.get("rows", 0), tile = 32;
  if (rows == 0)
    for (rows = 64; rows > 16 && r.heads * blocks(rows) < 132;) rows /= 2;
  const auto floats = [&] {
    const int64_t pitch = (size + 31) / 32 * 32 + 4, value_pitch = (value_size + 31) / 32 * 32;
    return rows * (pitch + tile + 4) + tile * (pitch + value_pitch);
  };
  while (floats() * 4 > (48 << 10)) rows > 32 ? rows /= 2 : tile /= 2;
  plan.launches.push_back(write(
      r, "attention/attention_floats.cuh",
      "static constexpr int kRows = " + std::to_string(rows) + ", kTile = " + std::to_string(tile) + ";\n",
      "AttentionFloats", static_cast<uint64_t>(r.heads * blocks(rows)), 128));
  return plan;
}

}  // namespace wootz
