// SPDX-License-Identifier: Apache-2.0
// What oneDNN itself would take for a region: one primitive with its own threads and its post-operations, on
// dense operands in the layout of ours, weights reordered beforehand.
#pragma once
#include <memory>

#include "device/tactic.h"

namespace wootz {

class OneDnnPeer {
 public:
  /// Null where oneDNN is not found, has no implementation or the region is no float32 convolution or
  /// product. A gate in front of the convolution and parts of the tail that oneDNN has no post-operation for
  /// are left out: the peer may do less than the region, never more.
  static std::unique_ptr<OneDnnPeer> make(const Problem& problem);
  ~OneDnnPeer();
  void run() noexcept;

 private:
  struct Primitive;
  explicit OneDnnPeer(std::unique_ptr<Primitive> primitive);
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace wootz
