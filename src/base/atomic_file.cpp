// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace wootz {
namespace {

constexpr int kMostLinks = 40;  // as the system's own limit

/// What the rename will replace: the file that a link leads to, not the link. A device or pipe must not be
/// replaced: as root, the rename would put a file where /dev/null was.
std::string replaceable(std::string path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, ignored); ++links)
    path = (fs::path(path).parent_path() / fs::read_symlink(path, ignored)).string();
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    throw Error(ErrorKind::kIo, "cannot write '" + path + "': expected a regular file, found a " +
                                    (fs::is_directory(path, ignored) ? "folder" : "device, pipe or socket") +
                                    "; name a file");
  return path;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(replaceable(std::move(path))), beside_(path_ + ".part" + std::to_string(getpid())) {
  fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("cannot create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(beside_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("cannot write");
    p += n;
    bytes -= static_cast<size_t>(n);
    size_ += static_cast<size_t>(n);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail("cannot write");
  if (::rename(beside_.c_str(), path_.c_str()) != 0) fail("cannot rename into place");
  ::close(fd_);
  fd_ = -1;
}

void AtomicFile::fail(const char* what) {
  const int error = errno;
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(beside_.c_str());
    fd_ = -1;
  }
  throw Error(ErrorKind::kIo,
              std::string(what) + " '" + path_ + "': " + std::strerror(error) + "; nothing was left behind");
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace wootz
