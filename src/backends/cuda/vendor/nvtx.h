// SPDX-License-Identifier: Apache-2.0
// Named ranges for NVIDIA's profilers, by the protocol of NVTX 3: a profiler names the library that wants to
// hear of them in $NVTX_INJECTION64_PATH. Without one every call is a comparison with null.
#pragma once

namespace wootz::cuda {

class Nvtx {
 public:
  static const Nvtx& get();
  bool is_heard() const { return push_ != nullptr && pop_ != nullptr; }
  /// Ranges of a thread are nested.
  void push(const char* name) const {
    if (is_heard()) push_(name);
  }
  void pop() const {
    if (is_heard()) pop_();
  }

 private:
  Nvtx();
  int (*push_)(const char*) = nullptr;
  int (*pop_)() = nullptr;
};

}  // namespace wootz::cuda
