// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <complex>
#include <vector>

namespace wootz {

/// x <- its discrete Fourier transform, sum over n of x[n] e^(-2 pi j k n / N), or with `inverse` the
/// conjugate sum divided by N. Any length: radix 2 where it is a power of two, Bluestein's chirp transform
/// otherwise.
void fourier(std::vector<std::complex<double>>& x, bool inverse);

}  // namespace wootz
