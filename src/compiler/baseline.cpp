// SPDX-License-Identifier: Apache-2.0
#include "compiler/baseline.h"

#include <cmath>

#include "compiler/quick_products.h"
#include "device/region.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "runtime/sampled_reference.h"

namespace wootz {
namespace {

constexpr size_t kSampledElements = 24;
// Relative to the largest sampled magnitude: float32 sums of some thousand products, and their rounding to 16
// bits.
constexpr double kQuickBound = 1e-4, kShortBound = 1e-2;

/// Whether the quick result may stand. Where float32 sums overflowed on their way to a finite result it may
/// not.
bool passes_samples(const Node& node, std::span<const Datum* const> inputs, const Tensor& found) {
  const std::vector<int64_t> at = sample_positions(found.dims(), kSampledElements, 29);
  std::vector<Datum> outputs(1);
  EvalContext context(node, inputs, outputs);
  std::vector<double> want(at.size());
  op_of(node).evaluate_elements(context, at, want);
  double scale = 0;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  const double bound = found.dtype() == DType::kFloat32 ? kQuickBound : kShortBound;
  for (size_t i = 0; i < at.size(); ++i) {
    const double got = load_double(found, at[i]);
    if (!std::isfinite(want[i]) || std::fabs(got - want[i]) <= bound * scale + 1e-30) continue;
    if (!std::isfinite(got)) return false;
    throw Error(ErrorKind::kInternal, "baseline of " + node.op + " '" + node.name + "': element " +
                                          std::to_string(at[i]) + ": expected " + std::to_string(want[i]) +
                                          ", found " + std::to_string(got));
  }
  return true;
}

/// Shapes that depend on what inputs hold (axes, bounds) may come out other than the model states; an engine
/// is planned by what it states.
void check_dims(const Value& value, const Datum& datum, const SymbolTable& symbols) {
  if (datum.kind != Datum::Kind::kTensor || !value.type.has_rank()) return;
  const Dims& found = datum.tensor.dims();
  bool fits = static_cast<size_t>(value.type.rank()) == found.size();
  for (size_t i = 0; fits && i < found.size(); ++i) {
    const Dim d = symbols.resolve((*value.type.shape)[i]);
    fits = !d.is_constant() || d.value() == found[i];
  }
  if (fits) return;
  std::string dims;
  for (int64_t d : found) dims += (dims.empty() ? "" : ",") + std::to_string(d);
  throw Error(ErrorKind::kInvalidArgument, "'" + value.name + "': by its shapes the model expects " +
                                               to_string(value.type, symbols) + ", these inputs give [" +
                                               dims + "]");
}

/// The dims of a Reshape of large data to positive numbers, or to 0 where the input has such a dim, and one
/// -1; nothing of others, which the reference serves.
std::optional<Dims> reshaped_dims(const Node& node, std::span<const Datum* const> in) {
  constexpr int64_t kWorthSharing = 1 << 14;  // elements
  if (!node.is("Reshape") || in.size() != 2 || !in[0] || !in[1] ||
      node.attributes.get<int64_t>("allowzero", 0) || in[0]->kind != Datum::Kind::kTensor ||
      in[0]->tensor.size() < kWorthSharing)
    return std::nullopt;
  const Tensor& x = in[0]->tensor;
  const std::vector<int64_t> asked = in[1]->tensor.to_int64s();
  Dims dims(asked.begin(), asked.end());
  int64_t product = 1;
  int64_t* open = nullptr;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i < x.dims().size()) dims[i] = x.dims()[i];
    if (dims[i] < -1 || dims[i] == 0 || (dims[i] == -1 && open)) return std::nullopt;
    if (dims[i] == -1)
      open = &dims[i];
    else
      product *= dims[i];
  }
  if (open) *open = x.size() / product;
  return element_count(dims) == x.size() ? std::optional(dims) : std::nullopt;
}

}  // namespace

std::vector<Datum> Baseline::run(std::span<const Datum> inputs,
                                 std::function<void(const Value*, const Datum&)> visit) const {
  EvaluateOptions options;
  options.visit = [this, &visit](const Value* value, const Datum& datum) {
    if (value->graph() == graph_.get()) check_dims(*value, datum, graph_->symbols());
    if (visit) visit(value, datum);
  };
  const ReferenceThreads threads(*pool_);
  options.hook = [this, &options](const Node& node, std::span<const Datum* const> in,
                                  std::vector<Datum>& outputs) {
    if (is_region(node)) {  // an engine's own graph
      EvaluateOptions inside;
      inside.hook = options.hook;
      std::vector<Datum> data;
      for (const Datum* d : in) data.push_back(d ? *d : Datum());
      outputs = evaluate_graph(region_body(node), data, inside);
      return true;
    }
    if (node.is("Identity") && in[0])
      return outputs[0] = *in[0], true;  // the same memory: weights may be large
    if (const auto dims = reshaped_dims(node, in))
      return outputs[0] = Datum(in[0]->tensor.reshaped(*dims)), true;  // that of a Reshape too
    try {
      if (!quick_product(node, in, outputs, *pool_)) return false;
      if (!op_of(node).evaluate_elements || passes_samples(node, in, outputs[0].tensor)) return true;
    } catch (const Error& error) {
      throw error.at(node_label(node));
    }
    outputs[0] = Datum();
    return false;
  };
  return evaluate_graph(*graph_, inputs, options);
}

}  // namespace wootz
