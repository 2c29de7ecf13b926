// SPDX-License-Identifier: Apache-2.0
// Trilu: the upper (j >= i + k) or lower (j <= i + k) triangle of each matrix, zero elsewhere.
#include <algorithm>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_trilu {
namespace {

struct TriluAttributes {
  int64_t upper = 1;
  template <class V>
  void reflect(V& v) {
    v("upper", upper);
  }
};

void infer(InferContext& ctx) {
  if (ctx.has_rank(0))
    ctx.check(ctx.rank(0) >= 2, "expected rank >= 2, found " + std::to_string(ctx.rank(0)));
  ctx.set_output(0, ctx.input(0));
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  ctx.check(x.rank() >= 2, "expected rank >= 2, found " + std::to_string(x.rank()));
  const int64_t rows = x.dims()[x.dims().size() - 2], columns = x.dims().back();
  int64_t k = 0;
  if (ctx.has_input(1)) {
    ctx.check(ctx.input(1).size() == 1, "expected k to be one integer");
    k = std::clamp<int64_t>(only_int64(ctx.input(1), "k"), -rows, columns);
  }
  const bool upper = ctx.attributes_as<TriluAttributes>().upper != 0;
  Tensor& out = ctx.output(0, x.dtype(), x.dims());
  fill_elements(Tensor::zeros(x.dtype(), {}).data(), 0, out);
  for (int64_t r = 0, n = columns > 0 ? x.size() / columns : 0; r < n; ++r) {
    const int64_t diagonal = r % rows + k;
    const int64_t begin = upper ? std::clamp<int64_t>(diagonal, 0, columns) : 0;
    const int64_t end = upper ? columns : std::clamp<int64_t>(diagonal + 1, 0, columns);
    copy_elements(x.dtype(), x.data(), r * columns + begin, out.data(), r * columns + begin,
                  std::max<int64_t>(end - begin, 0));
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 3, 4});
  const std::pair<std::string, Attribute> lower{"upper", int64_t{0}};
  return {make("upper", {x}),
          make("lower", {x}, {lower}),
          make("above", {x, Tensor::scalar_int64(2)}),
          make("below", {x, Tensor::scalar_int64(-1)}, {lower}),
          make("far above", {x, Tensor::scalar_int64(INT64_MAX)}),
          make("far below", {x, Tensor::scalar_int64(INT64_MIN)}),
          make("k as a vector", {x, ints({1})}),
          make("empty", {counting(DType::kInt32, {3, 0})}),
          make("bools", {bools({2, 2}, {1, 1, 1, 1})}, {lower})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Trilu";
  def.doc = "The upper (j >= i + k) or lower (j <= i + k) triangle of each matrix, zero elsewhere.";
  def.since = 14;
  def.min_inputs = 1;
  def.max_inputs = 2;
  def.attributes = attribute_specs<TriluAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_trilu
