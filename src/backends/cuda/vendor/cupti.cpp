// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/vendor/cupti.h"

#include <cstdlib>
#include <cstring>

#include "backends/cuda/vendor/library.h"
#include "base/error.h"

namespace wootz::cuda {
namespace {

constexpr int kOurTags = 3;  // a kind of external correlation that is free for applications
constexpr uint32_t kKinds[] = {cupti_record::kKernel,     cupti_record::kCopy,        cupti_record::kFill,
                               cupti_record::kDriverCall, cupti_record::kRuntimeCall, cupti_record::kTag};
constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

thread_local bool Cupti::is_tagged_ = false;

struct Cupti::Table {
  int (*cuptiActivityRegisterCallbacks)(void (*)(uint8_t**, size_t*, size_t*),
                                        void (*)(void*, uint32_t, uint8_t*, size_t, size_t));
  int (*cuptiActivityEnable)(uint32_t);
  int (*cuptiActivityDisable)(uint32_t);
  int (*cuptiActivityFlushAll)(uint32_t);
  int (*cuptiActivityGetNextRecord)(uint8_t*, size_t, void**);
  int (*cuptiActivityPushExternalCorrelationId)(int, uint64_t);
  int (*cuptiActivityPopExternalCorrelationId)(int, uint64_t*);
  int (*cuptiGetTimestamp)(uint64_t*);
  int (*cuptiGetResultString)(int, const char**);
};

Cupti::Cupti() {
  const auto [found, tried] = find_library(
      "WOOTZ_CUPTI", {{},
                      {"cu13/lib/libcupti.so.13", "cuda_cupti/lib/libcupti.so.12"},
                      {"libcupti.so.13", "libcupti.so.12", "../extras/CUPTI/lib64/libcupti.so.13"}});
  if (!found)
    throw Error(ErrorKind::kDevice,
                "CUPTI is not here (looked for " + tried +
                    "); the Python package nvidia-cuda-cupti has it, and WOOTZ_CUPTI names it");
  auto* table = new Table();  // with the library, for good
  const auto find = [library = found](auto& entry, const char* name) {
    if (!find_function(library, name, entry))
      throw Error(ErrorKind::kDevice, std::string("the CUPTI found here lacks ") + name);
  };
#define WOOTZ_FIND(name) find(table->name, #name)
  WOOTZ_FIND(cuptiActivityRegisterCallbacks);
  WOOTZ_FIND(cuptiActivityEnable);
  WOOTZ_FIND(cuptiActivityDisable);
  WOOTZ_FIND(cuptiActivityFlushAll);
  WOOTZ_FIND(cuptiActivityGetNextRecord);
  WOOTZ_FIND(cuptiActivityPushExternalCorrelationId);
  WOOTZ_FIND(cuptiActivityPopExternalCorrelationId);
  WOOTZ_FIND(cuptiGetTimestamp);
  WOOTZ_FIND(cuptiGetResultString);
#undef WOOTZ_FIND
  table_ = table;
}

Cupti* Cupti::try_get(std::string& reason) {
  static std::string why;
  static Cupti* const loaded = []() -> Cupti* {
    try {
      return new Cupti();  // lives as long as the process: the library is never unloaded
    } catch (const Error& e) {
      why = e.message();
      return nullptr;
    }
  }();
  reason = why;
  return loaded;
}

void Cupti::give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer ? kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

void Cupti::take_buffer(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::string ignored;
  if (Cupti* self = try_get(ignored)) self->read(buffer, valid);
  std::free(buffer);
}

void Cupti::read(uint8_t* buffer, size_t valid) {
  const std::lock_guard lock(mutex_);
  const auto add = [&](DeviceActivity::Kind kind, const auto& r, uint64_t bytes) {
    noted_.push_back({kind, r.correlation, double(r.start), double(r.end - r.start), bytes});
  };
  using namespace cupti_record;
  void* record = nullptr;
  while (table_->cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
    uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    if (kind == cupti_record::kKernel) {
      Kernel k;
      std::memcpy(&k, record, sizeof k);
      add(DeviceActivity::Kind::kKernel, k, 0);
    } else if (kind == kCopy || kind == kFill) {
      Copy c;
      std::memcpy(&c, record, sizeof c);
      const auto what = kind == kFill                  ? DeviceActivity::Kind::kOther
                        : c.copy_kind == kHostToDevice ? DeviceActivity::Kind::kUpload
                        : c.copy_kind == kDeviceToHost ? DeviceActivity::Kind::kDownload
                                                       : DeviceActivity::Kind::kOther;
      add(what, c, c.bytes);
    } else if (kind == kTag) {
      Tag t;
      std::memcpy(&t, record, sizeof t);
      if (t.external_kind == static_cast<uint32_t>(kOurTags)) tags_[t.correlation] = t.number;
    }
  }
}

std::string Cupti::start() {
  if (is_on_) return "the activity of the GPU is noted for another run";
  const auto failed = [&](int status, const char* call) {
    if (status == 0) return std::string();
    const char* text = nullptr;
    table_->cuptiGetResultString(status, &text);
    return std::string(call) + ": " + (text ? text : std::to_string(status));
  };
  if (!has_callbacks_)
    if (auto why = failed(table_->cuptiActivityRegisterCallbacks(give_buffer, take_buffer),
                          "cuptiActivityRegisterCallbacks");
        !why.empty())
      return why;
  has_callbacks_ = true;
  for (uint32_t kind : kKinds)
    if (auto why = failed(table_->cuptiActivityEnable(kind), "cuptiActivityEnable"); !why.empty()) {
      for (uint32_t enabled : kKinds) table_->cuptiActivityDisable(enabled);
      return why;
    }
  noted_.clear(), tags_.clear();
  table_->cuptiGetTimestamp(&began_);
  is_on_ = true;
  return "";
}

void Cupti::tag(uint64_t number) {
  uint64_t last = 0;
  if (is_tagged_) table_->cuptiActivityPopExternalCorrelationId(kOurTags, &last);
  is_tagged_ = number != 0 && table_->cuptiActivityPushExternalCorrelationId(kOurTags, number) == 0;
}

std::vector<DeviceActivity> Cupti::stop() {
  tag(0);
  constexpr uint32_t kEvenUnfinished = 1;
  table_->cuptiActivityFlushAll(kEvenUnfinished);
  for (uint32_t kind : kKinds) table_->cuptiActivityDisable(kind);
  is_on_ = false;
  const std::lock_guard lock(mutex_);
  for (DeviceActivity& a : noted_) {
    const auto it = tags_.find(static_cast<uint32_t>(a.tag));
    a.tag = it == tags_.end() ? 0 : it->second;
    a.start_us = (a.start_us - double(began_)) / 1e3;
    a.time_us /= 1e3;
  }
  return std::exchange(noted_, {});
}

}  // namespace wootz::cuda
