// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/attention/attention_problem.h"

#include <algorithm>
#include <numbers>

namespace wootz {
namespace {

void add_strides(std::string& text, const char* name, const Dims& strides) {
  for (size_t d = 0; d < 4; ++d)
    text += "static constexpr i64 k" + std::string(name) + std::to_string(d) + " = " +
            std::to_string(strides[d]) + ";\n";
}

}  // namespace

AttentionProblem AttentionProblem::read(const Problem& problem) {
  AttentionProblem r;
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
  const bool is_nan = a.get<int64_t>("nan_if_empty", 0) != 0 && k.dims[2] > 0;
  t += "static WZ_FN float empty_row() { return wz::float_of_bits(" +
       std::string(is_nan ? "0x7fc00000u" : "0u") + "); }\n";
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

}  // namespace wootz
