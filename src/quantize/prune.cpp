// SPDX-License-Identifier: Apache-2.0
// Pruning on one page.
#include <wootz/prune.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "export/onnx/write_model.h"
#include "import/onnx/import.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/pass_manager.h"
#include "quantize/collect.h"
#include "quantize/measure_error.h"
#include "quantize/targets.h"
#include "quantize/weights.h"

namespace wootz {
namespace {

constexpr int64_t kFour = 4;

/// Where an element of constant weights lies: its output channel and its input channel (of all groups).
struct WeightPlace {
  std::vector<int64_t> output, depth;

  explicit WeightPlace(const QuantTarget& t) {
    const Dims& dims = t.w->constant->dims();
    const auto size = static_cast<size_t>(t.w->constant->size());
    output.resize(size), depth.resize(size);
    for_each_channel(dims, t.weight_axis,
                     [&](int64_t at, int64_t c) { output[static_cast<size_t>(at)] = c; });
    const int64_t per_group = dims[static_cast<size_t>(t.depth_axis)], outputs = t.channels() / t.groups;
    for_each_channel(dims, t.depth_axis, [&](int64_t at, int64_t d) {
      const auto i = static_cast<size_t>(at);
      depth[i] = output[i] / std::max<int64_t>(1, outputs) * per_group + d;
    });
  }
};

/// The distance in elements between neighbours along the axis.
int64_t step_along(const Dims& dims, int64_t axis) {
  int64_t step = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < dims.size(); ++d) step *= dims[d];
  return step;
}

/// Zeroes the two of least importance of each four.
void keep_two_of_four(const QuantTarget& t, const std::vector<double>& importance, Tensor& w) {
  const int64_t step = step_along(w.dims(), t.depth_axis),
                depth = w.dims()[static_cast<size_t>(t.depth_axis)];
  for_each_channel(w.dims(), t.depth_axis, [&](int64_t at, int64_t d) {
    if (d % kFour != 0 || d + kFour > depth) return;
    std::array<int64_t, kFour> four;
    for (int64_t i = 0; i < kFour; ++i) four[static_cast<size_t>(i)] = at + i * step;
    std::stable_sort(four.begin(), four.end(), [&](int64_t a, int64_t b) {
      return importance[static_cast<size_t>(a)] < importance[static_cast<size_t>(b)];
    });
    w.as<float>()[four[0]] = w.as<float>()[four[1]] = 0;
  });
}

/// Zeroes that share of the elements in `list` which has the least importance.
void drop_least(std::vector<int64_t> list, double share, const std::vector<double>& importance, Tensor& w) {
  const auto count = static_cast<ptrdiff_t>(std::llround(share * static_cast<double>(list.size())));
  std::stable_sort(list.begin(), list.end(), [&](int64_t a, int64_t b) {
    return importance[static_cast<size_t>(a)] < importance[static_cast<size_t>(b)];
  });
  std::for_each(list.begin(), list.begin() + count, [&](int64_t at) { w.as<float>()[at] = 0; });
}

class Pruning {
 public:
  Pruning(const std::string& path, const SampleSource& source, const PruneOptions& options)
      : options_(options),
        model_(import_onnx_file(path)),
        original_(model_.graph->clone(std::make_shared<SymbolTable>(model_.graph->symbols()), nullptr)),
        graph_(*model_.graph),
        samples_(graph_, source, options.max_samples) {
    if (!(options.share >= 0 && options.share < 1))
      throw Error(ErrorKind::kInvalidArgument,
                  "share: expected at least 0 and less than 1, found " + std::to_string(options.share));
    if (options.max_samples == 0)
      throw Error(ErrorKind::kInvalidArgument, "samples: expected at least 1, found 0");
  }

  PruneReport run(const std::string& output) {
    PassOptions pass_options;
    pass_options.verify = false;
    PassContext context(TargetTraits(), pass_options);
    const Pass passes[] = {fold_constants(), fold_batch_norm()};
    run_passes(graph_, passes, true, context);
    QuantizeOptions which;
    which.keep = options_.keep;
    TargetChoice choice = choose_targets(graph_, which);
    if (choice.targets.empty())
      throw Error(ErrorKind::kInvalidArgument,
                  "expected a Conv, MatMul or Gemm with constant weights to prune, found none" +
                      (choice.left.empty() ? std::string()
                                           : "; " + choice.left[0].op + " '" + choice.left[0].name +
                                                 "' stays dense: " + choice.left[0].reason));
    if (options_.data_aware) look_at_samples(choice.targets);
    for (const QuantTarget& t : choice.targets) prune_weights(t);
    for (const QuantizedNode& n : choice.left) report_.nodes.push_back({n.name, n.op, false, n.reason, 0, 0});
    graph_.erase_unused_values();
    tell("write", 0.8);
    ExportOptions to;
    to.metadata = model_.metadata;
    export_onnx_file(graph_, output, to);
    measure();
    tell("done", 1);
    return std::move(report_);
  }

