// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace wootz {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(ErrorKind::kIo, "cannot read " + path + ": " + reason);
}

[[noreturn]] void fail_with_errno(const std::string& path) {
  const int error = errno;
  if (error != ENOMEM) fail(path, std::strerror(error));
  throw Error(ErrorKind::kOutOfMemory,
              "cannot map " + path + ": the system gives no more; raise the limit of this process");
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Without O_NONBLOCK a named pipe would wait for a writer before it can be refused.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail_with_errno(path);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) fail_with_errno(path);
  if (!S_ISREG(status.st_mode))
    fail(path, S_ISDIR(status.st_mode) ? "expected a file, found a folder" : "expected a regular file");
  const auto size = static_cast<size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (mapped == MAP_FAILED) fail_with_errno(path);
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace wootz
