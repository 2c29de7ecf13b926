// SPDX-License-Identifier: Apache-2.0
// Runs one block of a kernel: a fibre for each thread, with barriers of the block and of warps.
#pragma once
#include <cstdint>

namespace fake {

struct Size {
  unsigned x, y, z;
};

/// What tests/cuda/fake/emulation.h knows as FakeThread.
struct Thread {
  Size thread, block, block_size, grid_size;
  unsigned lane, warp;
  unsigned long long* slots;
  void (*wait)(int of_warp, int warp_lanes);
};

/// Calls entry(parameters) for every thread of the grid; `current` is the kernel's own variable. False:
/// threads wait for one another forever.
bool run_grid(void (*entry)(void**), void** parameters, Thread** current, Size grid, Size block);

}  // namespace fake
