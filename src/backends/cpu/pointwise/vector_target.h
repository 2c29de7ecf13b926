// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wootz {

/// The instruction sets that vector kernels are compiled for.
enum class VectorTarget { kSse4, kAvx2, kAvx512 };

/// The best one of this CPU, or what set_vector_target forced.
VectorTarget vector_target();
/// For tests: kernels chosen from now on use this set. False when the CPU lacks it.
bool set_vector_target(VectorTarget target);

/// The entry for an instruction set of a function that exists in namespaces N_SSE4, N_AVX2 and N_AVX3.
#define WOOTZ_FOR_TARGET(target, name)                       \
  ((target) == ::wootz::VectorTarget::kAvx512 ? N_AVX3::name \
   : (target) == ::wootz::VectorTarget::kAvx2 ? N_AVX2::name \
                                              : N_SSE4::name)

}  // namespace wootz
