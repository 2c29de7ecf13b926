// SPDX-License-Identifier: Apache-2.0
#include "ops/fourier.h"

#include <numbers>

namespace wootz {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

/// e^(j pi numerator / denominator), with the angle reduced first so that long signals stay exact.
Complex unit(size_t numerator, size_t denominator) {
  const double angle = std::numbers::pi * static_cast<double>(numerator % (2 * denominator)) /
                       static_cast<double>(denominator);
  return {std::cos(angle), std::sin(angle)};
}

/// Forward transform of a power-of-two length.
void radix2(Signal& x) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    Signal twiddle(half);
    for (size_t k = 0; k < half; ++k) twiddle[k] = std::conj(unit(k, half));
    for (size_t first = 0; first < n; first += 2 * half)
      for (size_t k = 0; k < half; ++k) {
        const Complex odd = x[first + half + k] * twiddle[k];
        x[first + half + k] = x[first + k] - odd;
        x[first + k] += odd;
      }
  }
}

void inverse_radix2(Signal& x) {
  for (Complex& v : x) v = std::conj(v);
  radix2(x);
  for (Complex& v : x) v = std::conj(v) / static_cast<double>(x.size());
}

/// k n = (k^2 + n^2 - (k - n)^2) / 2 turns the sum into a convolution, done with power-of-two transforms.
void bluestein(Signal& x) {
  const size_t n = x.size();
  size_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  Signal chirp(n), a(m), b(m);
  for (size_t k = 0; k < n; ++k) chirp[k] = unit(k * k % (2 * n), n);
  for (size_t k = 0; k < n; ++k) a[k] = x[k] * std::conj(chirp[k]);
  for (size_t k = 0; k < n; ++k) b[k] = b[(m - k) % m] = chirp[k];
  radix2(a);
  radix2(b);
  for (size_t k = 0; k < m; ++k) a[k] *= b[k];
  inverse_radix2(a);
  for (size_t k = 0; k < n; ++k) x[k] = a[k] * std::conj(chirp[k]);
}

}  // namespace

void fourier(Signal& x, bool inverse) {
  const size_t n = x.size();
  if (n < 2) return;
  if (inverse)
    for (Complex& v : x) v = std::conj(v);
  if ((n & (n - 1)) == 0)
    radix2(x);
  else
    bluestein(x);
  if (inverse)
    for (Complex& v : x) v = std::conj(v) / static_cast<double>(n);
}

}  // namespace wootz
