// SPDX-License-Identifier: Apache-2.0
namespace wz {

/// Bilinear neighbours of a point in a plane of height x width; count 0 where it lies outside.
struct RoiCorners {
  int count = 0;
  int row[4], column[4];
  float weight[4];

  /// In double, since whether a point lies outside must not hang on a rounding.
  WZ_FN RoiCorners(double y, double x, int height, int width) {
    if (!(y >= -1 && y <= height && x >= -1 && x <= width)) return;
    count = 4;
    int y0, y1, x0, x1;
    const float fy = neighbours(y, height, y0, y1), fx = neighbours(x, width, x0, x1);
    row[0] = row[1] = y0, row[2] = row[3] = y1;
    column[0] = column[2] = x0, column[1] = column[3] = x1;
    weight[0] = (1 - fy) * (1 - fx), weight[1] = (1 - fy) * fx, weight[2] = fy * (1 - fx), weight[3] = fy * fx;
  }

 private:
  static WZ_FN float neighbours(double v, int size, int& low, int& high) {
    v = v > 0 ? v : 0;
    low = static_cast<int>(v) < size - 1 ? static_cast<int>(v) : size - 1;
    high = low + 1 < size - 1 ? low + 1 : size - 1;
    return low == high ? 0.0f : static_cast<float>(v - low);
  }
};

/// First and last pixel (exclusive) of bin i of `bins` of a region from `start` to `end`.
WZ_FN void roi_range(float start, float end, int i, int bins, int size, int& low, int& high) {
  const float length = (end - start + 1 > 1 ? end - start + 1 : 1.0f) / static_cast<float>(bins), limit = static_cast<float>(size);
  const float a = start + ::floorf(static_cast<float>(i) * length), b = start + ::ceilf(static_cast<float>(i + 1) * length);
  low = static_cast<int>(a < 0 ? 0.0f : a > limit ? limit : a);
  high = static_cast<int>(b < 0 ? 0.0f : b > limit ? limit : b);
}

}  // namespace wz
