// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace wootz {

/// A file that appears whole or not at all: written beside its path, synced and renamed by commit(). Without
/// commit() the destructor removes what was written. A link is followed; what is no regular file (a device, a
/// pipe) is refused. Errors are Error(kIo) with path and reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  size_t size() const { return size_; }
  void commit();

 private:
  [[noreturn]] void fail(const char* what);
  std::string path_, beside_;
  int fd_ = -1;
  size_t size_ = 0;
};

void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace wootz
