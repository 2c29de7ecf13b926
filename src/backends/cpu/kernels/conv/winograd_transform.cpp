// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/conv/winograd_transform.h"

#include <cmath>

#include "base/error.h"

namespace wootz {

extern const WinogradTransforms winograd_transforms_avx512;
extern const WinogradTransforms winograd_transforms_avx2;
extern const WinogradTransforms winograd_transforms_portable;

const WinogradTransforms& winograd_transforms(Isa isa) {
  if (!isa_available(isa))
    throw Error(ErrorKind::kDevice, "this processor lacks the instruction set of the chosen kernel");
  switch (isa) {
    case Isa::kAvx512: return winograd_transforms_avx512;
    case Isa::kAvx2: return winograd_transforms_avx2;
    default: return winograd_transforms_portable;
  }
}

namespace {

/// The rows of G: evaluation of a kernel polynomial at the points, divided by the Lagrange denominators.
void kernel_matrix(int m, double g[6][3]) {
  if (m == 2) {
    constexpr double rows[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
    for (int i = 0; i < 4; ++i)
      for (int e = 0; e < 3; ++e) g[i][e] = rows[i][e];
    return;
  }
  const double points[5] = {0, kWinogradP, -double(kWinogradP), kWinogradQ, -double(kWinogradQ)};
  for (int j = 0; j < 5; ++j) {
    double norm = 1;
    for (int k = 0; k < 5; ++k)
      if (k != j) norm *= points[j] - points[k];
    for (int e = 0; e < 3; ++e) g[j][e] = std::pow(points[j], e) / norm;
  }
  g[5][0] = g[5][1] = 0;
  g[5][2] = 1;
}

}  // namespace

void transform_winograd_kernel(int m, const double kernel[3][3], double* u) {
  double g[6][3], half[6][3];
  kernel_matrix(m, g);
  const int a = m + 2;
  for (int i = 0; i < a; ++i)
    for (int x = 0; x < 3; ++x)
      half[i][x] = g[i][0] * kernel[0][x] + g[i][1] * kernel[1][x] + g[i][2] * kernel[2][x];
  for (int i = 0; i < a; ++i)
    for (int j = 0; j < a; ++j)
      u[i * a + j] = g[j][0] * half[i][0] + g[j][1] * half[i][1] + g[j][2] * half[i][2];
}

}  // namespace wootz
