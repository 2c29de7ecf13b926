// SPDX-License-Identifier: Apache-2.0
// Running a prepared shape makes no allocation of ours.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/compiler/compiled.h"

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* p = alignment > alignof(std::max_align_t)
                ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                : std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

// GCC sees through the replaced operators and takes their malloc and free for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new[](std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return counted(bytes, 0);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace wootz::compile_tests {
namespace {

TEST(Allocations, APreparedShapeRunsWithoutAny) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 8, 8};
  ExecutionState state(compile_text(kSmallNet, options));
  for (const Dims& dims : {Dims{1, 3, 8, 8}, Dims{2, 3, 6, 10}}) {
    const std::vector<Datum> inputs = {ramp(dims)};
    std::vector<Datum> outputs(1);
    ASSERT_TRUE(state.run(inputs, outputs).ok());
    const long before = allocations;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(state.run(inputs, outputs).ok());
    EXPECT_EQ(allocations - before, 0) << "allocations in five runs";
  }
}

TEST(Allocations, OutputMemoryServesAgainOnceTheCallerDropsIt) {
  CompileOptions options;
  options.shapes["x"] = {1, 3, 8, 8};
  ExecutionState state(compile_text(kSmallNet, options));
  const std::vector<Datum> inputs = {ramp({1, 3, 8, 8})};
  const auto run = [&] {
    std::vector<Datum> outputs(1);
    EXPECT_TRUE(state.run(inputs, outputs).ok());
    return outputs[0].tensor;
  };
  const void* const first = run().data();
  const Tensor held = run();
  EXPECT_EQ(held.data(), first);
  const Tensor copy = held.clone();
  EXPECT_NE(run().data(), held.data());
  EXPECT_TRUE(held.same_bits(copy));
}

TEST(Allocations, TheCounterCounts) {
  const long before = allocations;
  ::operator delete(::operator new(4));
  EXPECT_GE(allocations - before, 1);
}

}  // namespace
}  // namespace wootz::compile_tests
