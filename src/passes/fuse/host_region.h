// SPDX-License-Identifier: Apache-2.0
// What the host's cost model sees of a region, in elements, bytes and microseconds.
#pragma once
#include <span>
#include <vector>

#include "device/backend.h"
#include "passes/sizes.h"

namespace wootz {

/// A region's nodes at the sizes that costs are computed at.
class HostRegion {
 public:
  HostRegion(std::span<Node* const> nodes, const SizeModel& sizes, const TargetTraits& target);

  std::span<Node* const> nodes() const { return nodes_; }
  const Node& first() const { return *nodes_.front(); }
  Dims dims(const Value* v) const;
  double elements(const Value* v) const;
  double bytes(const Value* v) const { return elements(v) * static_cast<double>(dtype_size(v->type.dtype)); }
  /// Extent of the axis that lies fastest in memory.
  double fastest(const Value* v) const;

  const std::vector<const Value*>& inputs() const { return inputs_; }    // from outside, each once
  const std::vector<const Value*>& outputs() const { return outputs_; }  // read outside
  double constant_bytes() const { return constant_bytes_; }              // evicted before a measurement
  double activation_bytes() const { return activation_bytes_; }          // inputs and outputs
  double output_elements() const;

  /// Nanoseconds that the pointwise instructions of the nodes other than `main` take an element, on one
  /// thread.
  double pointwise_ns(const Node* main = nullptr) const;
  /// Nodes whose instruction is a polynomial and not an operation of the CPU.
  double costly_nodes() const;

  /// `us` of work on one thread, spread over the cores where the kernel thinks (by its own rough count,
  /// `guess_us`) that a fork pays.
  double spread(double us, double guess_us, double fork_us) const;
  double cores() const { return cores_; }

 private:
  std::span<Node* const> nodes_;
  const SizeModel& sizes_;
  double cores_ = 1;
  std::vector<const Value*> inputs_, outputs_;
  double constant_bytes_ = 0, activation_bytes_ = 0;
};

// Microseconds of a region by its main operator.
double host_pointwise_us(const HostRegion& region);
double host_product_us(const HostRegion& region, const Node& main);
double host_convolution_us(const HostRegion& region, const Node& main);
double host_attention_us(const HostRegion& region);
double host_recurrence_us(const HostRegion& region);
double host_movement_us(const HostRegion& region);
/// Norms, softmaxes, reductions and pools; negative for any other operator.
double host_rows_us(const HostRegion& region);

/// How long a region of these nodes takes on this host, in seconds; negative where the model does not know.
double host_seconds(std::span<Node* const> nodes, const SizeModel& sizes, const TargetTraits& target);

}  // namespace wootz
