// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/movement/movement_plan.h"

#include <algorithm>
#include <utility>

#include "backends/cuda/codegen/main_view.h"
#include "backends/cuda/kernels/movement/copy_pieces.h"

namespace wootz {
namespace {

class Planner {
 public:
  explicit Planner(const MainView& view) : view_(view), writer_(view.problem()) {}

  LaunchPlan plan() {
    for (const TensorDesc& output : view_.problem().outputs)
      if (memory_type(output.dtype).empty()) return LaunchPlan::refuse("elements that a GPU cannot hold");
    if (!view_.has_input(0) || view_.has_tail()) return LaunchPlan::refuse("no data, or a tail");
    refusal_ = pieces();
    if (!refusal_.empty()) return LaunchPlan::refuse(refusal_);
    for (const CopyPiece& piece : pieces_)
      if (piece.dims.size() > 16) return LaunchPlan::refuse("more than 16 dimensions");
    LaunchPlan plan;
    int64_t elements = 0;
    for (const CopyPiece& piece : pieces_) elements += element_count(piece.dims);
    const DType dtype = view_.problem().outputs[0].dtype;
    if (elements > 0)
      plan.launches.push_back(has_narrow_rows()
                                  ? write_rows(std::move(writer_), pieces_, axis(to().dims.size()), dtype)
                                  : write_copies(std::move(writer_), pieces_, dtype));
    return plan;
  }

 private:
  /// A Concat along the result's innermost axis, with a piece of less than a sector of 32 bytes: written
  /// piece by piece, its sectors would reach memory in parts.
  bool has_narrow_rows() const {
    if (view_.node().op != "Concat" || pieces_.size() < 2 || pieces_.size() > 8) return false;
    const size_t a = axis(to().dims.size());
    const auto is_narrow = [&](const CopyPiece& p) {
      return p.dims[a] * static_cast<int64_t>(dtype_size(to().dtype)) < 32;
    };
    const int64_t row_bytes = to().dims[a] * static_cast<int64_t>(dtype_size(to().dtype));
    return to().strides[a] == 1 && row_bytes >= 32 && row_bytes <= 4096 &&
           std::all_of(pieces_.begin(), pieces_.end(), [&](const CopyPiece& p) { return p.dims[a] > 0; }) &&
           std::any_of(pieces_.begin(), pieces_.end(), is_narrow);
  }

  std::string pieces() {
    const std::string& op = view_.node().op;
    if (op == "Transpose") return transpose();
    if (op == "Concat") return concat();
    if (op == "Split") return split();
    if (op == "Slice") return slice();
    if (op == "Expand") return expand();
    if (op == "Tile") return tile();
    if (op == "DepthToSpace" || op == "SpaceToDepth") return blocks(op == "DepthToSpace");
    if (op == "CenterCropPad") return "padding";
    return reshape();
  }

  const TensorDesc& from() const { return view_.input(0); }
  const TensorDesc& to() const { return *view_.output(0); }
  void add(Dims dims, size_t input, Dims from_strides, int64_t from_offset, size_t output, Dims to_strides,
           int64_t to_offset) {
    std::string source = writer_.input(view_.input_index(input));
    if (view_.is("BitCast"))
      source = "reinterpret_cast<const " + std::string(memory_type(to().dtype)) + "*>(" + source + ")";
    pieces_.push_back({std::move(dims), std::move(source), std::move(from_strides), from_offset,
                       writer_.output(view_.output_index(output)), std::move(to_strides), to_offset});
  }
  size_t axis(size_t rank) const {
    const int64_t a = view_.node().attributes.get<int64_t>("axis", 0);
    return static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(rank) : a);
  }

