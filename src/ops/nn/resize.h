// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/attribute.h"

namespace wootz {

struct ResizeAttributes {
  std::string mode = "nearest";  // nearest, linear, cubic
  std::string coordinate_transformation_mode = "half_pixel";
  std::string nearest_mode = "round_prefer_floor";  // opset_10: ceil where the axis shrinks, else floor
  std::string keep_aspect_ratio_policy = "stretch";
  Ints axes;  // empty: all
  float cubic_coeff_a = -0.75f, extrapolation_value = 0;
  int64_t exclude_outside = 0, antialias = 0;
  template <class V>
  void reflect(V& v) {
    v("mode", mode);
    v("coordinate_transformation_mode", coordinate_transformation_mode);
    v("nearest_mode", nearest_mode);
    v("keep_aspect_ratio_policy", keep_aspect_ratio_policy);
    v("axes", axes);
    v("cubic_coeff_a", cubic_coeff_a);
    v("extrapolation_value", extrapolation_value);
    v("exclude_outside", exclude_outside);
    v("antialias", antialias);
  }
};

/// One axis of a Resize: output length, the scale of its coordinates, and its region of interest.
struct ResizeAxis {
  int64_t input = 0, output = 0;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

/// Every axis of a Resize with data dims `x`; `scales`, `sizes` and `roi` are the inputs' elements (empty:
/// not given). kInvalidModel for lists of wrong lengths or not exactly one of scales and sizes.
std::vector<ResizeAxis> resize_axes(const ResizeAttributes& attributes, std::span<const int64_t> x,
                                    std::span<const float> scales, std::span<const int64_t> sizes,
                                    std::span<const double> roi);

/// How the outputs along one axis are made: output o is the sum over t < taps of weight[o * taps + t] *
/// input[index[o * taps + t]], indices clamped into the input. `outside[o]`: the output is
/// extrapolation_value instead.
struct ResizeTaps {
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside;
  bool is_identity = false;
};
ResizeTaps resize_taps(const ResizeAttributes& attributes, const ResizeAxis& axis);

}  // namespace wootz
