// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include <algorithm>
#include <cmath>

#include "ops/doubles.h"

namespace wootz {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::kInvalidModel, message); }

void check_list(const char* name, const Ints& values, size_t expected, int64_t least) {
  if (values.empty()) return;
  if (values.size() != expected)
    fail(std::string(name) + ": expected " + std::to_string(expected) +
         " values for the spatial axes, found " + std::to_string(values.size()));
  for (int64_t v : values)
    if (v < least)
      fail(std::string(name) + ": expected values >= " + std::to_string(least) + ", found " +
           dims_text(values));
}

bool is_same(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

/// Checks the attributes against `rank` spatial axes and fills in the defaults.
WindowAttributes with_defaults(const WindowAttributes& a, size_t rank) {
  if (a.auto_pad != "NOTSET" && !a.auto_pad.empty() && a.auto_pad != "VALID" && !is_same(a.auto_pad))
    fail("auto_pad: expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, found '" + a.auto_pad + "'");
  check_list("kernel_shape", a.kernel_shape, rank, 1);
  check_list("strides", a.strides, rank, 1);
  check_list("dilations", a.dilations, rank, 1);
  check_list("pads", a.pads, 2 * rank, INT64_MIN);
  WindowAttributes r = a;
  if (r.strides.empty()) r.strides.assign(rank, 1);
  if (r.dilations.empty()) r.dilations.assign(rank, 1);
  if (r.pads.empty() || (a.auto_pad != "NOTSET" && !a.auto_pad.empty())) r.pads.assign(2 * rank, 0);
  return r;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Window window_of(const WindowAttributes& a, std::span<const int64_t> kernel, std::span<const int64_t> input) {
  Window w;
  w.kernel.assign(kernel.begin(), kernel.end());
  w.input.assign(input.begin(), input.end());
  w.strides = a.strides;
  w.dilations = a.dilations;
  w.pads_begin.assign(a.pads.begin(), a.pads.begin() + static_cast<long>(kernel.size()));
  w.pads_end.assign(a.pads.begin() + static_cast<long>(kernel.size()), a.pads.end());
  w.output.resize(kernel.size());
  return w;
}

void split_padding(int64_t total, bool more_at_end, int64_t& begin, int64_t& end) {
  begin = more_at_end ? floor_div(total, 2) : total - floor_div(total, 2);
  end = total - begin;
}

}  // namespace

Window resolve_window(const WindowAttributes& attributes, std::span<const int64_t> kernel,
                      std::span<const int64_t> input) {
  if (input.size() != kernel.size())
    fail("expected a kernel with " + std::to_string(input.size()) + " spatial axes, found " +
         dims_text(kernel));
  const WindowAttributes a = with_defaults(attributes, kernel.size());
  Window w = window_of(a, kernel, input);
  for (size_t i = 0; i < kernel.size(); ++i) {
    // Sums and products of a few of these fit.
    for (const int64_t v :
         {kernel[i], a.dilations[i], a.strides[i], w.pads_begin[i], w.pads_end[i], input[i]})
      if (std::abs(static_cast<double>(v)) > 0x1p31)
        fail("expected window, padding and input within 31 bits, found " + std::to_string(v));
    const int64_t extent = (kernel[i] - 1) * a.dilations[i] + 1, stride = a.strides[i];
    if (is_same(a.auto_pad)) {
      w.output[i] = floor_div(input[i] + stride - 1, stride);
      const int64_t total = std::max<int64_t>(0, (w.output[i] - 1) * stride + extent - input[i]);
      split_padding(total, a.auto_pad == "SAME_UPPER", w.pads_begin[i], w.pads_end[i]);
      continue;
    }
    const int64_t room = input[i] + w.pads_begin[i] + w.pads_end[i] - extent;
    w.output[i] = floor_div(room, stride) + 1;
    if (a.ceil_mode &&
        a.auto_pad != "VALID")  // windows that would start in the padding at the end are left out
      w.output[i] = std::min(floor_div(room + stride - 1, stride) + 1,
                             floor_div(input[i] + w.pads_begin[i] + stride - 1, stride));
    if (w.output[i] < 0)
      fail("a window of extent " + std::to_string(extent) + " does not fit: spatial axis " +
           std::to_string(i) + " has " + std::to_string(input[i] + w.pads_begin[i] + w.pads_end[i]) +
           " elements with padding");
  }
  return w;
}

std::vector<Dim> window_output(SymbolTable& symbols, const WindowAttributes& attributes,
                               std::span<const Dim> kernel, std::span<const Dim> input) {
  if (input.size() != kernel.size())
    fail("expected a kernel with " + std::to_string(input.size()) + " spatial axes, found " +
         std::to_string(kernel.size()));
  const WindowAttributes a = with_defaults(attributes, kernel.size());
  std::vector<Dim> output(kernel.size());
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (input[i].is_constant() && kernel[i].is_constant()) {
      WindowAttributes one = a;
      one.kernel_shape.clear();
      one.strides = {a.strides[i]};
      one.dilations = {a.dilations[i]};
      one.pads = {a.pads[i], a.pads[i + kernel.size()]};
      const int64_t k = kernel[i].value(), n = input[i].value();
      output[i] = resolve_window(one, {&k, 1}, {&n, 1}).output[0];
      continue;
    }
    const int64_t stride = a.strides[i];
    if (is_same(a.auto_pad)) {
      output[i] = symbols.ceil_div(input[i], stride);
      continue;
    }
    const Dim padded = input[i] + Dim(a.pads[i]);
    const Dim room = padded + Dim(a.pads[i + kernel.size()]) - (kernel[i] - Dim(1)) * a.dilations[i] - Dim(1);
    output[i] = symbols.floor_div(room, stride) + Dim(1);
    if (a.ceil_mode && a.auto_pad != "VALID" && stride != 1)
      output[i] = symbols.min(symbols.ceil_div(room, stride) + Dim(1), symbols.ceil_div(padded, stride));
  }
  return output;
}

