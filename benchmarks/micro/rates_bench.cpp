// SPDX-License-Identifier: Apache-2.0
// rates_bench [THREADS]: the machine's rates that the cost model rests on (backends/cpu/cpu_backend.cpp):
// what the pool's threads copy and read per second from each level of memory, multiply-adds, and the cost of
// a fork.
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

template <class F>
double median_seconds(F&& f) {
  std::vector<double> times;
  f();
  const auto start = Clock::now();
  while (times.size() < 9 || std::chrono::duration<double>(Clock::now() - start).count() < 0.05) {
    const auto t = Clock::now();
    f();
    times.push_back(std::chrono::duration<double>(Clock::now() - t).count());
  }
  std::nth_element(times.begin(), times.begin() + long(times.size()) / 2, times.end());
  return times[times.size() / 2];
}

float sum(const float* p, size_t n) {
  __m256 s[4] = {};
  for (size_t i = 0; i + 32 <= n; i += 32)
    for (size_t k = 0; k < 4; ++k) s[k] = _mm256_add_ps(s[k], _mm256_loadu_ps(p + i + 8 * k));
  return _mm256_cvtss_f32(_mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3])));
}

/// 12 independent chains of 512-bit multiply-adds.
__attribute__((target("avx512f"))) float multiply_adds(int64_t rounds) {
  __m512 s[12];
  for (int k = 0; k < 12; ++k) s[k] = _mm512_set1_ps(float(k));
  const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  for (int64_t i = 0; i < rounds; ++i)
    for (int k = 0; k < 12; ++k) s[k] = _mm512_fmadd_ps(s[k], x, y);
  for (int k = 1; k < 12; ++k) s[0] = _mm512_add_ps(s[0], s[k]);
  float lanes[16];
  _mm512_storeu_ps(lanes, s[0]);
  return std::accumulate(lanes, lanes + 16, 0.0f);
}

}  // namespace

int main(int argc, char** argv) {
  const auto pool = wootz::ThreadPool::shared(argc > 1 ? std::atoi(argv[1]) : 2);
  pool->begin_run();
  volatile float sink = 0;
  std::printf("threads %d, fork %.2f us\n", pool->threads(),
              1e6 * median_seconds([&] { (*pool)([](int, int) {}); }));
  if (__builtin_cpu_supports("avx512f")) {
    const double t = median_seconds([&] { (*pool)([&](int, int) { sink = multiply_adds(100000); }); });
    std::printf("multiply-adds %.1f GFLOP/s\n", 12e5 * 32 * pool->threads() / t / 1e9);
  }
  for (size_t kilobytes : {64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 262144}) {
    const size_t n = kilobytes * 1024 / 8;  // floats in each of two arrays
    std::vector<float> a(n, 1), b(n);
    const auto each = [&](auto&& f) {
      return median_seconds([&] {
        (*pool)([&](int part, int parts) {
          const size_t first = n * size_t(part) / size_t(parts), last = n * size_t(part + 1) / size_t(parts);
          f(first, last - first);
        });
      });
    };
    const double copy = each([&](size_t first, size_t count) {
      for (size_t i = first; i < first + count; ++i) b[i] = a[i] * 2;
    });
    const double read = each([&](size_t first, size_t count) {
      sink = sum(a.data() + first, count) + sum(b.data() + first, count);
    });
    std::printf("%7zu KB: read and write %6.1f GB/s, read %6.1f GB/s\n", kilobytes,
                double(8 * n) / copy / 1e9, double(8 * n) / read / 1e9);
  }
  pool->end_run();
}
