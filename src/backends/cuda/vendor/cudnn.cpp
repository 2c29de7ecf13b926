// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/vendor/cudnn.h"

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/vendor/library.h"
#include "base/error.h"

namespace wootz::cuda::dnn {
namespace {

struct Loaded {
  const Library* library = nullptr;
  std::string reason;
};

}  // namespace

Library::Library() {
  const auto [found, tried] =
      find_library("WOOTZ_CUDNN", {{}, {"cudnn/lib/libcudnn.so.9"}, {"libcudnn.so.9"}});
  if (!found)
    throw Error(ErrorKind::kDevice,
                "cuDNN is not here (looked for " + tried +
                    "); the Python package nvidia-cudnn has it, and WOOTZ_CUDNN names it");
  const auto find = [library = found](auto& entry, const char* name) {
    if (!find_function(library, name, entry))
      throw Error(ErrorKind::kDevice, std::string("the cuDNN found here lacks ") + name);
  };
#define WOOTZ_FIND(name) find(table_.name, #name)
  WOOTZ_FIND(cudnnGetErrorString);
  WOOTZ_FIND(cudnnCreate);
  WOOTZ_FIND(cudnnSetStream);
  WOOTZ_FIND(cudnnBackendCreateDescriptor);
  WOOTZ_FIND(cudnnBackendDestroyDescriptor);
  WOOTZ_FIND(cudnnBackendSetAttribute);
  WOOTZ_FIND(cudnnBackendGetAttribute);
  WOOTZ_FIND(cudnnBackendFinalize);
  WOOTZ_FIND(cudnnBackendExecute);
#undef WOOTZ_FIND
}

const Library* Library::try_get(std::string& reason) {
  static const Loaded loaded = [] {
    try {
      return Loaded{new Library(), ""};  // lives as long as the process: the library is never unloaded
    } catch (const Error& e) {
      return Loaded{nullptr, e.message()};
    }
  }();
  reason = loaded.reason;
  return loaded.library;
}

const Library& Library::get() {
  std::string reason;
  if (const Library* library = try_get(reason)) return *library;
  throw Error(ErrorKind::kDevice, reason);
}

void Library::check(Status status, const char* call) const {
  if (status == 0) return;
  throw Error(ErrorKind::kUnsupported, std::string(call) + ": " + table_.cudnnGetErrorString(status) + " (" +
                                           std::to_string(status) + ")");
}

Handle Library::handle(const CudaDevice& device) const {
  device.make_current();
  const std::lock_guard lock(mutex_);
  Handle& handle = handles_[device.ordinal()];
  if (!handle) check(table_.cudnnCreate(&handle), "cudnnCreate");
  return handle;
}

Status Library::execute(Handle handle, RawDescriptor plan, RawDescriptor pack, StreamHandle stream) const {
  const std::lock_guard lock(running_);
  if (const Status status = table_.cudnnSetStream(handle, stream)) return status;
  return table_.cudnnBackendExecute(handle, plan, pack);
}

Descriptor::Descriptor(Kind kind) {
  const Library& library = Library::get();
  library.check(library->cudnnBackendCreateDescriptor(kind, &raw_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
  if (raw_) Library::get()->cudnnBackendDestroyDescriptor(raw_);
}

Descriptor& Descriptor::set(Attribute attribute, ValueType type, int64_t count, const void* values) {
  const Library& library = Library::get();
  const Status status = library->cudnnBackendSetAttribute(raw_, attribute, type, count, values);
  if (status != 0)
    library.check(status,
                  ("cudnnBackendSetAttribute(" + std::to_string(static_cast<int>(attribute)) + ")").c_str());
  return *this;
}

void Descriptor::finalize() {
  const Library& library = Library::get();
  library.check(library->cudnnBackendFinalize(raw_), "cudnnBackendFinalize");
}

}  // namespace wootz::cuda::dnn
