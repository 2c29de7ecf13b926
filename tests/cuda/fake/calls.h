// SPDX-License-Identifier: Apache-2.0
// Put after the emulated names: how the driver calls a kernel whose parameters it knows by their bytes alone.
// No header is included: kernels may define the fixed-width types themselves.
#pragma once

template <int... I>
struct FakeIndices {};
template <class... A, int... I>
void fake_call(void (*f)(A...), void** p, FakeIndices<I...>) {
  f(*static_cast<A*>(p[I])...);
}
template <class... A>
void fake_call(void (*f)(A...), void** p) {
  fake_call(f, p, FakeIndices<__integer_pack(sizeof...(A))...>());
}
/// The number of parameters of a kernel, then their sizes.
template <class F>
struct FakeSizes;
template <class... A>
struct FakeSizes<void(A...)> {
  static constexpr unsigned long value[] = {sizeof...(A), sizeof(A)...};
};
