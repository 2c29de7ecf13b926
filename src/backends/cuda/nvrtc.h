// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's run-time compiler, loaded at run time. It needs neither a GPU nor a driver.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wootz::cuda {

/// One translation unit for NVRTC. `headers` are what its #includes may name: name and text.
struct Source {
  std::string name;  // for messages: "gemm/gemm_sm90.cu"
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> options;  // besides the architecture and the standard: "--use_fast_math"
};

/// Machine code of one source for one architecture.
struct Cubin {
  std::string bytes;
  std::string log;  // of the compiler: registers and spills; empty when it came from the disk
};

class Nvrtc {
 public:
  /// Throws Error(kDevice) where no NVRTC is found; the message lists where it was looked for.
  static const Nvrtc& get();
  static const Nvrtc* try_get(std::string& reason);

  std::string version() const;  // "13.0"
  int major() const { return major_; }
  /// Compiles for an architecture like "sm_90a". Callable from many threads. Throws Error(kInternal) with the
  /// compiler's log.
  Cubin compile(const Source& source, const std::string& arch) const;

 private:
  Nvrtc();
  struct Table;
  std::shared_ptr<const Table> table_;
  int major_ = 0, minor_ = 0;
};

/// Compiles through a cache: in this process, and in a folder on the disk under the hash of text, headers,
/// options, architecture and NVRTC version. The folder is $WOOTZ_CUDA_CACHE, else $XDG_CACHE_HOME/wootz/cuda,
/// else ~/.cache/wootz/cuda; `WOOTZ_CUDA_CACHE=` (empty) turns it off. Files are written beside and renamed;
/// a folder that cannot be written only costs time. NVRTC is loaded when a source is not there as the version
/// that was loaded last wrote it. Where there is no NVRTC, a file that any version of it wrote will do.
/// Callable from many threads; equal sources are compiled once.
std::shared_ptr<const Cubin> compile_cached(const Source& source, const std::string& arch);

}  // namespace wootz::cuda
