// SPDX-License-Identifier: Apache-2.0
// Means of images and channels from the sums over strips of rows: the strips in order, so that results repeat. A thread a
// mean.
extern "C" __global__ void __launch_bounds__(128)
    mean_of_sums(const float* __restrict__ sums, Result* __restrict__ mean, int count, int channels, int strips, float scale,
                 i64 mean_image) {
  wz::start_next();
  wz::after_previous();
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= count) return;
  const int image = i / channels, channel = i - image * channels;
  float sum = 0;
  for (int s = 0; s < strips; ++s) sum += sums[(i64)(image * strips + s) * channels + channel];
  mean[image * mean_image + channel] = wz::store<Result>(sum * scale);
}
