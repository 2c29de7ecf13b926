// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/movement/moves.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace wootz {
namespace {

/// A strided array in the making: dims and strides of one side of a copy, and where it starts (elements).
struct Side {
  Dims dims, strides;
  int64_t offset = 0;
};

Side side_of(const TensorDesc& desc) { return {desc.dims, strides_of(desc), 0}; }

class Planner {
 public:
  explicit Planner(const NodeView& view) : view_(view) {
    for (size_t i = 0; i < view.output_count(); ++i)
      if (view.output(i)) bytes_ = static_cast<int64_t>(dtype_size(view.output(i)->dtype));
  }

  MovePlan plan() {
    const std::string& op = view_.node().op;
    if (op == "Transpose")
      transpose();
    else if (op == "Concat")
      concat();
    else if (op == "Split")
      split();
    else if (op == "Slice")
      slice();
    else if (op == "Pad")
      pad();
    else if (op == "Expand")
      expand();
    else if (op == "Tile")
      tile();
    else if (op == "DepthToSpace" || op == "SpaceToDepth")
      blocks(op == "DepthToSpace");
    else
      reshape();
    return std::move(plan_);
  }

 private:
  void refuse(std::string reason) { plan_.refusal = std::move(reason); }
  void add(const Dims& dims, int from, Dims from_strides, int64_t from_offset, int to, Dims to_strides,
           int64_t to_offset) {
    plan_.moves.push_back(
        {StridedCopy(dims, std::move(from_strides), std::move(to_strides), static_cast<size_t>(bytes_)), from,
         from_offset * bytes_, to, to_offset * bytes_});
  }
  const TensorDesc& output() const { return *view_.output(0); }
  size_t axis(int64_t fallback, size_t rank) const {
    const int64_t a = view_.node().attributes.get<int64_t>("axis", fallback);
    return static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(rank) : a);
  }

