// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace wootz {
namespace {

constexpr int kSilent = -1;

void write_to_stderr(LogLevel level, std::string_view message) {
  const std::string line = "wootz " + std::string(log_level_name(level)) + ": " + std::string(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int level_from_environment() {
  const char* wanted = std::getenv("WOOTZ_LOG");
  for (auto level : {LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug})
    if (wanted && log_level_name(level) == wanted) return static_cast<int>(level);
  return kSilent;
}

struct Sink {
  std::mutex mutex;  // guards `callback`, which is copied and called without it: it may set another
  std::shared_ptr<const LogCallback> callback = std::make_shared<const LogCallback>(write_to_stderr);
  std::atomic<int> most{level_from_environment()};
};

Sink& sink() {
  static auto* the = new Sink;  // never destroyed: threads may log while the process exits
  return *the;
}

}  // namespace

std::string_view log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return "error";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kInfo: return "info";
    case LogLevel::kDebug: return "debug";
  }
  return "message";
}

void set_log_callback(LogCallback callback, LogLevel most) {
  Sink& s = sink();
  const bool is_set = static_cast<bool>(callback);
  auto shared =
      std::make_shared<const LogCallback>(is_set ? std::move(callback) : LogCallback(write_to_stderr));
  const std::lock_guard lock(s.mutex);
  s.callback = std::move(shared);
  s.most = is_set ? static_cast<int>(most) : level_from_environment();
}

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) <= sink().most.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message) noexcept {
  if (!log_enabled(level)) return;
  try {
    std::shared_ptr<const LogCallback> callback;
    {
      const std::lock_guard lock(sink().mutex);
      callback = sink().callback;
    }
    (*callback)(level, message);
  } catch (...) {  // a message is never worth the work that it tells of
  }
}

}  // namespace wootz