 private:
  void tell(const std::string& stage, double fraction, const std::string& detail = "") const {
    if (options_.progress && !options_.progress({stage, detail, fraction, -1}))
      throw Error(ErrorKind::kCancelled, "pruning was cancelled; nothing was written");
  }

  void look_at_samples(const std::vector<QuantTarget>& targets) {
    std::map<std::string, int64_t> axes;
    for (const QuantTarget& t : targets) axes[t.x->name] = t.channel_axis;
    const auto stats = collect_stats(graph_, samples_, axes, options_.threads, [&](size_t i) {
      tell("measure", 0.7 * double(i + 1) / double(i + 9), "sample " + std::to_string(i + 1));
    });
    report_.samples = samples_.count();
    for (const auto& [name, s] : stats)
      for (double square : s.squares) inputs_[name].push_back(std::sqrt(square / std::max(1.0, s.elements)));
  }

  void prune_weights(const QuantTarget& t) {
    PrunedNode entry{quantized_label(*t.node), t.node->op, true, "", 0, 0};
    const Tensor& old = *t.w->constant;
    const int64_t depth = old.dims()[static_cast<size_t>(t.depth_axis)];
    if (options_.two_of_four && depth < kFour) {
      entry.pruned = false;
      entry.reason = std::to_string(depth) + " input channels a group, 2 of 4 needs at least 4";
      report_.nodes.push_back(std::move(entry));
      return;
    }
    const WeightPlace place(t);
    const auto norms = inputs_.find(t.x->name);
    std::vector<double> importance(static_cast<size_t>(old.size()));
    for (size_t i = 0; i < importance.size(); ++i) {
      const auto d = static_cast<size_t>(place.depth[i]);
      const bool known = norms != inputs_.end() && d < norms->second.size();
      importance[i] = std::fabs(double(old.as<float>()[i])) * (known ? norms->second[d] : 1);
    }
    Tensor w = old.clone();
    if (options_.two_of_four)
      keep_two_of_four(t, importance, w);
    else
      drop_share(t, place, importance, w);
    double zeros = 0, all = 0, gone = 0;
    for (size_t i = 0; i < importance.size(); ++i) {
      const bool zero = w.as<float>()[i] == 0;
      zeros += zero, all += importance[i] * importance[i];
      if (zero) gone += importance[i] * importance[i];
    }
    entry.zeros = zeros / double(old.size());
    entry.sqnr_db = gone > 0 ? 10 * std::log10(all / gone) : std::numeric_limits<double>::infinity();
    t.node->set_input(1, graph_.add_constant(graph_.unique_name(t.w->name + "_pruned"), std::move(w)));
    report_.nodes.push_back(std::move(entry));
  }

  /// Importances with inputs in them compare within an output channel; magnitudes do within a weight.
  void drop_share(const QuantTarget& t, const WeightPlace& place, const std::vector<double>& importance,
                  Tensor& w) const {
    std::vector<std::vector<int64_t>> lists(options_.data_aware ? static_cast<size_t>(t.channels()) : 1);
    for (int64_t i = 0; i < w.size(); ++i)
      lists[options_.data_aware ? static_cast<size_t>(place.output[static_cast<size_t>(i)]) : 0].push_back(i);
    for (std::vector<int64_t>& list : lists) drop_least(std::move(list), options_.share, importance, w);
  }

  void measure() {
    std::vector<Datum> first;
    if (options_.report_samples == 0 || !samples_.get(0, first)) return;
    std::vector<QuantizedNode> none;
    report_.outputs = measure_error(
        {*original_, nullptr, graph_}, samples_, options_.report_samples, options_.threads, none,
        [&](size_t i) { tell("compare", 0.8 + 0.2 * double(i + 1) / double(options_.report_samples + 1)); });
  }

  const PruneOptions& options_;
  ImportedModel model_;
  std::shared_ptr<const Graph> original_;
  Graph& graph_;
  CheckedSamples samples_;
  std::map<std::string, std::vector<double>> inputs_;  // root mean squares of channels
  PruneReport report_;
};

}  // namespace

PruneReport prune(const std::string& onnx_path, const std::string& output_path, const SampleSource& samples,
                  const PruneOptions& options) {
  return Pruning(onnx_path, samples, options).run(output_path);
}

}  // namespace wootz
