// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN in two steps: the inputs' part of every gate for all times at once, then one block for each sequence
// of each direction, which walks the times with the state in shared memory. P, generated: sizes, T, flags, the
// activations act0 ... act2 by direction.
namespace wz {

template <class P>
struct Recurrent {
  using T = typename P::T;
  static constexpr int kThreads = 256, kWarps = 8, kRows = P::kGates * P::kHidden;

  static WZ_FN float dot(const T* a, const float* b, int n, int lane) {
    float sum = 0;
    for (int k = lane; k < n; k += 32) sum += load(a[k]) * b[k];
#pragma unroll
    for (int m = 16; m > 0; m /= 2) sum += shuffle_xor(sum, m);
    return sum;
  }

  /// part[direction][time][sequence][gate row]; a warp a row. For LSTM and RNN both biases are in it.
  static WZ_FN void inputs(const T* x, const T* w, const T* bias, float* part) {
    const i64 job = static_cast<i64>(blockIdx.x) * kWarps + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const bool live = job < static_cast<i64>(P::kDirections) * P::kTimes * P::kBatch * kRows;
    const i64 at = live ? job : 0;
    const int row = static_cast<int>(at % kRows), b = static_cast<int>(at / kRows % P::kBatch);
    const int t = static_cast<int>(at / kRows / P::kBatch % P::kTimes), d = static_cast<int>(at / kRows / P::kBatch / P::kTimes);
    const T* in = x + (P::kBatchFirst ? (static_cast<i64>(b) * P::kTimes + t) : (static_cast<i64>(t) * P::kBatch + b)) * P::kInput;
    const T* weights = w + (static_cast<i64>(d) * kRows + row) * P::kInput;
    float sum = 0;
    for (int k = lane; k < P::kInput; k += 32) sum += static_cast<float>(load(weights[k])) * static_cast<float>(load(in[k]));
#pragma unroll
    for (int m = 16; m > 0; m /= 2) sum += shuffle_xor(sum, m);
    if (P::kHasBias) {
      sum += load(bias[d * 2 * kRows + row]);
      if (P::kKind != 1) sum += load(bias[d * 2 * kRows + kRows + row]);
    }
    if (live && lane == 0) part[job] = sum;
  }

  static WZ_FN void steps(const T* r, const T* bias, const int* lengths, const T* h0, const T* c0, const T* peepholes,
                          const float* part, T* y, T* last_h, T* last_c) {
    __shared__ float h[P::kHidden], next[P::kHidden], cell[P::kHidden], extra[P::kHidden];
    const int d = blockIdx.x / P::kBatch, b = blockIdx.x % P::kBatch, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool reverse = d == 1 || P::kReverse;
    const i64 state = (P::kBatchFirst ? b * P::kDirections + d : d * P::kBatch + b) * static_cast<i64>(P::kHidden);
    const int length = P::kHasLengths ? lengths[b] : P::kTimes;
    for (int j = threadIdx.x; j < P::kHidden; j += kThreads) {
      h[j] = P::kHasH0 ? static_cast<float>(load(h0[state + j])) : 0.0f;
      cell[j] = P::kHasC0 ? static_cast<float>(load(c0[state + j])) : 0.0f;
    }
    __syncthreads();
    const T* weights = r + static_cast<i64>(d) * kRows * P::kHidden;
    const T* hidden_bias = bias + d * 2 * kRows + kRows;
    for (int step = 0; step < length; ++step) {
      const int t = reverse ? length - 1 - step : step;
      const float* in = part + ((static_cast<i64>(d) * P::kTimes + t) * P::kBatch + b) * kRows;
      if (P::kKind == 1) {
        gru(weights, hidden_bias, in, h, next, cell, extra, d, warp, lane);
      } else {
        for (int j = warp; j < P::kHidden; j += kWarps) {
          float gate[P::kGates];
#pragma unroll
          for (int g = 0; g < P::kGates; ++g)
            gate[g] = in[g * P::kHidden + j] + dot(weights + static_cast<i64>(g * P::kHidden + j) * P::kHidden, h, P::kHidden, lane);
          if (P::kKind == 2) {
            if (lane == 0) next[j] = P::act0(d, gate[0]);
          } else if (lane == 0) {
            lstm(gate, peepholes + d * 3 * P::kHidden, next, cell, j, d);
          }
        }
      }
      __syncthreads();
      for (int j = threadIdx.x; j < P::kHidden; j += kThreads) {
        h[j] = next[j];
        if (P::kHasY) y[place(t, d, b) + j] = store<T>(next[j]);
      }
      __syncthreads();
    }
    if (P::kHasY)
      for (int t = length; t < P::kTimes; ++t)
        for (int j = threadIdx.x; j < P::kHidden; j += kThreads) y[place(t, d, b) + j] = store<T>(0.0f);
    for (int j = threadIdx.x; j < P::kHidden; j += kThreads) {
      if (P::kHasLastH) last_h[state + j] = store<T>(h[j]);
      if (P::kHasLastC) last_c[state + j] = store<T>(cell[j]);
    }
  }

