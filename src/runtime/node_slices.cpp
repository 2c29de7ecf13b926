// SPDX-License-Identifier: Apache-2.0
#include "runtime/node_slices.h"

#include <algorithm>
#include <map>

#include "ir/tensor.h"

namespace wootz {
namespace {

/// By axis of input 0: whether results with different indices along it have nothing to do with each other.
using Apart = std::vector<bool>;

size_t axis_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Apart all_but(size_t rank, size_t first, size_t last) {
  Apart apart(rank, true);
  for (size_t i = first; i < last && i < rank; ++i) apart[i] = false;
  return apart;
}

std::optional<Apart> apart_axes(const Node& node, size_t rank, std::span<const int64_t> axes) {
  const auto attribute = [&](const char* name, int64_t fallback) {
    return node.attributes.get<int64_t>(name, fallback);
  };
  if (node.is("Softmax") || node.is("LogSoftmax") || node.is("Hardmax")) {
    const size_t axis = axis_of(attribute("axis", -1), rank);
    return all_but(rank, axis, attribute("flatten", 0) ? rank : axis + 1);
  }
  if (node.is("LayerNormalization") || node.is("RMSNormalization"))
    return all_but(rank, axis_of(attribute("axis", -1), rank), rank);
  if (node.is("InstanceNormalization") || node.is("GlobalAveragePool") || node.is("GlobalMaxPool"))
    return all_but(rank, 2, rank);
  if (node.is("ArgMax") || node.is("ArgMin") || node.is("LpNormalization")) {
    const size_t axis = axis_of(attribute("axis", node.is("LpNormalization") ? -1 : 0), rank);
    return all_but(rank, axis, axis + 1);
  }
  if (node.domain.empty() && node.op.starts_with("Reduce")) {
    if (axes.empty()) return std::nullopt;
    Apart apart(rank, true);
    for (int64_t axis : axes) apart[axis_of(axis, rank)] = false;
    return apart;
  }
  return std::nullopt;
}

/// Which axis of input 0 each axis of the output stands for.
std::vector<size_t> output_axes(const Apart& apart, size_t rank) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < apart.size(); ++i)
    if (rank == apart.size() || apart[i]) axes.push_back(i);
  return axes;
}

/// Operands beside input 0 must look the same from every slice, or have one value for each.
bool take_operands(const Node& node, std::span<const Dims> inputs, const Apart& apart, NodeSlices& slices) {
  if (node.op.starts_with("Reduce")) return true;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (node.is("InstanceNormalization")) {
      slices.by_slice.push_back(i);
      continue;
    }
    const Dims& d = inputs[i];
    if (d.size() > apart.size()) return false;
    for (size_t k = 0; k < d.size(); ++k)
      if (d[k] != 1 && apart[apart.size() - d.size() + k]) return false;
  }
  return true;
}

/// The smaller problem of the slices that some elements depend on.
class Slicer {
 public:
  Slicer(const Dims& input, const Apart& apart, const Dims& output)
      : input_(input), apart_(apart), output_(output), stands_for_(output_axes(apart, output.size())) {
    // Slices are counted along the last of their axes: the channels, where a value belongs to each.
    for (size_t i = 0; i < apart.size(); ++i)
      if (apart[i]) counter_ = i;
    for (size_t i = 0; i < apart.size(); ++i) slice_size_ *= apart[i] ? 1 : input[i];
  }

  bool is_possible() const { return counter_ < input_.size() && stands_for_.size() == output_.size(); }

  void find_slices(std::span<const int64_t> at) {
    const Dims strides = contiguous_strides(output_);
    std::map<int64_t, int64_t> numbers;  // slice of the input -> of the smaller problem
    for (int64_t position : at) {
      int64_t slice = 0;
      for (size_t j = 0; j < output_.size(); ++j)
        if (apart_[stands_for_[j]])
          slice = slice * input_[stands_for_[j]] + position / strides[j] % output_[j];
      const auto [found, is_new] = numbers.emplace(slice, static_cast<int64_t>(slices_.size()));
      if (is_new) slices_.push_back(slice);
      slice_of_.push_back(found->second);
    }
  }

  const std::vector<int64_t>& slices() const { return slices_; }
  int64_t elements() const { return count() * slice_size_; }

  Dims smaller(const Dims& dims, const std::vector<size_t>& stands_for) const {
    Dims small = dims;
    for (size_t j = 0; j < dims.size(); ++j)
      if (apart_[stands_for[j]]) small[j] = stands_for[j] == counter_ ? count() : 1;
    return small;
  }
  Dims smaller_input() const { return smaller(input_, output_axes(apart_, input_.size())); }

  /// Axes of a slice may lie before the one that counts slices.
  std::vector<int64_t> input_positions() const {
    std::vector<int64_t> slice_by_slice;
    for (int64_t slice : slices_) add_slice(slice, slice_by_slice);
    int64_t before = 1;
    for (size_t i = 0; i < counter_; ++i) before *= apart_[i] ? 1 : input_[i];
    const int64_t behind = slice_size_ / before;
    std::vector<int64_t> from;
    from.reserve(slice_by_slice.size());
    for (int64_t b = 0; b < before; ++b)
      for (int64_t s = 0; s < count(); ++s) {
        const auto first = slice_by_slice.begin() + s * slice_size_ + b * behind;
        from.insert(from.end(), first, first + behind);
      }
    return from;
  }

