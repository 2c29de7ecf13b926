// SPDX-License-Identifier: Apache-2.0
#include "compiler/similarity.h"

#include <cmath>
#include <limits>

namespace wootz {

Similarity similarity_of(const Datum& expected, const Datum& found) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Tensor &e = expected.tensor, &f = found.tensor;
  if (!e.is_defined() || !f.is_defined() || !is_float(e.dtype()) || !is_float(f.dtype()) ||
      e.dims() != f.dims())
    return {kNaN, kNaN};
  const std::vector<double> want = e.to_doubles(), got = f.to_doubles();
  double signal = 0, noise = 0, product = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    signal += want[i] * want[i];
    power += got[i] * got[i];
    product += want[i] * got[i];
    if (want[i] != got[i]) noise += (want[i] - got[i]) * (want[i] - got[i]);
  }
  if (noise == 0) return {std::numeric_limits<double>::infinity(), 1};
  return {10 * std::log10(signal / noise), product / std::sqrt(signal * power)};
}

}  // namespace wootz