 private:
  static WZ_FN i64 place(int t, int d, int b) {
    return (P::kBatchFirst ? (static_cast<i64>(b) * P::kTimes + t) * P::kDirections + d
                           : (static_cast<i64>(t) * P::kDirections + d) * P::kBatch + b) *
           P::kHidden;
  }

  /// Gates in the order input, output, forget, cell.
  static WZ_FN void lstm(const float* gate, const T* p, float* next, float* cell, int j, int d) {
    constexpr int n = P::kHidden;
    constexpr int out = P::kKind == 0 ? 1 : 0, forget_at = P::kKind == 0 ? 2 : 0, cell_at = P::kKind == 0 ? 3 : 0;
    const float old = cell[j];
    const float forget = P::act0(d, gate[forget_at] + (P::kHasPeepholes ? static_cast<float>(load(p[2 * n + j])) * old : 0.0f));
    const float input =
        P::kCoupled ? 1.0f - forget : P::act0(d, gate[0] + (P::kHasPeepholes ? static_cast<float>(load(p[j])) * old : 0.0f));
    const float now = forget * old + input * P::act1(d, gate[cell_at]);
    cell[j] = now;
    next[j] = P::act0(d, gate[out] + (P::kHasPeepholes ? static_cast<float>(load(p[n + j])) * now : 0.0f)) * P::act2(d, now);
  }

  /// Gates in the order update, reset, hidden. `update` and `extra` are shared.
  static WZ_FN void gru(const T* weights, const T* bias, const float* in, const float* h, float* next, float* update, float* extra,
                        int d, int warp, int lane) {
    constexpr int n = P::kHidden;
    constexpr int second = P::kGates > 1 ? n : 0, third = P::kGates > 2 ? 2 * n : 0;
    for (int j = warp; j < n; j += kWarps) {
      float z = in[j] + dot(weights + static_cast<i64>(j) * n, h, n, lane);
      float r = in[second + j] + dot(weights + static_cast<i64>(second + j) * n, h, n, lane);
      if (P::kHasBias) z += load(bias[j]), r += load(bias[second + j]);
      if (lane == 0) {
        update[j] = P::act0(d, z);
        r = P::act0(d, r);
        extra[j] = P::kLinear ? r : r * h[j];
      }
    }
    __syncthreads();
    for (int j = warp; j < n; j += kWarps) {
      float hidden = dot(weights + static_cast<i64>(third + j) * n, P::kLinear ? h : extra, n, lane);
      if (P::kHasBias) hidden += load(bias[third + j]);
      if (lane == 0) {
        if (P::kLinear) hidden *= extra[j];
        next[j] = (1.0f - update[j]) * P::act1(d, in[third + j] + hidden) + update[j] * h[j];
      }
    }
  }
};

}  // namespace wz
