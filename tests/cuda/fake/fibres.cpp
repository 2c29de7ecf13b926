// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/fake/fibres.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <vector>

namespace fake {
namespace {

constexpr size_t kStackBytes = 256 << 10;

struct Barrier {
  unsigned arrived = 0, members = 0, generation = 0;
  void release_if_full(unsigned long& progress) {
    if (arrived > 0 && arrived >= members) arrived = 0, ++generation, ++progress;
  }
};

struct Fibre {
  ucontext_t context;
  Thread thread;
  bool is_done = false;
};

struct Block {
  void (*entry)(void**);
  void** parameters;
  Thread** current;
  ucontext_t scheduler;
  std::vector<Fibre> fibres;
  std::vector<Barrier> warps;
  std::vector<unsigned long long> slots;
  Barrier all;
  size_t running = 0;
  unsigned long progress = 0;
};

Block* block = nullptr;  // the driver runs one kernel at a time

char* stacks(size_t count) {
  static char* base = nullptr;
  static size_t reserved = 0;
  if (count > reserved) {
    if (base) munmap(base, reserved * kStackBytes);
    base = static_cast<char*>(mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    reserved = count;
  }
  return base;
}

void wait(int of_warp, int) {
  const size_t self = block->running;
  Fibre& fibre = block->fibres[self];
  Barrier& barrier = of_warp ? block->warps[fibre.thread.warp] : block->all;
  const unsigned generation = barrier.generation;
  ++barrier.arrived;
  barrier.release_if_full(block->progress);
  while (barrier.generation == generation) swapcontext(&fibre.context, &block->scheduler);
}

void body() {
  const size_t self = block->running;
  block->entry(block->parameters);
  Fibre& fibre = block->fibres[self];
  fibre.is_done = true;
  ++block->progress;
  // Who has left is waited for no more.
  --block->all.members;
  block->all.release_if_full(block->progress);
  Barrier& warp = block->warps[fibre.thread.warp];
  --warp.members;
  warp.release_if_full(block->progress);
}

bool run_block(Size at, Size grid, Size size) {
  const size_t count = size_t{size.x} * size.y * size.z;
  char* const base = stacks(count);
  block->fibres.resize(count);
  block->warps.assign((count + 31) / 32, {});
  block->slots.assign(block->warps.size() * 32, 0);
  block->all = {};
  block->all.members = static_cast<unsigned>(count);
  for (size_t i = 0; i < count; ++i) {
    Fibre& f = block->fibres[i];
    const auto flat = static_cast<unsigned>(i);
    f.thread = {{flat % size.x, flat / size.x % size.y, flat / size.x / size.y},
                at,
                size,
                grid,
                flat % 32,
                flat / 32,
                &block->slots[i / 32 * 32],
                wait};
    f.is_done = false;
    ++block->warps[i / 32].members;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = base + i * kStackBytes;
    f.context.uc_stack.ss_size = kStackBytes;
    f.context.uc_link = &block->scheduler;
    makecontext(&f.context, body, 0);
  }
  for (size_t left = count; left > 0;) {
    const unsigned long before = block->progress;
    left = 0;
    for (size_t i = 0; i < count; ++i) {
      Fibre& f = block->fibres[i];
      if (f.is_done) continue;
      block->running = i;
      *block->current = &f.thread;
      swapcontext(&block->scheduler, &f.context);
      left += !f.is_done;
    }
    if (left > 0 && block->progress == before) return false;
  }
  return true;
}

}  // namespace

bool run_grid(void (*entry)(void**), void** parameters, Thread** current, Size grid, Size size) {
  Block own{};
  own.entry = entry, own.parameters = parameters, own.current = current;
  block = &own;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x)
        if (!run_block({x, y, z}, grid, size)) return false;
  block = nullptr;
  return true;
}

}  // namespace fake
