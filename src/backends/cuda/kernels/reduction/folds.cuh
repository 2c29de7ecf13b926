// SPDX-License-Identifier: Apache-2.0
// What a reduction keeps while it runs over its elements, and how threads join what they have.
namespace wz {

template <class F> WZ_FN F infinity_of() { return static_cast<F>(float_of_bits(0x7f800000u)); }

/// A = float, double, i64 or u64. `kLow`, `kHigh`: the identity of Max and Min.
template <class A> struct SumFold {
  using Acc = A;
  static WZ_FN Acc start() { return 0; }
  static WZ_FN void step(Acc& acc, A x, u32) { acc = add(acc, x); }
  static WZ_FN void join(Acc& acc, const Acc& other) { acc = add(acc, other); }
};
template <class A> struct AbsFold : SumFold<A> {
  static WZ_FN void step(A& acc, A x, u32) { acc = add(acc, abs(x)); }
};
template <class A> struct SquareFold : SumFold<A> {
  static WZ_FN void step(A& acc, A x, u32) { acc = add(acc, mul(x, x)); }
};
template <class A> struct ProdFold {
  using Acc = A;
  static WZ_FN Acc start() { return 1; }
  static WZ_FN void step(Acc& acc, A x, u32) { acc = mul(acc, x); }
  static WZ_FN void join(Acc& acc, const Acc& other) { acc = mul(acc, other); }
};
template <class A> struct Limits {
  static WZ_FN A low() { return -infinity_of<A>(); }
  static WZ_FN A high() { return infinity_of<A>(); }
};
template <> struct Limits<i64> {
  static WZ_FN i64 low() { return static_cast<i64>(1ull << 63); }
  static WZ_FN i64 high() { return static_cast<i64>(~(1ull << 63)); }
};
template <> struct Limits<u64> {
  static WZ_FN u64 low() { return 0; }
  static WZ_FN u64 high() { return ~0ull; }
};
template <class A> struct MaxFold {
  using Acc = A;
  static WZ_FN Acc start() { return Limits<A>::low(); }
  static WZ_FN void step(Acc& acc, A x, u32) { acc = max(acc, x); }
  static WZ_FN void join(Acc& acc, const Acc& other) { acc = max(acc, other); }
};
template <class A> struct MinFold {
  using Acc = A;
  static WZ_FN Acc start() { return Limits<A>::high(); }
  static WZ_FN void step(Acc& acc, A x, u32) { acc = min(acc, x); }
  static WZ_FN void join(Acc& acc, const Acc& other) { acc = min(acc, other); }
};
/// log(sum(exp(x))) as its largest term and the sum relative to it.
template <class A> struct LogSumExpFold {
  struct Acc { A top, sum; };
  static WZ_FN Acc start() { return {Limits<A>::low(), 0}; }
  static WZ_FN void step(Acc& acc, A x, u32) { join(acc, {x, 1}); }
  static WZ_FN void join(Acc& acc, const Acc& other) {
    const A top = max(acc.top, other.top);
    if (top - top != 0) {  // an infinity or NaN decides alone; two of -infinity are no sum
      acc = {top, top == Limits<A>::low() ? A(0) : A(1)};
      return;
    }
    acc.sum = acc.sum * exp(acc.top - top) + other.sum * exp(other.top - top);
    acc.top = top;
  }
  static WZ_FN A finish(const Acc& acc) { return acc.top - acc.top != 0 ? acc.top : acc.top + log(acc.sum); }
};
/// The place of the extreme element; NaN beats everything. kLast: of equal ones the last.
template <class A, bool kMax, bool kLast> struct ArgFold {
  struct Acc { A value; u32 at; u32 any; };
  static WZ_FN Acc start() { return {0, 0, 0}; }
  static WZ_FN void step(Acc& acc, A x, u32 at) { join(acc, {x, at, 1}); }
  static WZ_FN bool beats(A a, A b) {
    if (b != b) return false;
    return a != a || (kMax ? a > b : a < b);
  }
  static WZ_FN void join(Acc& acc, const Acc& other) {
    if (!other.any) return;
    const bool later = kLast ? other.at > acc.at : other.at < acc.at;
    if (!acc.any || beats(other.value, acc.value) || (!beats(acc.value, other.value) && later)) acc = other;
  }
};

template <class A>
WZ_FN A shuffle_any(const A& value, int mask) {
  union Words {
    A value;
    u32 words[sizeof(A) / 4];
    WZ_FN Words() {}
  } in, out;
  in.value = value;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(A) / 4); ++i) out.words[i] = shuffle_xor(in.words[i], mask);
  return out.value;
}

/// Joins the accumulators of kThreads neighbouring threads, a power of two; every one gets the result. Beyond 32 the
/// block must have kThreads threads, all of which call.
template <class Fold, int kThreads>
WZ_FN typename Fold::Acc join_threads(typename Fold::Acc acc) {
  constexpr int kLanes = kThreads < 32 ? kThreads : 32;
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) Fold::join(acc, shuffle_any(acc, mask));
  if constexpr (kThreads > 32) {
    constexpr int kWarps = kThreads / 32;
    constexpr int kWords = static_cast<int>(sizeof(acc) / 4);
    __shared__ u32 parts[kWarps * kWords + 1];
    __syncthreads();
    union Words {
      typename Fold::Acc value;
      u32 words[kWords];
      WZ_FN Words() {}
    } part;
    part.value = acc;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0)
      for (int i = 0; i < kWords; ++i) parts[warp * kWords + i] = part.words[i];
    __syncthreads();
    acc = Fold::start();
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      for (int i = 0; i < kWords; ++i) part.words[i] = parts[w * kWords + i];
      Fold::join(acc, part.value);
    }
  }
  return acc;
}

}  // namespace wz