  std::vector<int64_t> output_positions(std::span<const int64_t> at) const {
    const Dims strides = contiguous_strides(output_),
               small = contiguous_strides(smaller(output_, stands_for_));
    std::vector<int64_t> positions;
    for (size_t n = 0; n < at.size(); ++n) {
      int64_t position = 0;
      for (size_t j = 0; j < output_.size(); ++j) {
        const size_t axis = stands_for_[j];
        const int64_t slice = axis == counter_ ? slice_of_[n] : 0;
        position += (apart_[axis] ? slice : at[n] / strides[j] % output_[j]) * small[j];
      }
      positions.push_back(position);
    }
    return positions;
  }

 private:
  int64_t count() const { return static_cast<int64_t>(slices_.size()); }

  /// Positions in the input of the elements of one slice.
  void add_slice(int64_t slice, std::vector<int64_t>& from) const {
    const Dims strides = contiguous_strides(input_);
    int64_t start = 0;
    for (size_t i = input_.size(); i-- > 0;) {
      if (!apart_[i]) continue;
      start += slice % input_[i] * strides[i];
      slice /= input_[i];
    }
    std::vector<int64_t> positions = {start};
    for (size_t i = 0; i < input_.size(); ++i) {
      if (apart_[i]) continue;
      std::vector<int64_t> longer;
      longer.reserve(positions.size() * static_cast<size_t>(input_[i]));
      for (int64_t p : positions)
        for (int64_t k = 0; k < input_[i]; ++k) longer.push_back(p + k * strides[i]);
      positions = std::move(longer);
    }
    from.insert(from.end(), positions.begin(), positions.end());
  }

  const Dims& input_;
  const Apart& apart_;
  const Dims& output_;
  std::vector<size_t> stands_for_;
  size_t counter_ = SIZE_MAX;
  int64_t slice_size_ = 1;
  std::vector<int64_t> slices_, slice_of_;
};

/// The windows of a pool without padding, one slice each. Taps past the end become the window's first: a
/// largest element is the same with one of them twice.
std::optional<NodeSlices> windows_of(const Node& pool, const Dims& input, const Dims& output,
                                     std::span<const int64_t> at) {
  const auto is_all = [&](const char* name, int64_t expected) {
    const Ints values = pool.attributes.get<Ints>(name, {});
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == expected; });
  };
  const Ints kernel = pool.attributes.get<Ints>("kernel_shape", {}),
             steps = pool.attributes.get<Ints>("strides", Ints(kernel.size(), 1));
  if (!is_all("pads", 0) || !is_all("dilations", 1) ||
      pool.attributes.get<std::string>("auto_pad", "NOTSET") != "NOTSET" ||
      input.size() != kernel.size() + 2 || steps.size() != kernel.size() || output.size() != input.size())
    return std::nullopt;
  const Dims strides = contiguous_strides(input), out_strides = contiguous_strides(output);
  const Dims window(kernel.begin(), kernel.end());
  NodeSlices slices;
  slices.dims = {static_cast<int64_t>(at.size()), 1};
  slices.dims.insert(slices.dims.end(), window.begin(), window.end());
  for (size_t n = 0; n < at.size(); ++n) {
    slices.at.push_back(static_cast<int64_t>(n));
    for (int64_t tap = 0; tap < element_count(window); ++tap) {
      int64_t position = 0, left = tap;
      for (size_t i = input.size(); i-- > 0;) {
        int64_t index = at[n] / out_strides[i] % output[i];
        if (i >= 2) {
          const int64_t first = index * steps[i - 2], inside = first + left % window[i - 2];
          index = inside < input[i] ? inside : first;
          left /= window[i - 2];
        }
        position += index * strides[i];
      }
      slices.from.push_back(position);
    }
  }
  return slices;
}

}  // namespace

bool takes_axes(const Node& node) {
  return node.domain.empty() && node.op.starts_with("Reduce") && node.inputs().size() > 1 && node.input(1);
}

std::optional<NodeSlices> slices_of(const Node& node, std::span<const Dims> inputs,
                                    std::span<const int64_t> axes, const Dims& output,
                                    std::span<const int64_t> at) {
  const Dims& dims = inputs[0];
  if (node.is("MaxPool")) return windows_of(node, dims, output, at);
  const std::optional<Apart> apart = apart_axes(node, dims.size(), axes);
  NodeSlices result;
  if (!apart || element_count(dims) == 0 || !take_operands(node, inputs, *apart, result)) return std::nullopt;
  Slicer slicer(dims, *apart, output);
  if (!slicer.is_possible()) return std::nullopt;
  slicer.find_slices(at);
  if (slicer.elements() * 2 > element_count(dims)) return std::nullopt;
  result.dims = slicer.smaller_input();
  result.from = slicer.input_positions();
  result.at = slicer.output_positions(at);
  if (!result.by_slice.empty())
    for (int64_t slice : slicer.slices()) result.from_values.push_back(slice % dims[1]);
  return result;
}

}  // namespace wootz
