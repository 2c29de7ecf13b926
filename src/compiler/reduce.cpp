// SPDX-License-Identifier: Apache-2.0
#include <wootz/reduce.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/allowed_cpus.h"
#include "compiler/baseline.h"
#include "compiler/extract.h"
#include "compiler/tuned_shapes.h"
#include "compiler/verify_engine.h"
#include "export/onnx/write_model.h"
#include "import/onnx/import.h"
#include "ir/element.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;
using Nodes = std::set<const Node*>;

constexpr int64_t kSmall = 64;  // elements of a tensor that may be axes, sizes or indices
constexpr int64_t kFew = 8;     // floats that may be scales of a Resize
constexpr uint64_t kInputSeed = 5, kWeightSeed = 23;

/// Numbers with the mean and the spread of the tensor's own; equal ones stay.
Tensor generated_floats(const Tensor& t, uint64_t seed) {
  const std::vector<double> x = t.to_doubles();
  double sum = 0, squares = 0;
  for (double v : x)
    if (std::isfinite(v)) sum += v, squares += v * v;
  const double n = static_cast<double>(x.size()), mean = sum / n;
  const double spread = std::sqrt(std::max(0.0, squares / n - mean * mean));
  if (spread == 0) return t;
  const bool positive = std::all_of(x.begin(), x.end(), [](double v) { return v > 0; });  // a variance
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, spread);
  Tensor made = Tensor::zeros(t.dtype(), t.dims());
  visit_numeric(t.dtype(), [&](auto element) {
    using T = decltype(element);
    for (int64_t i = 0; i < made.size(); ++i) {
      const double v = positive ? std::fabs(normal(random)) + 1e-3 * mean : normal(random);
      if constexpr (std::is_constructible_v<T, double>) made.as<T>()[i] = T(v);
    }
  });
  return made;
}

/// Integers between the least and the largest of the tensor's own.
Tensor generated_integers(const Tensor& t, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor made = Tensor::zeros(t.dtype(), t.dims());
  visit_numeric(t.dtype(), [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>) {
      const auto [least, most] = std::minmax_element(t.as<T>(), t.as<T>() + t.size());
      const auto width = static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least) + 1;
      for (int64_t i = 0; i < made.size(); ++i)
        made.as<T>()[i] =
            static_cast<T>(static_cast<uint64_t>(*least) + (width ? random() % width : random()));
    }
  });
  return made;
}

/// Nothing of the model's own data but what is too small to be anything but axes, sizes, scales and indices.
Tensor generated(const Tensor& t, uint64_t seed) {
  if (t.dtype() == DType::kString) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < t.size(); ++i) texts.push_back("text" + std::to_string(i));
    return Tensor::strings(t.dims(), std::move(texts));
  }
  if (t.size() == 0 || dtype_file_bits(t.dtype()) < 8 || t.dtype() == DType::kBool) return t;
  if (is_float(t.dtype())) return t.size() > kFew ? generated_floats(t, seed) : t;
  return t.size() > kSmall ? generated_integers(t, seed) : t;
}

/// What a run of the references saw: dims of every value, and the data of small integers.
struct Seen {
  std::map<const Value*, Dims> dims;
  std::map<const Value*, Tensor> small;
};

class Reducer {
 public:
  Reducer(const std::string& path, const ReduceOptions& options)
      : options_(options), graph_(import_onnx_file(path, {.content_hash = false}).graph) {
    std::vector<std::string> guessed;
    const std::vector<Dims> dims = choose_tuned_shapes(*graph_, options.shapes, guessed);
    look(dims);
    for (const auto& node : graph_->nodes()) nodes_.insert(node.get());
    outputs_.assign(graph_->outputs().begin(), graph_->outputs().end());
  }

  ReducedModel run() {
    result_.nodes_before = graph_->node_count();
    has_weights_ = options_.keep_weights;
    if (!has_weights_ && !fails(nodes_, outputs_)) has_weights_ = true;
    if (has_weights_ && !fails(nodes_, outputs_))
      throw Error(
          ErrorKind::kInvalidArgument,
          "reduce: expected a model that fails the check, found that the whole model passes it at these "
          "shapes; name --shapes, or another --check");
    end_earlier();
    drop_chunks();
    shrink_inputs();
    if (!smallest_) fails(nodes_, outputs_);
    ReducedModel result = std::move(result_);
    result.onnx_bytes = *smallest_;
    result.nodes = nodes_.size();
    result.has_weights_of_model = has_weights_ && !options_.keep_weights;
    return result;
  }

 private:
  bool is_late() const {
    return std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds;
  }

