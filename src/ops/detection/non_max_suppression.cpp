// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: for each batch and class, boxes in descending score order (ties: lower index first) are
// kept when their score is above score_threshold and their IoU with every kept box is at most iou_threshold.
// Rows [batch, class, box].
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_non_max_suppression {
namespace {

struct NonMaxSuppressionAttributes {
  int64_t center_point_box = 0;
  template <class V>
  void reflect(V& v) {
    v("center_point_box", center_point_box);
  }
};

std::optional<int64_t> row_bound(InferContext& ctx) {
  const SymbolTable& symbols = ctx.symbols();
  if (!ctx.has_rank(1)) return std::nullopt;
  const auto all = known_upper_product(symbols, ctx.shape(1));
  const auto per_class = ctx.has_input(2) ? scalar_int(ctx, 2) : std::optional<int64_t>(0);
  if (!per_class) return all;
  const auto classes = known_upper_product(symbols, {ctx.shape(1)[0], ctx.shape(1)[1]});
  int64_t limited = 0;
  if (!classes || __builtin_mul_overflow(*classes, std::max<int64_t>(*per_class, 0), &limited)) return all;
  return all ? std::min(*all, limited) : limited;
}

void infer(InferContext& ctx) {
  ctx.check_rank(0, 3);
  ctx.check_rank(1, 3);
  if (ctx.has_rank(0) && ctx.has_rank(1)) {
    ctx.equate(ctx.shape(0)[0], ctx.shape(1)[0], "batch of boxes and scores");
    ctx.equate(ctx.shape(0)[1], ctx.shape(1)[2], "number of boxes");
    ctx.equate(ctx.shape(0)[2], 4, "coordinates of a box");
  }
  ctx.set_output(0, DType::kInt64, {ctx.unknown("selected", row_bound(ctx)), Dim(3)});
}

struct Box {
  float y0, x0, y1, x1;
  float area() const { return (y1 - y0) * (x1 - x0); }
};

/// Corners in any order, or center and size.
Box box_at(const float* b, bool center) {
  if (center) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0),
              width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (!(height > 0 && width > 0) || !(a.area() > 0 && b.area() > 0)) return false;
  const float both = height * width;
  return both / (a.area() + b.area() - both) > threshold;
}

struct Limits {
  int64_t per_class = 0;
  float iou = 0, score = 0;
  bool has_score = false;
};

Limits limits_of(const EvalContext& ctx) {
  Limits l;
  auto scalar = [&](size_t i) {
    ctx.check(ctx.input(i).size() == 1, "expected input " + std::to_string(i) + " to be one number");
    return ctx.input(i).to_doubles()[0];
  };
  if (ctx.has_input(2)) {
    ctx.check(ctx.input(2).size() == 1, "expected max_output_boxes_per_class to be one integer");
    l.per_class = ctx.input(2).to_int64s()[0];
  }
  if (ctx.has_input(3)) l.iou = static_cast<float>(scalar(3));
  l.has_score = ctx.has_input(4);
  if (l.has_score) l.score = static_cast<float>(scalar(4));
  return l;
}

/// Kept boxes by their left edge, in columns as wide as the widest box: what overlaps a box starts in its own
/// column or in a neighbour of that. Detectors that shift each class aside ask for tens of thousands of boxes
/// at once.
class Columns {
 public:
  Columns(const std::vector<Box>& boxes, const Ints& order) : boxes_(boxes) {
    float left = 0, right = 0, widest = 0;
    bool finite = true;
    for (size_t i = 0; i < order.size(); ++i) {
      const Box& b = boxes[static_cast<size_t>(order[i])];
      finite = finite && std::isfinite(b.x0) && std::isfinite(b.x1);
      left = i ? std::min(left, b.x0) : b.x0;
      right = i ? std::max(right, b.x0) : b.x0;
      widest = std::max(widest, b.x1 - b.x0);
    }
    left_ = left;
    const double columns = widest > 0 ? (double(right) - left) / widest : 0;
    if (finite && columns >= 1 && columns < 1e6)
      width_ = widest, kept_.resize(static_cast<size_t>(columns) + 1);
    else
      kept_.resize(1);
  }

  bool is_clear(const Box& box, float iou) const {
    const size_t column = column_of(box), last = std::min(column + 1, kept_.size() - 1);
    for (size_t c = column > 0 ? column - 1 : 0; c <= last; ++c)
      for (int64_t k : kept_[c])
        if (overlaps(box, boxes_[static_cast<size_t>(k)], iou)) return false;
    return true;
  }
  void keep(int64_t index) { kept_[column_of(boxes_[static_cast<size_t>(index)])].push_back(index); }

 private:
  size_t column_of(const Box& box) const {
    return width_ > 0 ? std::min(static_cast<size_t>((double(box.x0) - left_) / width_), kept_.size() - 1)
                      : 0;
  }
  const std::vector<Box>& boxes_;
  std::vector<Ints> kept_;
  double left_ = 0, width_ = 0;
};

/// The boxes kept for one batch and class, best first.
Ints select(const std::vector<Box>& boxes, const float* scores, const Limits& limits) {
  Ints order;
  for (size_t i = 0; i < boxes.size(); ++i)
    if (!limits.has_score || scores[i] > limits.score) order.push_back(static_cast<int64_t>(i));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  Ints kept;
  Columns columns(boxes, order);
  for (int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.per_class) break;
    if (!columns.is_clear(boxes[static_cast<size_t>(candidate)], limits.iou)) continue;
    kept.push_back(candidate);
    columns.keep(candidate);
  }
  return kept;
}