  std::string transpose() {
    const Dims own = view_.strides(0);
    Ints perm = view_.node().attributes.get<Ints>("perm", {});
    if (perm.empty())
      for (size_t d = own.size(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
    Dims strides;
    for (int64_t p : perm) strides.push_back(own[static_cast<size_t>(p)]);
    add(to().dims, 0, strides, 0, 0, to().strides, 0);
    return "";
  }

  std::string concat() {
    const size_t a = axis(to().dims.size());
    int64_t at = 0;
    for (size_t i = 0; i < view_.input_count(); ++i) {
      if (!view_.has_input(i)) return "an input that is left out";
      add(view_.input(i).dims, i, view_.strides(i), 0, 0, to().strides, at * to().strides[a]);
      at += view_.input(i).dims[a];
    }
    return "";
  }

  std::string split() {
    const Dims own = view_.strides(0), &dims = from().dims;
    const size_t a = axis(dims.size());
    const auto lengths = view_.ints(1);
    if (view_.has_input(1) && !lengths) return "split lengths that only the run tells";
    const auto parts =
        view_.node().attributes.get<int64_t>("num_outputs", static_cast<int64_t>(view_.output_count()));
    const int64_t part = (dims[a] + parts - 1) / parts;
    int64_t at = 0;
    for (size_t i = 0; i < view_.output_count(); ++i) {
      const int64_t length = lengths ? (*lengths)[i] : std::clamp<int64_t>(dims[a] - at, 0, part);
      if (const TensorDesc* y = view_.output(i)) add(y->dims, 0, own, at * own[a], i, y->strides, 0);
      at += length;
    }
    return "";
  }

  std::string slice() {
    const Dims own = view_.strides(0);
    const auto starts = view_.ints(1), axes = view_.ints(3), steps = view_.ints(4);
    if (!starts || (view_.has_input(3) && !axes) || (view_.has_input(4) && !steps))
      return "bounds that only the run tells";
    Dims strides = own;
    std::vector<char> is_cut(own.size(), 0);
    int64_t offset = 0;
    const auto rank = static_cast<int64_t>(own.size());
    for (size_t i = 0; i < starts->size(); ++i) {
      const int64_t named = axes ? (*axes)[i] : static_cast<int64_t>(i);
      const auto a = static_cast<size_t>(named < 0 ? named + rank : named);
      if (std::exchange(is_cut[a], 1)) return "an axis that is cut twice";
      const int64_t step = steps ? (*steps)[i] : 1, dim = from().dims[a];
      int64_t start = (*starts)[i];
      if (start < 0) start = start < -dim ? (step > 0 ? 0 : -1) : start + dim;
      start = std::clamp<int64_t>(start, 0, step > 0 ? dim : std::max<int64_t>(dim - 1, 0));
      offset += start * own[a];
      strides[a] = own[a] * (to().dims[a] > 1 ? step : 1);
    }
    add(to().dims, 0, strides, offset, 0, to().strides, 0);
    return "";
  }

  std::string expand() {
    const std::optional<Dims> strides = broadcast_to(from().dims, view_.strides(0), to().dims);
    if (!strides) return "the data does not broadcast to the result";
    add(to().dims, 0, *strides, 0, 0, to().strides, 0);
    return "";
  }

  std::string tile() {
    const Dims own = view_.strides(0);
    Dims dims, from_strides, to_strides;
    for (size_t d = 0; d < own.size(); ++d) {
      const int64_t size = from().dims[d];
      dims.insert(dims.end(), {size ? to().dims[d] / size : 0, size});
      from_strides.insert(from_strides.end(), {0, own[d]});
      to_strides.insert(to_strides.end(), {to().strides[d] * size, to().strides[d]});
    }
    add(dims, 0, from_strides, 0, 0, to_strides, 0);
    return "";
  }

  /// One side is dense, so that it can be seen under the other's dims.
  std::string reshape() {
    const Dims own = view_.strides(0);
    if (from().dims == to().dims)
      add(from().dims, 0, own, 0, 0, to().strides, 0);
    else if (from().constant || from().is_row_major())
      add(to().dims, 0, contiguous_strides(to().dims), 0, 0, to().strides, 0);
    else if (to().is_row_major())
      add(from().dims, 0, own, 0, 0, contiguous_strides(from().dims), 0);
    else
      return "a reshape between two arrays that are not row-major";
    return "";
  }

  /// The deep side [N, b*b*C, H, W] and the wide side [N, C, H*b, W*b] as [N, C, H, W, b, b].
  std::string blocks(bool to_space) {
    const Dims own = view_.strides(0);
    const Dims &deep_dims = to_space ? from().dims : to().dims,
               &wide_dims = to_space ? to().dims : from().dims;
    const Dims &deep = to_space ? own : to().strides, &wide = to_space ? to().strides : own;
    const int64_t b = view_.node().attributes.get<int64_t>("blocksize", 1), channels = wide_dims[1];
    const bool depth_first = view_.node().attributes.get<std::string>("mode", "DCR") == "CRD";
    const int64_t c = depth_first ? b * b : 1, i = depth_first ? b : b * channels,
                  j = depth_first ? 1 : channels;
    const Dims dims = {wide_dims[0], channels, deep_dims[2], deep_dims[3], b, b};
    const Dims from_deep = {deep[0], deep[1] * c, deep[2], deep[3], deep[1] * i, deep[1] * j};
    const Dims from_wide = {wide[0], wide[1], wide[2] * b, wide[3] * b, wide[2], wide[3]};
    add(dims, 0, to_space ? from_deep : from_wide, 0, 0, to_space ? from_wide : from_deep, 0);
    return "";
  }

  const MainView& view_;
  KernelWriter writer_;
  std::vector<CopyPiece> pieces_;
  std::string refusal_;
};

}  // namespace

LaunchPlan plan_movement(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(
      problem, {"Transpose", "Concat", "Split", "Slice", "Expand", "Tile", "DepthToSpace", "SpaceToDepth",
                "Relayout", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "BitCast"});
  if (!view) return LaunchPlan::refuse("not one operator that moves whole elements");
  if (view->problem().outputs.empty()) return LaunchPlan::refuse("no result");
  if (view->is("Dropout") && view->problem().outputs.size() != 1)
    return LaunchPlan::refuse("a mask is wanted");
  if (view->is("Dropout") && view->has_input(2)) return LaunchPlan::refuse("training");
  if (view->is("BitCast") &&
      (dtype_file_bits(view->result().dtype) < 8 || view->result().dtype == DType::kBool))
    return LaunchPlan::refuse("bits that count only in part");
  return Planner(*view).plan();
}

}  // namespace wootz
