// SPDX-License-Identifier: Apache-2.0
// A product as cuBLASLt takes it: all matrices column by column, so what we call B comes first and results
// are transposed, columns x rows.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/kernels/vendor/vendor_tail.h"

namespace wootz {

/// A matrix stored column by column, `pitch` elements apart.
struct VendorMatrix {
  int64_t rows = 0, columns = 0, pitch = 0;
  int64_t batch_stride = 0;  // elements; 0: the same for every product of a batch
  bool is_transposed = false;
};

struct CublasLtProblem {
  Contraction c;
  VendorTail tail;
  VendorMatrix first, second, residual, result;
  int64_t batch = 1;
  bool packs_b = false;  // the first operand is made by pack_columns
  bool uses_tf32 = false;

  /// Reads a region; or tells why the library does not serve it.
  static std::optional<std::string> read(const Problem& problem, CublasLtProblem& p);

 private:
  std::optional<std::string> read_matrices();
  std::optional<std::string> read_batch();
};

/// Packed columns begin on multiples of 16 bytes.
inline constexpr int64_t kVendorChannelMultiple = 8;

}  // namespace wootz
