// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/tactic.h"

namespace wootz {

/// A tile, how warpgroups and blocks share it, and how results leave (gemm_sm90.cu and gemm_bytes_sm90.cu).
struct HopperWay {
  int64_t m_blocks, bn, consumers, pingpong, cluster, along_n, resident;
  int64_t direct = 0;
  int64_t blocks = 1;  // that a multiprocessor holds at once
  int64_t ahead = 0;   // the next tile's residual arrives while this one's results leave

  int64_t tile_rows() const { return 64 * m_blocks * (pingpong ? 1 : consumers); }
  TacticConfig config() const {
    TacticConfig way{{{"m_blocks", m_blocks},
                      {"n", bn},
                      {"consumers", consumers},
                      {"pingpong", pingpong},
                      {"cluster", cluster},
                      {"along_n", along_n},
                      {"resident", resident},
                      {"direct", direct}}};
    if (blocks != 1) way.values.emplace_back("blocks", blocks);
    if (ahead != 0) way.values.emplace_back("ahead", ahead);
    return way;
  }
  static HopperWay of(const TacticConfig& c) {
    return {c.get("m_blocks"), c.get("n"),        c.get("consumers"), c.get("pingpong"),  c.get("cluster", 1),
            c.get("along_n"),  c.get("resident"), c.get("direct"),    c.get("blocks", 1), c.get("ahead")};
  }
};

}  // namespace wootz
