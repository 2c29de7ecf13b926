// SPDX-License-Identifier: Apache-2.0
#include "ir/tensor_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "base/usable_memory.h"

namespace wootz {
namespace {

constexpr size_t kLargePage = size_t{1} << 21;
constexpr size_t kMostKept = size_t{1} << 30;  // bytes, and an eighth of what the process may hold
constexpr size_t kWaste = 2;                   // a block serves no less than this part of its size

/// In large pages where the system has them: a fault for each small one would cost more than clearing it.
void* map_block(size_t bytes) {
  const size_t size = bytes + kLargePage;  // room to begin at a large page
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapped), data = (begin + kLargePage - 1) & ~(kLargePage - 1);
  if (data != begin) ::munmap(mapped, data - begin);
  if (const size_t rest = begin + size - (data + bytes); rest > 0)
    ::munmap(reinterpret_cast<void*>(data + bytes), rest);
  ::madvise(reinterpret_cast<void*>(data), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(data);
}

class Blocks {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) most_ = std::min(kMostKept, usable_memory() / 8);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    for (const auto& [size, block] : kept_) ::munmap(block, size);
    kept_.clear();
    bytes_ = 0;
  }

  /// A kept block of at least `size` bytes, which becomes that of the block; null where none fits.
  void* take(size_t& size) {
    const std::lock_guard lock(mutex_);
    const auto it = kept_.lower_bound(size);
    if (it == kept_.end() || it->first / kWaste > size) return nullptr;
    size = it->first;
    void* block = it->second;
    bytes_ -= size;
    kept_.erase(it);
    return block;
  }

  void give(void* block, size_t size) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (users_ > 0 && bytes_ + size <= most_) {
        try {
          kept_.emplace(size, block);
          bytes_ += size;
          return;
        } catch (...) {  // no room for the note
        }
      }
    }
    ::munmap(block, size);
  }

  static Blocks& of_process() {
    static auto* blocks = new Blocks;  // tensors may outlive every static object
    return *blocks;
  }

 private:
  std::mutex mutex_;
  int users_ = 0;
  size_t bytes_ = 0, most_ = 0;
  std::multimap<size_t, void*> kept_;
};

}  // namespace

TensorMemoryReuse::TensorMemoryReuse() { Blocks::of_process().begin(); }
TensorMemoryReuse::~TensorMemoryReuse() { Blocks::of_process().end(); }

std::shared_ptr<void> large_block(size_t bytes, bool zeroed) {
  size_t size = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  if (size < bytes || size + kLargePage < size) return nullptr;
  Blocks& blocks = Blocks::of_process();
  void* block = blocks.take(size);
  const bool is_new = !block;
  if (is_new && !(block = map_block(size))) return nullptr;
  if (zeroed && !is_new) std::memset(block, 0, bytes);
  return {block, [size, &blocks](void* p) { blocks.give(p, size); }};
}

Tensor unset_tensor(DType dtype, Dims dims) {
  const auto bytes = static_cast<size_t>(element_count(dims)) * dtype_size(dtype);
  if (bytes < kLargeBlock) return Tensor::zeros(dtype, std::move(dims));
  std::shared_ptr<void> block = large_block(bytes, false);
  if (!block) return Tensor::zeros(dtype, std::move(dims));  // which says what is missing
  void* data = block.get();
  return Tensor::view(dtype, std::move(dims), data, std::move(block));
}

}  // namespace wootz