void evaluate(EvalContext& ctx) {
  const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
  ctx.check(boxes.rank() == 3 && scores.rank() == 3 && boxes.dims()[2] == 4,
            "expected boxes [n, b, 4] and scores [n, c, b]");
  const int64_t batches = boxes.dims()[0], count = boxes.dims()[1], classes = scores.dims()[1];
  ctx.check(scores.dims()[0] == batches && scores.dims()[2] == count,
            "expected boxes [n, b, 4] and scores [n, c, b]");
  ctx.check(boxes.dtype() == DType::kFloat32 && scores.dtype() == DType::kFloat32,
            "expected float32 boxes and scores");
  const bool center = ctx.attributes_as<NonMaxSuppressionAttributes>().center_point_box != 0;
  const Limits limits = limits_of(ctx);
  Ints rows;
  for (int64_t n = 0; n < batches; ++n) {
    std::vector<Box> of_batch;
    for (int64_t b = 0; b < count; ++b)
      of_batch.push_back(box_at(boxes.as<float>() + (n * count + b) * 4, center));
    for (int64_t c = 0; c < classes; ++c)
      for (int64_t b : select(of_batch, scores.as<float>() + (n * classes + c) * count, limits))
        rows.insert(rows.end(), {n, c, b});
  }
  Tensor& out = ctx.output(0, DType::kInt64, {static_cast<int64_t>(rows.size()) / 3, 3});
  std::copy(rows.begin(), rows.end(), out.as<int64_t>());
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
  const Tensor scores = floats({1, 1, 3}, {0.9f, 0.75f, 0.6f});
  const Tensor two = ints({2}), half = floats({1}, {0.5f}), zero = floats({1}, {0});
  return {
      make("suppressed by IoU", {boxes, scores, two, half, zero}),
      make("no limit given keeps nothing", {boxes, scores}),
      make("score threshold", {boxes, scores, ints({3}), floats({}, {1}), floats({}, {0.7f})}),
      make("flipped corners",
           {floats({1, 2, 4}, {1, 1, 0, 0, 0, 0, 1, 1}), floats({1, 1, 2}, {0.5f, 0.5f}), two, half}),
      make("center boxes",
           {floats({1, 2, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1}), floats({1, 1, 2}, {0.2f, 0.3f}), two,
            half},
           {{"center_point_box", int64_t{1}}}),
      make("two classes", {boxes, floats({1, 2, 3}, {0.1f, 0.2f, 0.3f, 0.3f, 0.2f, 0.1f}), ints({1}), half}),
      make("no boxes",
           {Tensor::zeros(DType::kFloat32, {1, 0, 4}), Tensor::zeros(DType::kFloat32, {1, 2, 0}), two, half}),
      make("zero area", {Tensor::zeros(DType::kFloat32, {1, 2, 4}), floats({1, 1, 2}, {1, 2}), two, half})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "NonMaxSuppression";
  def.doc =
      "For each batch and class, boxes in descending score order are kept when their score is above "
      "score_threshold and "
      "their IoU with every kept box is at most iou_threshold; rows [batch, class, box].";
  def.since = 10;
  def.min_inputs = 2;
  def.max_inputs = 5;
  def.attributes = attribute_specs<NonMaxSuppressionAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_non_max_suppression
