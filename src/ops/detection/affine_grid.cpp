// SPDX-License-Identifier: Apache-2.0
// AffineGrid: grid[n, position, :] = theta[n] * [x, y, (z,) 1] for positions evenly spaced over [-1, 1].
#include "ops/contents.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_affine_grid {
namespace {

struct AffineGridAttributes {
  int64_t align_corners = 0;
  template <class V>
  void reflect(V& v) {
    v("align_corners", align_corners);
  }
};

void infer(InferContext& ctx) {
  ctx.check_rank(0, 3);
  ctx.set_output(0, ctx.dtype(0));
  const auto size = small_contents(ctx, 1);
  const auto count = size ? static_cast<int64_t>(size->size()) : static_length(ctx, 1).value_or(0);
  if (count == 0) return;
  ctx.check(count == 4 || count == 5,
            "expected size [n, c, h, w] or [n, c, d, h, w], found " + std::to_string(count) + " numbers");
  Shape shape{size ? (*size)[0] : ctx.unknown("batch")};
  for (size_t k = 2; k < static_cast<size_t>(count); ++k)
    shape.push_back(size ? (*size)[k] : ctx.unknown("grid"));
  shape.push_back(count - 2);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

double position(int64_t i, int64_t size, bool align_corners) {
  const auto at = static_cast<double>(i), length = static_cast<double>(size);
  if (!align_corners) return (2 * at + 1) / length - 1;
  return size > 1 ? 2 * at / (length - 1) - 1 : -1;
}

void evaluate(EvalContext& ctx) {
  const Tensor& theta = ctx.input(0);
  const Dims size = ctx.input(1).to_int64s();
  ctx.check(size.size() == 4 || size.size() == 5, "expected size [n, c, h, w] or [n, c, d, h, w]");
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  ctx.check(theta.dims() == (Dims{size[0], axes, axes + 1}),
            "expected theta [" + std::to_string(size[0]) + "," + std::to_string(axes) + "," +
                std::to_string(axes + 1) + "], found " + to_string(theta.dims()));
  const bool align = ctx.attributes_as<AffineGridAttributes>().align_corners != 0;
  const Dims spatial(size.begin() + 2, size.end());
  const int64_t points = checked_count(spatial, "AffineGrid");
  Dims dims = spatial;
  dims.insert(dims.begin(), size[0]);
  dims.push_back(axes);
  checked_count(dims, "AffineGrid");
  const std::vector<double> matrix = theta.to_doubles();
  Tensor& out = ctx.output(0, theta.dtype(), dims);
  std::vector<double> row(static_cast<size_t>(axes));
  for (int64_t n = 0; n < size[0]; ++n) {
    Dims at(spatial.size(), 0);
    for (int64_t p = 0; p < points; ++p, next_index(spatial, at)) {
      for (int64_t r = 0; r < axes; ++r) {
        const double* m = matrix.data() + (n * axes + r) * (axes + 1);
        double sum = m[axes];
        for (int64_t k = 0; k < axes; ++k) {  // x is the last spatial axis
          const auto axis = static_cast<size_t>(axes - 1 - k);
          sum += m[k] * position(at[axis], spatial[axis], align);
        }
        row[static_cast<size_t>(r)] = sum;
      }
      store_reals(out, (n * points + p) * axes, row);
    }
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor theta = floats({1, 2, 3}, {1, 0.5f, -1, -0.5f, 1, 2});
  const std::pair<std::string, Attribute> aligned{"align_corners", int64_t{1}};
  return {make("image", {theta, ints({1, 3, 2, 3})}),
          make("aligned", {theta, ints({1, 3, 2, 3})}, {aligned}),
          make("one pixel", {theta, ints({1, 1, 1, 1})}, {aligned}),
          make("volume", {counting(DType::kFloat32, {1, 3, 4}), ints({1, 1, 2, 1, 2})}),
          make("empty", {theta, ints({1, 1, 0, 2})}),
          make("half", {counting(DType::kFloat16, {2, 2, 3}), ints({2, 1, 1, 2})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "AffineGrid";
  def.doc = "grid[n, position, :] = theta[n] * [x, y, (z,) 1] for positions evenly spaced over [-1, 1].";
  def.since = 20;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<AffineGridAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_affine_grid
