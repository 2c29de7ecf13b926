// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample_data.h"

namespace wootz {

/// Samples that every recurrent operator understands: `gates` gates, `outputs` outputs.
inline std::vector<Sample> recurrent_samples(int64_t gates, int outputs) {
  const auto inputs = [gates](Dims x, int64_t directions, int64_t hidden, DType t = DType::kFloat32) {
    const int64_t depth = x[2];
    return std::vector<Datum>{sample_floats(std::move(x), 1, t),
                              sample_floats({directions, gates * hidden, depth}, 2, t),
                              sample_floats({directions, gates * hidden, hidden}, 3, t),
                              sample_floats({directions, 2 * gates * hidden}, 4, t)};
  };
  const std::pair<const char*, Attribute> both{"direction", string_attribute("bidirectional")};
  std::vector<Sample> s;
  s.push_back(
      {"forward", inputs({5, 2, 3}, 1, 4), sample_attributes({{"hidden_size", int_attribute(4)}}), outputs});
  s.push_back({"reverse", inputs({5, 2, 3}, 1, 4),
               sample_attributes({{"direction", string_attribute("reverse")}}), outputs});
  s.push_back({"bidirectional", inputs({4, 1, 3}, 2, 5), sample_attributes({both}), outputs});
  s.push_back({"batch first", inputs({2, 5, 3}, 2, 4),
               sample_attributes({both, {"layout", int_attribute(1)}}), outputs});
  auto lengths = inputs({5, 3, 2}, 2, 3);
  lengths.push_back(sample_tensor(DType::kInt32, {3}, {5, 1, 3}));
  s.push_back({"sequence lengths", lengths, sample_attributes({both}), outputs});
  auto state = inputs({3, 2, 2}, 1, 3);
  state.push_back({});
  state.push_back(sample_floats({1, 2, 3}, 5));
  s.push_back({"initial state, clip", state, sample_attributes({{"clip", float_attribute(0.4f)}}), outputs});
  s.push_back(
      {"no bias",
       {sample_floats({2, 1, 3}), sample_floats({1, gates * 2, 3}, 2), sample_floats({1, gates * 2, 2}, 3)},
       {},
       outputs});
  s.push_back({"one step, hidden size 1", inputs({1, 1, 2}, 1, 1), {}, outputs});
  s.push_back({"no steps", inputs({0, 1, 2}, 1, 3), {}, outputs});
  s.push_back({"float16", inputs({3, 2, 4}, 1, 3, DType::kFloat16), {}, outputs});
  return s;
}

}  // namespace wootz
