// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>

#include "backends/cuda/nvrtc.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"

namespace wootz::cuda {
namespace {

namespace fs = std::filesystem;

/// The cache's folder; empty: none.
std::string cache_folder() {
  if (const char* own = std::getenv("WOOTZ_CUDA_CACHE")) return own;
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return std::string(base) + "/wootz/cuda";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/wootz/cuda";
  return "";
}

std::string source_key(const Source& source, const std::string& arch) {
  Hasher hasher;
  const auto add = [&](std::string_view text) {
    hasher.update(std::to_string(text.size()) + ":");
    hasher.update(text);
  };
  add(arch);
  add(source.text);
  for (const auto& [name, text] : source.headers) add(name), add(text);
  for (const std::string& o : source.options) add(o);
  return hasher.digest().hex();
}

constexpr std::string_view kMark = "wootz-cubin-1\n";

/// The file's machine code, or nothing where it is not there, cut short or damaged.
std::shared_ptr<const Cubin> read(const std::string& path) {
  try {
    const auto file = MappedFile::open(path);
    std::string_view text = file->text();
    const size_t head = kMark.size() + 33;
    if (text.size() < head || !text.starts_with(kMark)) return nullptr;
    const std::string_view digest = text.substr(kMark.size(), 32), body = text.substr(head);
    if (hash_text(body).hex() != digest) return nullptr;
    return std::make_shared<const Cubin>(Cubin{std::string(body), ""});
  } catch (const Error&) {
    return nullptr;
  }
}

void write(const std::string& folder, const std::string& path, const Cubin& cubin) {
  try {
    fs::create_directories(folder);
    write_file_atomically(path, std::string(kMark) + hash_text(cubin.bytes).hex() + "\n" + cubin.bytes);
  } catch (const std::exception& e) {
    log(LogLevel::kDebug, std::string("the kernel cache was not written: ") + e.what());
  }
}

/// What any version of NVRTC wrote under this key.
std::shared_ptr<const Cubin> read_any(const std::string& folder, const std::string& key) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(key + "-"))
      if (auto cubin = read(entry.path().string())) return cubin;
  return nullptr;
}

std::string path_of(const std::string& folder, const std::string& key, const std::string& version) {
  return folder + "/" + key + "-" + version + ".cubin";
}

/// The file in the cache's folder with the version of the NVRTC that was loaded last.
constexpr const char* kLastVersion = "/last-nvrtc";

/// What the last NVRTC wrote: loading it takes as long as ten cached kernels, and most engines need none
/// other.
std::shared_ptr<const Cubin> read_unloaded(const std::string& folder, const std::string& key) {
  try {
    const std::string version(MappedFile::open(folder + kLastVersion)->text());
    return version.empty() ? nullptr : read(path_of(folder, key, version));
  } catch (const Error&) {
    return nullptr;
  }
}

void note_version(const std::string& folder, const std::string& version) {
  try {
    fs::create_directories(folder);
    write_file_atomically(folder + kLastVersion, version);
  } catch (const std::exception& e) {
    log(LogLevel::kDebug, std::string("the kernel cache was not written: ") + e.what());
  }
}

std::shared_ptr<const Cubin> find_or_compile(const Source& source, const std::string& arch,
                                             const std::string& key) {
  const std::string folder = cache_folder();
  static std::atomic<bool> is_loaded{false};
  if (!is_loaded && !folder.empty())
    if (auto cubin = read_unloaded(folder, key)) return cubin;
  std::string reason;
  const Nvrtc* nvrtc = Nvrtc::try_get(reason);
  if (!nvrtc) {
    if (!folder.empty())
      if (auto cubin = read_any(folder, key)) return cubin;
    throw Error(ErrorKind::kDevice, reason);
  }
  if (!is_loaded.exchange(true) && !folder.empty()) note_version(folder, nvrtc->version());
  const std::string path = path_of(folder, key, nvrtc->version());
  if (!folder.empty())
    if (auto cubin = read(path)) return cubin;
  auto cubin = std::make_shared<const Cubin>(nvrtc->compile(source, arch));
  if (!folder.empty()) write(folder, path, *cubin);
  return cubin;
}

}  // namespace

std::shared_ptr<const Cubin> compile_cached(const Source& source, const std::string& arch) {
  using Result = std::shared_future<std::shared_ptr<const Cubin>>;
  static std::mutex mutex;
  static std::map<std::string, Result> known;
  const std::string key = source_key(source, arch);
  std::promise<std::shared_ptr<const Cubin>> mine;
  Result result;
  {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = known.try_emplace(key, Result());
    if (!is_new) {
      result = at->second;
    } else {
      at->second = mine.get_future().share();
    }
  }
  if (result.valid()) return result.get();  // rethrows what the first caller met
  try {
    auto cubin = find_or_compile(source, arch, key);
    mine.set_value(cubin);
    return cubin;
  } catch (...) {
    mine.set_exception(std::current_exception());
    throw;
  }
}

}  // namespace wootz::cuda
