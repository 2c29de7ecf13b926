// SPDX-License-Identifier: Apache-2.0
// The backend that runs every region by the operators' references: proof that nothing above the backends
// knows a device.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/usable_memory.h"
#include "device/backend.h"
#include "device/reference_tactic.h"

namespace wootz {
namespace {

class ReferenceStream final : public Stream {
 public:
  void synchronize() override {}
};

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend() : tactic_(make_reference_tactic("reference.node")), listed_(tactic_.get()) {}

  std::string_view name() const override { return "reference"; }
  std::string describe() const override { return "the operators' references on one thread"; }
  TargetTraits traits(int) const override {
    TargetTraits t;
    t.name = t.fingerprint = "reference";
    t.prefers_channels_last = false;
    t.flops_per_second = 1e9;
    t.bytes_per_second = 1e9;
    t.launch_seconds = 1e-6;
    t.cache_bytes = size_t{1} << 20;
    return t;
  }
  std::span<const Tactic* const> tactics() const override { return {&listed_, 1}; }
  std::unique_ptr<Stream> make_stream(int) const override { return std::make_unique<ReferenceStream>(); }

  void* allocate(size_t bytes) const override { return allocate_host(bytes, 64); }
  void release(void* p) const noexcept override { std::free(p); }
  void copy(void* to, const void* from, size_t bytes, Stream&) const override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }

 private:
  std::unique_ptr<Tactic> tactic_;
  const Tactic* listed_;
};

}  // namespace

}  // namespace wootz

namespace wootz::reference_backend {

void register_backend(BackendRegistry& registry) { registry.add(std::make_unique<ReferenceBackend>()); }

}  // namespace wootz::reference_backend
