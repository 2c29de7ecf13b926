// SPDX-License-Identifier: Apache-2.0
// Pairs of 16-bit elements in one register, and runs of neighbouring elements of a row. Needs N, the columns of the result,
// and the element types of codegen.

template <class T>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<wz::f16> = true;

// Two neighbours in one register, the first in the low half.
template <class T>
WZ_FN u32 pack(float low, float high) {
#if __CUDA_ARCH__ >= 800
  u32 both;
  if constexpr (kIsHalf<T>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return wz::store<T>(low).bits | (u32)wz::store<T>(high).bits << 16;
#endif
}
template <class T>
WZ_FN float low_half(u32 both) {
  return wz::load(T{(u16)both});
}
template <class T>
WZ_FN float high_half(u32 both) {
  return wz::load(T{(u16)(both >> 16)});
}

// Neighbours of an operand over columns, as they are kept until the products are there.
template <class T>
struct ColumnPair {
  u32 both;
  static WZ_FN ColumnPair of(T low, T high) { return {low.bits | static_cast<u32>(high.bits) << 16}; }
  WZ_FN float low() const { return low_half<T>(both); }
  WZ_FN float high() const { return high_half<T>(both); }
};
template <>
struct alignas(8) ColumnPair<float> {
  float first, second;
  static WZ_FN ColumnPair of(float low, float high) { return {low, high}; }
  WZ_FN float low() const { return first; }
  WZ_FN float high() const { return second; }
};

// Elements col, col + 1, ... of an operand whose column 0 is at `from`; kStride 0 repeats one element. `aligned`: column 0
// lies on a multiple of V elements, and rows do too.
template <int V, int kStride, class M, class R>
WZ_FN void load_run(R (&to)[V], const M* from, int col, bool aligned) {
  if constexpr (kStride == 0) {
    const R v = wz::load(*from);
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = v;
  } else if constexpr (kStride == 1 && V > 1 && N % V == 0) {
    wz::Vector<M, V> v;
    wz::load_vector<V>(v, from + col, aligned);
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = wz::load(v.at[i]);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (N % V == 0 || col + i < N) to[i] = wz::load(from[(i64)(col + i) * kStride]);
  }
}

template <int V, int kStride, class M>
WZ_FN void store_run(M* to, int col, const float (&x)[V], bool aligned) {
  if constexpr (kStride == 1 && V > 1 && N % V == 0) {
    wz::Vector<M, V> v;
#pragma unroll
    for (int i = 0; i < V; ++i) v.at[i] = wz::store<M>(x[i]);
    wz::store_vector<V>(to + col, v, aligned);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (N % V == 0 || col + i < N) to[(i64)(col + i) * kStride] = wz::store<M>(x[i]);
  }
}