  /// Records what the references compute at these input dims.
  void look(std::span<const Dims> dims) {
    const std::vector<Datum> inputs = random_inputs(*graph_, dims, kInputSeed);
    const auto note = [this](const Value* v, const Datum& d) {
      if (d.kind != Datum::Kind::kTensor) return;
      seen_.dims[v] = d.tensor.dims();
      const DType t = d.tensor.dtype();
      if (!is_float(t) && t != DType::kString && d.tensor.size() <= kSmall) seen_.small[v] = d.tensor;
    };
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].kind == Datum::Kind::kTensor) seen_.dims[graph_->inputs()[i]] = inputs[i].tensor.dims();
    Baseline judge(graph_, allowed_cpus());
    try {
      (void)judge.run(inputs, note);
    } catch (const Error&) {
      // A model may be unable to take random inputs: what comes behind stays uncut.
    }
  }

  Supply supply(const Value& v) const {
    if (v.constant)
      return {has_weights_ ? *v.constant : generated(*v.constant, kWeightSeed + size_t(v.id())),
              std::nullopt};
    if (v.producer())
      if (const auto it = seen_.small.find(&v); it != seen_.small.end()) return {it->second, std::nullopt};
    const auto asked = input_dims_.find(v.name);
    const auto it = seen_.dims.find(&v);
    if (asked != input_dims_.end()) return {std::nullopt, asked->second};
    return {std::nullopt, it == seen_.dims.end() ? std::nullopt : std::optional(it->second)};
  }

  /// Whether the part still fails; then it is the smallest so far.
  bool fails(const Nodes& nodes, std::span<const Value* const> outputs) {
    if (nodes.empty() || (result_.tries > 1 && is_late())) return false;
    std::string bytes;
    try {
      bytes =
          export_onnx_bytes(*extract(*graph_, nodes, outputs, [this](const Value& v) { return supply(v); }));
      (void)import_onnx_bytes(std::as_bytes(std::span(bytes)), {}, {.content_hash = false});
    } catch (const Error&) {
      return false;  // no file can hold that part, or the smaller inputs do not suit it
    }
    ++result_.tries;
    const bool failed = options_.still_fails(bytes);
    if (failed) smallest_ = std::move(bytes);
    if (options_.progress) options_.progress(result_.tries, failed ? nodes.size() : nodes_.size());
    return failed;
  }

  bool keep_if_fails(Nodes nodes, std::vector<const Value*> outputs) {
    if (!fails(nodes, outputs)) return false;
    nodes_ = std::move(nodes);
    outputs_ = std::move(outputs);
    return true;
  }

  /// What the outputs of `end` need.
  Nodes ancestors(const Node* end) const {
    Nodes found;
    std::vector<const Node*> open = {end};
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      if (!nodes_.contains(node) || !found.insert(node).second) continue;
      const auto visit = [&](const Value* v) {
        if (v && v->producer()) open.push_back(v->producer());
      };
      for (const Value* v : node->inputs()) visit(v);
      for (const Graph* body : node->subgraphs())
        for (const Value* v : captures(*body)) visit(v);
    }
    return found;
  }

  /// The earliest node that fails as the only end: first by halves, as if a failure stayed for all that
  /// follow.
  void end_earlier() {
    std::vector<const Node*> order;
    for (const auto& node : graph_->nodes())
      if (nodes_.contains(node.get())) order.push_back(node.get());
    size_t low = 0, high = order.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (keep_if_fails(ancestors(order[middle]), {}))
        high = middle;
      else
        low = middle + 1;
    }
  }

  /// Chunks of nodes, from halves down to single ones, as long as something falls away.
  void drop_chunks() {
    for (size_t chunk = std::max<size_t>(1, nodes_.size() / 2);; chunk = std::max<size_t>(1, chunk / 2)) {
      bool dropped = true;
      while (dropped && !is_late()) {
        dropped = false;
        std::vector<const Node*> order;
        for (const auto& node : graph_->nodes())
          if (nodes_.contains(node.get())) order.push_back(node.get());
        for (size_t from = 0; from < order.size() && order.size() > 1; from += chunk) {
          Nodes rest = nodes_;
          for (size_t i = from; i < std::min(order.size(), from + chunk); ++i) rest.erase(order[i]);
          if (rest.size() < nodes_.size() && keep_if_fails(std::move(rest), {})) dropped = true;
        }
        if (chunk > 1) break;
      }
      if (chunk == 1) return;
    }
  }

  /// The batch, then the other lengths of the inputs that are left: 1, then halves.
  void shrink_inputs() {
    const auto left = import_onnx_bytes(std::as_bytes(std::span(*smallest_))).graph;
    std::map<std::string, Dims> dims;
    for (const Value* input : left->inputs()) {
      if (!input->type.has_static_shape()) return;
      for (const Dim& d : *input->type.shape) dims[input->name].push_back(d.value());
    }
    for (size_t axis : {0u, 2u, 3u, 1u})
      for (bool again = true; again && !is_late();) {
        std::map<std::string, Dims> smaller = dims;
        for (auto& [name, d] : smaller)
          if (axis < d.size() && d[axis] > 1) d[axis] = axis == 0 ? 1 : d[axis] / 2;
        if (smaller == dims) break;
        input_dims_ = smaller;
        again = fails(nodes_, outputs_);
        if (again)
          dims = input_dims_;
        else
          input_dims_ = dims;
      }
  }

  const ReduceOptions& options_;
  std::shared_ptr<Graph> graph_;
  Seen seen_;
  Nodes nodes_;                             // of the smallest so far
  std::vector<const Value*> outputs_;       // empty: whatever nobody reads
  std::map<std::string, Dims> input_dims_;  // by name, where they were made smaller
  bool has_weights_ = false;
  std::optional<std::string> smallest_;
  ReducedModel result_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

ReducedModel reduce(const std::string& onnx_path, const ReduceOptions& options) {
  return Reducer(onnx_path, options).run();
}

}  // namespace wootz
