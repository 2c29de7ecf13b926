// SPDX-License-Identifier: Apache-2.0
// How the steps of a prepared shape run when the backend's memory is not the host's.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "device/device_backend.h"
#include "engine/engine_data.h"

namespace wootz {

/// Steps that run without a look at the host: one after another on the device, or one on the host with the
/// copies before and after it (values by id).
struct DeviceSegment {
  size_t first = 0, last = 0;  // steps first..last-1
  bool on_device = false;
  std::vector<int> downloads, uploads;
};

/// Where things lie on both sides, and what is copied when. The device's buffer of a shape holds activations
/// and workspaces, then room for the graph's inputs and outputs; the host has pinned memory for these inputs
/// and outputs, and, only where steps run on the host, a mirror of the activations at the same offsets.
struct DevicePlan {
  std::vector<DeviceSegment> segments;
  std::vector<char> input_to_device;  // by graph input: some step on the device reads it
  std::vector<char> input_to_host;    // by graph input: some step on the host reads it
  std::vector<char>
      output_from_host;              // by graph output: it does not lie in its own buffer; the host copies it
  std::vector<int> final_downloads;  // values that the host copies into outputs
  std::vector<size_t> input_offsets, output_offsets;  // in the room for inputs and outputs
  size_t room_bytes = 0;                              // for inputs and outputs
  size_t mirror_bytes = 0;                            // 0: no step on the host reads or writes activations
};

/// The bytes that a value's strides span in its buffer: offset of the first, and count.
struct ByteSpan {
  size_t offset = 0, bytes = 0;
  bool is_dense = true;  // no gap belongs to another value
};
ByteSpan span_of(const Placement& p);

/// `on_host` by step: it runs on the host (a reference, or interpreted). Steps that run nothing are on
/// neither side.
DevicePlan plan_device(const Graph& graph, const ShapePlan& plan, const std::vector<char>& on_host);

}  // namespace wootz