Window resolve_transposed_window(const WindowAttributes& attributes, std::span<const int64_t> output_padding,
                                 std::span<const int64_t> output_shape, std::span<const int64_t> kernel,
                                 std::span<const int64_t> input) {
  const size_t rank = kernel.size();
  const std::vector<Dim> kernel_dims(kernel.begin(), kernel.end()), input_dims(input.begin(), input.end());
  const std::vector<Dim> output =
      transposed_window_output(attributes, output_padding, output_shape, kernel_dims, input_dims);
  const WindowAttributes a = with_defaults(attributes, rank);
  Window w = window_of(a, kernel, input);
  for (size_t i = 0; i < rank; ++i) {
    w.output[i] = output[i].value();
    if (w.output[i] < 0)
      fail("the pads " + dims_text(a.pads) + " leave a negative size on spatial axis " + std::to_string(i));
    const int64_t extra = output_padding.empty() ? 0 : output_padding[i];
    const int64_t full = a.strides[i] * (input[i] - 1) + extra + (kernel[i] - 1) * a.dilations[i] + 1;
    if (!output_shape.empty() || is_same(a.auto_pad))
      split_padding(full - w.output[i], a.auto_pad == "SAME_UPPER", w.pads_begin[i], w.pads_end[i]);
  }
  return w;
}

std::vector<Dim> transposed_window_output(const WindowAttributes& attributes,
                                          std::span<const int64_t> output_padding,
                                          std::span<const int64_t> output_shape, std::span<const Dim> kernel,
                                          std::span<const Dim> input) {
  const size_t rank = kernel.size();
  if (input.size() != rank)
    fail("expected a kernel with " + std::to_string(input.size()) + " spatial axes, found " +
         std::to_string(rank));
  const WindowAttributes a = with_defaults(attributes, rank);
  check_list("output_padding", Ints(output_padding.begin(), output_padding.end()), rank, 0);
  // Some exporters write batch and channels too; the specification wants the spatial dims only.
  if (output_shape.size() == rank + 2) output_shape = output_shape.subspan(2);
  check_list("output_shape", Ints(output_shape.begin(), output_shape.end()), rank, 0);
  std::vector<Dim> output(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (!output_shape.empty())
      output[i] = output_shape[i];
    else if (is_same(a.auto_pad))
      output[i] = input[i] * a.strides[i];
    else
      output[i] = (input[i] - Dim(1)) * a.strides[i] + (kernel[i] - Dim(1)) * a.dilations[i] +
                  Dim(output_padding.empty() ? 0 : output_padding[i]) + Dim(1) - Dim(a.pads[i]) -
                  Dim(a.pads[i + rank]);
  }
  return output;
}

void window_offsets(const Window& w, int64_t first, int64_t count, int64_t* offsets) {
  const size_t rank = w.rank();
  const int64_t taps = w.taps();
  const Dims input_strides = contiguous_strides(w.input);
  Dims at(rank), tap(rank);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = first + i;
    for (size_t d = rank; d-- > 0;) {
      at[d] = rest % w.output[d] * w.strides[d] - w.pads_begin[d];
      rest /= w.output[d];
    }
    std::fill(tap.begin(), tap.end(), 0);
    for (int64_t t = 0; t < taps; ++t) {
      int64_t offset = 0;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t p = at[d] + tap[d] * w.dilations[d];
        if (p < 0 || p >= w.input[d]) {
          offset = -1;
          break;
        }
        offset += p * input_strides[d];
      }
      offsets[t * count + i] = offset;
      for (size_t d = rank; d-- > 0;) {
        if (++tap[d] < w.kernel[d]) break;
        tap[d] = 0;
      }
    }
  }
}

}  // namespace wootz
