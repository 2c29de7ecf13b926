// SPDX-License-Identifier: Apache-2.0
// The attributes of DepthToSpace and SpaceToDepth.
#pragma once
#include <string>

#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

struct PixelBlocks {
  int64_t blocksize = 0;
  std::string mode = "DCR";  // the channel is (block, depth); CRD: (depth, block)
  template <class V>
  void reflect(V& v) {
    v("blocksize", blocksize);
    v("mode", mode);
  }
  bool depth_first() const { return mode == "CRD"; }
};

template <class Context>
PixelBlocks checked_pixel_blocks(const Context& ctx) {
  auto a = ctx.template attributes_as<PixelBlocks>();
  ctx.check(a.blocksize > 0 && a.blocksize < (1 << 20),
            "expected blocksize >= 1, found " + std::to_string(a.blocksize));
  ctx.check(a.mode == "DCR" || a.mode == "CRD", "expected mode DCR or CRD, found " + a.mode);
  return a;
}

}  // namespace wootz
