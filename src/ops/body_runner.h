// SPDX-License-Identifier: Apache-2.0
// Bodies of control-flow operators by something faster than the references.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace wootz {

class BodyRunner {
 public:
  using Captured = std::function<const Datum*(const Value*)>;
  virtual ~BodyRunner() = default;
  /// The body's outputs, or nothing where the references have to run it. Throws what the run throws.
  virtual std::optional<std::vector<Datum>> run(const Graph& body, std::span<const Datum> inputs,
                                                const Captured* captured) = 0;
  static BodyRunner*& current();  // of this thread; null: the references run every body
};

/// While it lives, the bodies that this thread evaluates are offered to `runner` first.
class BodyRunnerScope {
 public:
  explicit BodyRunnerScope(BodyRunner* runner) : before_(BodyRunner::current()) {
    BodyRunner::current() = runner;
  }
  ~BodyRunnerScope() { BodyRunner::current() = before_; }
  BodyRunnerScope(const BodyRunnerScope&) = delete;
  BodyRunnerScope& operator=(const BodyRunnerScope&) = delete;

 private:
  BodyRunner* before_;
};

}  // namespace wootz
