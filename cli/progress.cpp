// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace wootz::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// The first one asks the build to stop at its next report; a second one does not wait for it.
void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

ProgressLine::ProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

ProgressLine::~ProgressLine() {
  clear();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void ProgressLine::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

bool ProgressLine::operator()(const BuildProgress& p) {
  if (interrupted) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!is_terminal_ || now - last_ < std::chrono::milliseconds(80)) return true;
  last_ = now;
  constexpr int kCells = 20;
  std::string bar(static_cast<size_t>(p.fraction * kCells), '=');
  bar.resize(kCells, ' ');
  char left[32] = "";
  if (p.seconds_left >= 0) std::snprintf(left, sizeof left, "%.0f s left", p.seconds_left);
  std::fprintf(stderr, "\r\033[K[%s] %3.0f%% %-8s %-26.26s %s", bar.c_str(), p.fraction * 100,
               p.stage.c_str(), p.detail.c_str(), left);
  std::fflush(stderr);
  shown_ = true;
  return true;
}

}  // namespace wootz::cli