  void transpose() {
    const Side from = side_of(view_.input(0));
    Ints perm = view_.node().attributes.get<Ints>("perm", {});
    if (perm.empty())
      for (size_t d = from.dims.size(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
    Dims strides;
    for (int64_t p : perm) strides.push_back(from.strides[static_cast<size_t>(p)]);
    add(output().dims, 0, strides, 0, 0, output().strides, 0);
  }

  void concat() {
    const size_t a = axis(0, output().dims.size());
    int64_t at = 0;
    for (size_t i = 0; i < view_.input_count(); ++i) {
      const Side from = side_of(view_.input(i));
      add(from.dims, static_cast<int>(i), from.strides, 0, 0, output().strides, at * output().strides[a]);
      at += from.dims[a];
    }
  }

  void split() {
    const Side from = side_of(view_.input(0));
    const size_t a = axis(0, from.dims.size());
    std::optional<std::vector<int64_t>> lengths = view_.ints(1);
    if (view_.has_input(1) && !lengths) return refuse("split lengths that only the run tells");
    const auto parts =
        view_.node().attributes.get<int64_t>("num_outputs", static_cast<int64_t>(view_.output_count()));
    const int64_t part = (from.dims[a] + parts - 1) / parts;
    int64_t at = 0;
    for (size_t i = 0; i < view_.output_count(); ++i) {
      const int64_t length = lengths ? (*lengths)[i] : std::clamp<int64_t>(from.dims[a] - at, 0, part);
      if (const TensorDesc* to = view_.output(i))
        add(to->dims, 0, from.strides, at * from.strides[a], static_cast<int>(i), to->strides, 0);
      at += length;
    }
  }

  void slice() {
    const Side from = side_of(view_.input(0));
    const auto starts = view_.ints(1);
    auto axes = view_.ints(3), steps = view_.ints(4);
    if (!starts || (view_.has_input(3) && !axes) || (view_.has_input(4) && !steps))
      return refuse("bounds that only the run tells");
    Dims strides = from.strides;
    std::vector<char> is_cut(from.dims.size(), 0);
    int64_t offset = 0;
    for (size_t i = 0; i < starts->size(); ++i) {
      const int64_t named = axes ? (*axes)[i] : static_cast<int64_t>(i);
      const auto a = static_cast<size_t>(named < 0 ? named + static_cast<int64_t>(from.dims.size()) : named);
      if (std::exchange(is_cut[a], 1)) return refuse("an axis that is cut twice");
      const int64_t step = steps ? (*steps)[i] : 1, dim = from.dims[a];
      int64_t start = (*starts)[i];
      if (start < 0) start = start < -dim ? (step > 0 ? 0 : -1) : start + dim;
      start = std::clamp<int64_t>(start, 0, step > 0 ? dim : std::max<int64_t>(dim - 1, 0));
      offset += start * from.strides[a];
      strides[a] = from.strides[a] * step;
    }
    add(output().dims, 0, strides, offset, 0, output().strides, 0);
  }

  void expand() {
    const Side from = side_of(view_.input(0));
    bool fits = true;
    const Dims strides =
        broadcast_strides(std::span<const int64_t>(from.dims), std::span<const int64_t>(from.strides),
                          std::span<const int64_t>(output().dims), fits);
    if (!fits) return refuse("the data does not broadcast to the result");
    add(output().dims, 0, strides, 0, 0, output().strides, 0);
  }

  void tile() {
    const Side from = side_of(view_.input(0));
    Dims dims, from_strides, to_strides;
    for (size_t d = 0; d < from.dims.size(); ++d) {
      const int64_t size = from.dims[d];
      dims.push_back(size ? output().dims[d] / size : 0);
      dims.push_back(size);
      from_strides.push_back(0);
      from_strides.push_back(from.strides[d]);
      to_strides.push_back(output().strides[d] * size);
      to_strides.push_back(output().strides[d]);
    }
    if (dims.size() > LoopNest::kMaxDims) return refuse("more than 8 dimensions");
    add(dims, 0, from_strides, 0, 0, to_strides, 0);
  }

  /// One side is dense, so that it can be seen under the other's dims.
  void reshape() {
    const TensorDesc& from = view_.input(0);
    if (from.dims == output().dims) return add(from.dims, 0, strides_of(from), 0, 0, output().strides, 0);
    if (from.constant || from.is_row_major())
      return add(output().dims, 0, contiguous_strides(output().dims), 0, 0, output().strides, 0);
    if (output().is_row_major())
      return add(from.dims, 0, from.strides, 0, 0, contiguous_strides(from.dims), 0);
    refuse("a reshape between two arrays that are not row-major");
  }

  /// The deep side [N, b*b*C, H, W] and the wide side [N, C, H*b, W*b] as [N, C, H, W, b, b].
  void blocks(bool to_space) {
    const Side from = side_of(view_.input(0));
    const Side deep = to_space ? from : Side{output().dims, output().strides, 0};
    const Side wide = to_space ? Side{output().dims, output().strides, 0} : from;
    const int64_t b = view_.node().attributes.get<int64_t>("blocksize", 1), channels = wide.dims[1];
    const bool depth_first = view_.node().attributes.get<std::string>("mode", "DCR") == "CRD";
    const Dims dims = {wide.dims[0], channels, deep.dims[2], deep.dims[3], b, b};
    const int64_t c = depth_first ? b * b : 1, i = depth_first ? b : b * channels,
                  j = depth_first ? 1 : channels;
    const Dims deep_strides = {deep.strides[0], deep.strides[1] * c, deep.strides[2],
                               deep.strides[3], deep.strides[1] * i, deep.strides[1] * j};
    const Dims wide_strides = {wide.strides[0],     wide.strides[1], wide.strides[2] * b,
                               wide.strides[3] * b, wide.strides[2], wide.strides[3]};
    add(dims, 0, to_space ? deep_strides : wide_strides, 0, 0, to_space ? wide_strides : deep_strides, 0);
  }

  /// The interior first; then axis by axis what lies before and after it, over all of the earlier axes.
  void pad() {
    const Side from = side_of(view_.input(0));
    const auto pads = view_.ints(1);
    auto axes = view_.ints(3);
    if (!pads || (view_.has_input(3) && !axes)) return refuse("pads that only the run tells");
    const size_t rank = from.dims.size();
    if (!axes) {
      axes.emplace(rank);
      std::iota(axes->begin(), axes->end(), 0);
    }
    Dims before(rank, 0), inside = from.dims;  // the interior's place in the output, and its dims
    int64_t from_offset = 0, to_offset = 0;
    for (size_t i = 0; i < axes->size(); ++i) {
      const auto a =
          static_cast<size_t>((*axes)[i] < 0 ? (*axes)[i] + static_cast<int64_t>(rank) : (*axes)[i]);
      const int64_t low = (*pads)[i], high = (*pads)[i + axes->size()];
      before[a] = std::max<int64_t>(low, 0);
      inside[a] = from.dims[a] + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0);
      from_offset -= std::min<int64_t>(low, 0) * from.strides[a];
      to_offset += before[a] * output().strides[a];
    }
    for (int64_t d : inside)
      if (d < 0) return refuse("pads that crop more than there is");
    add(inside, 0, from.strides, from_offset, 0, output().strides, to_offset);
    const std::string mode = view_.node().attributes.get<std::string>("mode", "constant");
    Dims done = inside, first = before;  // the part of the output that is written
    for (size_t a = 0; a < rank; ++a) {
      if (mode == "constant")
        pad_constant(a, before, inside, done, first);
      else
        pad_copies(a, mode, before, inside, done, first);
      done[a] = output().dims[a];
      first[a] = 0;
    }
  }

  int64_t offset_of(const Dims& position) const {
    int64_t offset = 0;
    for (size_t d = 0; d < position.size(); ++d) offset += position[d] * output().strides[d];
    return offset;
  }

  void pad_constant(size_t a, const Dims& before, const Dims& inside, Dims done, Dims first) {
    const int64_t after = output().dims[a] - before[a] - inside[a];
    for (const auto& [start, length] :
         {std::pair(int64_t{0}, before[a]), std::pair(before[a] + inside[a], after)}) {
      if (length == 0) continue;
      done[a] = length;
      first[a] = start;
      add(done, view_.has_input(2) ? 2 : Move::kZero, Dims(done.size(), 0), 0, 0, output().strides,
          offset_of(first));
    }
  }

  void pad_copies(size_t a, const std::string& mode, const Dims& before, const Dims& inside, Dims done,
                  Dims first) {
    const int64_t length = inside[a];
    if (length == 0 && output().dims[a] > 0) return refuse("nothing to repeat along a padded axis");
    done[a] = 1;
    for (int64_t at = 0; at < output().dims[a]; ++at) {
      if (at >= before[a] && at < before[a] + length) continue;
      int64_t source = at - before[a];
      if (mode == "edge") {
        source = std::clamp<int64_t>(source, 0, length - 1);
      } else {
        const int64_t period = mode == "wrap" ? length : std::max<int64_t>(2 * (length - 1), 1);
        source = ((source % period) + period) % period;
        if (mode == "reflect" && source >= length) source = period - source;
      }
      first[a] = before[a] + source;
      const int64_t from = offset_of(first);
      first[a] = at;
      add(done, Move::kOutput, output().strides, from, 0, output().strides, offset_of(first));
    }
  }

  const NodeView& view_;
  int64_t bytes_ = 1;
  MovePlan plan_;
};

}  // namespace

MovePlan plan_moves(const NodeView& view) { return Planner(view).plan(); }

}  // namespace wootz
