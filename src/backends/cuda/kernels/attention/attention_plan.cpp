// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/attention/attention_plan.h"

#include <algorithm>
#include <numbers>

#include "backends/cuda/codegen/main_view.h"

namespace wootz {
namespace {

constexpr int64_t kMostSplitBlocks = 2048;
constexpr const char* kTilesHeader = "attention/attention_tiles.cuh";

struct Reading {
  std::optional<MainView> view;
  std::string refusal, constants;  // members of struct P
  int64_t heads = 0;               // batch * heads
};

void add_strides(std::string& text, const char* name, const Dims& strides) {
  for (size_t d = 0; d < 4; ++d)
    text += "static constexpr i64 k" + std::string(name) + std::to_string(d) + " = " +
            std::to_string(strides[d]) + ";\n";
}

Reading read(const Problem& problem) {
  Reading r;
  r.view = MainView::of(problem, {"Attention"});
  if (!r.view || r.view->node().domain != kRegionDomain || r.view->has_tail())
    return r.refusal = "not one wootz.Attention", r;
  const MainView& view = *r.view;
  const TensorDesc &q = view.input(0), &k = view.input(1), &v = view.input(2), &y = *view.output(0);
  if (!is_float(q.dtype)) return r.refusal = "data of dtype " + std::string(dtype_name(q.dtype)), r;
  if (q.dims[1] % std::max<int64_t>(k.dims[1], 1) != 0 || q.dims[0] != k.dims[0])
    return r.refusal = "heads that keys do not divide", r;
  const Attributes& a = view.node().attributes;
  const bool has_mask = view.has_input(3);
  Dims mask(4, 0);
  int64_t mask_batch = 1;
  if (has_mask) {
    const Dims& m = view.input(3).dims;
    if (m.size() == 4) mask_batch = std::max<int64_t>(m[0], 1);
    if (q.dims[0] % mask_batch != 0) return r.refusal = "masks that batches do not repeat", r;
    const auto strides = broadcast_to(m, view.strides(3), {mask_batch, q.dims[1], q.dims[2], k.dims[2]});
    if (!strides) return r.refusal = "a mask that does not broadcast to the scores", r;
    mask = *strides;
  }
  const auto number = [](const char* name, int64_t value) {
    return "static constexpr int k" + std::string(name) + " = " + std::to_string(value) + ";\n";
  };
  const auto scale = static_cast<double>(a.get<float>("scale", 1.0f));
  std::string& t = r.constants;
  t = "using T = " + std::string(memory_type(q.dtype)) +
      ";\nusing F = " + std::string(register_type(q.dtype)) +
      ";\nusing Mask = " + std::string(has_mask ? memory_type(view.input(3).dtype) : "float") + ";\n";
  t += number("IsBFloat", q.dtype == DType::kBFloat16) + number("Batch", q.dims[0]) +
       number("Heads", q.dims[1]) + number("Group", q.dims[1] / std::max<int64_t>(k.dims[1], 1)) +
       number("Queries", q.dims[2]) + number("Keys", k.dims[2]) + number("Size", q.dims[3]) +
       number("ValueSize", v.dims[3]) + number("HasMask", has_mask) + number("MaskBatch", mask_batch) +
       number("PositiveScale", scale > 0) + number("Causal", a.get<int64_t>("is_causal", 0) != 0);
  t += "static WZ_FN float scale() { return " +
       register_literal(DType::kFloat32, scale * std::numbers::log2e) + "; }\n";
  t += "static WZ_FN float plain_scale() { return " + register_literal(DType::kFloat32, scale) + "; }\n";
  add_strides(t, "Q", view.strides(0));
  add_strides(t, "K", view.strides(1));
  add_strides(t, "V", view.strides(2));
  add_strides(t, "Y", y.strides);
  add_strides(t, "M", mask);
  r.heads = q.dims[0] * q.dims[1];
  return r;
}

PlannedLaunch write(const Reading& r, const char* header, const std::string& constants,
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
  const Reading r = read(problem);
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
  const Reading r = read(problem);
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
  const Reading r = read(problem);
  if (!r.refusal.empty()) return LaunchPlan::refuse(r.refusal);
  if (r.view->input(2).dims[3] > 512) return LaunchPlan::refuse("heads of more than 512 elements");
  LaunchPlan plan;
  if (r.view->output(0)->size() == 0) return plan;
  const int64_t jobs = r.heads * r.view->input(0).dims[2];
  plan.launches.push_back(
      write(r, kTilesHeader, "", "AttentionWarps", static_cast<uint64_t>((jobs + 7) / 8), 256));
  return plan;
}

}  // namespace wootz
