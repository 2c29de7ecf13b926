// SPDX-License-Identifier: Apache-2.0
namespace wz {

/// Up to four elements along one axis of `size` around a coordinate in [-1, 1], and their weights; index -1 is zero
/// padding. kind: 0 nearest, 1 linear, 2 cubic; padding: 0 zeros, 1 border, 2 reflection.
struct GridTaps {
  int count = 0;
  int index[4];
  float weight[4];

  WZ_FN GridTaps(float n, int size, int kind, int padding, bool align) {
    const float length = static_cast<float>(size);
    float x = align ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    if (!(x > -1e9f)) x = -1e9f;
    if (x > 1e9f) x = 1e9f;
    const float base = ::floorf(x), fraction = x - base;
    const int first = static_cast<int>(base);
    if (kind == 0) {
      put(static_cast<int>(::rintf(x)), 1, size, padding, align);
    } else if (kind == 1) {
      put(first, 1 - fraction, size, padding, align);
      put(first + 1, fraction, size, padding, align);
    } else {
      for (int i = -1; i <= 2; ++i) put(first + i, cubic(fraction - static_cast<float>(i)), size, padding, align);
    }
  }

 private:
  WZ_FN void put(int i, float w, int size, int padding, bool align) {
    index[count] = padded(i, size, padding, align);
    weight[count++] = w;
  }
  static WZ_FN float cubic(float distance) {
    constexpr float a = -0.75f;
    const float t = ::fabsf(distance);
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  }
  static WZ_FN int padded(int i, int size, int padding, bool align) {
    if (i >= 0 && i < size) return i;
    if (padding == 0) return -1;
    if (padding == 1) return i < 0 ? 0 : size - 1;
    if (size == 1) return 0;
    const int period = align ? 2 * (size - 1) : 2 * size;
    i = (i % period + period) % period;
    if (i < size) return i;
    return align ? period - i : period - 1 - i;
  }
};

}  // namespace wz
