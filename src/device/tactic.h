// SPDX-License-Identifier: Apache-2.0
// A tactic is one way to compute a region on one backend. It says what it serves, offers configurations,
// packs constants and makes kernels for concrete shapes.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace wootz {

/// A tensor operand of a problem: concrete dims, strides in elements (channels-last and views are strides).
struct TensorDesc {
  DType dtype = DType::kUndefined;
  Dims dims;
  Dims strides;
  std::shared_ptr<const Tensor>
      constant;  // known at build time (weights, scalars) or when a shape is prepared

  int64_t size() const { return element_count(dims); }
  bool is_row_major() const;
  bool is_channels_last() const;  // dims [N, C, spatial...], C fastest, no gaps
};

/// A region at concrete shapes. Inputs and outputs are those of the region node, in order; an input that the
/// region node leaves out has an undefined dtype.
struct Problem {
  const Node* region = nullptr;  // domain "wootz", op "Region"
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  int threads = 1;

  const Graph& body() const;
};

/// A choice of a tactic's parameters: name=value pairs in a fixed order, e.g. `tile=6x64 split=rows`.
struct TacticConfig {
  std::vector<std::pair<std::string, int64_t>> values;
  int64_t get(std::string_view name, int64_t fallback = 0) const;
  std::string to_string() const;  // "a=1 b=2", "" for none
  static TacticConfig parse(std::string_view text);
  friend bool operator==(const TacticConfig&, const TacticConfig&) = default;
};

/// Constants in the form a kernel wants them; stored in the engine, mapped and shared between contexts.
using Packed = std::vector<Tensor>;

class Stream;

/// Where a kernel's operands lie in this run.
struct LaunchArgs {
  void* const* inputs;  // null for constants, that the kernel took from the problem or its packed weights
  void* const* outputs;
  void* workspace;  // workspace_bytes() bytes, 64-byte aligned
  Stream* stream;
};

/// A tactic made for one concrete problem. launch() allocates nothing and never throws.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual size_t workspace_bytes() const { return 0; }
  virtual void launch(const LaunchArgs& args) noexcept = 0;
};

class Tactic {
 public:
  virtual ~Tactic() = default;
  virtual std::string_view id() const = 0;   // "cpu.conv.winograd"
  virtual int version() const { return 1; }  // a bump invalidates cached timings
  /// Nothing when the tactic computes the problem; otherwise the reason for the refusal.
  virtual std::optional<std::string> refusal(const Problem& problem) const = 0;
  /// Candidates, best guess first. Called only for problems that are served.
  virtual std::vector<TacticConfig> configs(const Problem&) const { return {TacticConfig{}}; }
  /// Packs constant inputs. Depends on constants and config only, never on the other inputs' dims.
  virtual Packed pack(const Problem&, const TacticConfig&) const { return {}; }
  virtual std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                              const Packed& packed) const = 0;
  /// The bound of the relative error that the method itself adds (0: the plain sum in float32), e.g.
  /// Winograd.
  virtual double extra_error() const { return 0; }
};

}  // namespace wootz
