// SPDX-License-Identifier: Apache-2.0
// Post-training quantization on one page.
#include <wootz/quantize.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "compiler/similarity.h"
#include "export/onnx/write_model.h"
#include "import/onnx/import.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/pass_manager.h"
#include "quantize/collect.h"
#include "quantize/dynamic.h"
#include "quantize/equalize.h"
#include "quantize/insert.h"
#include "quantize/measure_error.h"
#include "quantize/weights_only.h"

namespace wootz {
namespace {

constexpr size_t kFewSamples = 8;

class Quantization {
 public:
  Quantization(const std::string& path, const SampleSource& source, const QuantizeOptions& options)
      : path_(path),
        options_(options),
        method_(range_method(options.method)),
        model_(import_onnx_file(path)),
        original_(copy_of(*model_.graph)),
        graph_(*model_.graph),
        samples_(graph_, source, options.max_samples) {
    check_options();
  }

  QuantizeReport run(const std::string& output) {
    refuse_quantized();
    simplify();
    if (options_.dynamic)
      quantize_by_runs();
    else if (!options_.weights.empty())
      quantize_the_weights();
    else
      quantize_by_samples();
    report("write", 0.75);
    ExportOptions to;
    to.metadata = model_.metadata;
    export_onnx_file(graph_, output, to);
    measure();
    report("done", 1);
    return std::move(report_);
  }

 private:
  static std::shared_ptr<const Graph> copy_of(const Graph& graph) {
    return graph.clone(std::make_shared<SymbolTable>(graph.symbols()), nullptr);
  }

  [[noreturn]] static void bad(const std::string& what) { throw Error(ErrorKind::kInvalidArgument, what); }

  void check_options() const {
    if (!(options_.percentile > 50 && options_.percentile <= 100))
      bad("percentile: expected more than 50 and at most 100, found " + std::to_string(options_.percentile));
    if (!(options_.balance >= 0 && options_.balance <= 1))
      bad("balance: expected a number from 0 to 1, found " + std::to_string(options_.balance));
    if (options_.float8 &&
        (options_.bias_correction || options_.dynamic || options_.sums || options_.fused_sums))
      bad("float8: expected no bias correction, dynamic ranges or residual sums, which are of integers");
    if (!options_.weights.empty() &&
        (options_.float8 || options_.bias_correction || options_.dynamic || options_.sums ||
         options_.fused_sums || options_.balance > 0 || !options_.calibration.empty()))
      bad("weights: expected no options of activations (float8, bias correction, dynamic, sums, balance, "
          "calibration): these stay float32");
    if (options_.weights.empty() && options_.block != 0)
      bad("block: expected weights of int8 or int4 alone (weights), which are stored in blocks");
    if (options_.max_samples == 0) bad("samples: expected at least 1, found 0");
    if (!options_.calibration.empty() && (options_.bias_correction || options_.balance > 0))
      bad("bias correction and balancing need samples: a calibration file has ranges alone");
  }

  void report(const std::string& stage, double fraction, const std::string& detail = "") {
    if (!options_.progress) return;
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (!options_.progress(
            {stage, detail, fraction, fraction > 0.05 ? elapsed * (1 - fraction) / fraction : -1}))
      throw Error(ErrorKind::kCancelled, "quantization was cancelled; nothing was written");
  }

  void refuse_quantized() const {
    for (const auto& node : graph_.nodes())
      if (node->is("QuantizeLinear") || node->is("DynamicQuantizeLinear") || node->is("ConvInteger") ||
          node->is("MatMulInteger"))
        bad("expected a float32 model, found one that is quantized already (" + node->op + " '" + node->name +
            "'); build it as it is");
  }

  /// Batch normalisation must be part of the weights before these are rounded.
  void simplify() {
    PassOptions pass_options;
    pass_options.verify = false;
    PassContext context(TargetTraits(), pass_options);
    const Pass passes[] = {fold_constants(), fold_batch_norm()};
    run_passes(graph_, passes, true, context);
    if (options_.equalize) {
      const size_t pairs = equalize_convolutions(graph_);
      report_.notes.push_back(std::to_string(pairs) + " pairs of convolutions were equalized");
    }
  }

  TargetChoice targets() {
    TargetChoice choice = choose_targets(graph_, options_);
    if (choice.targets.empty() && !options_.dynamic)
      bad("expected a Conv, MatMul or Gemm with constant weights that 8 bits pay for, found none" +
          (choice.left.empty() ? std::string()
                               : "; " + choice.left[0].op + " '" + choice.left[0].name +
                                     "' stays float32: " + choice.left[0].reason));
    return choice;
  }

  void quantize_by_runs() {
    TargetChoice choice = targets();
    report_.nodes = quantize_dynamically(graph_, choice.targets, options_);
    add_left(std::move(choice.left));
    if (std::none_of(report_.nodes.begin(), report_.nodes.end(), [](const auto& n) { return n.quantized; }))
      bad("dynamic: expected a MatMul, Gemm or LSTM with constant weights, found none");
  }

  void quantize_the_weights() {
    TargetChoice choice = targets();
    report_.nodes = quantize_weights_only(graph_, choice.targets, options_);
    add_left(std::move(choice.left));
    if (std::none_of(report_.nodes.begin(), report_.nodes.end(), [](const auto& n) { return n.quantized; }))
      bad("weights: expected a MatMul or Gemm with constant weights, found none");
  }

  void quantize_by_samples() {
    TargetChoice choice = targets();
    Calibration calibration;
    InsertOptions insert{
        options_.per_channel, options_.sums || options_.fused_sums, options_.fused_sums, options_.float8, {}};
    if (!options_.calibration.empty()) {
      calibration = Calibration::from_json(options_.calibration);
      check_names(calibration);
    } else {
      auto stats = collect(choice.targets, 0, options_.balance > 0 ? 0.35 : 0.7);
      if (options_.balance > 0) {
        const size_t count = balance_activations(graph_, choice.targets, stats, options_.balance);
        report_.notes.push_back(std::to_string(count) + " activations were balanced with their weights");
        choice = targets();  // their inputs may be others now
        stats = collect(choice.targets, 0.35, 0.7);
      }
      calibration = calibrate(stats);
      if (options_.bias_correction) insert.means = means(choice.targets, stats, calibration);
    }
    prepared_ = copy_of(graph_);
    report_.nodes = insert_quantization(graph_, choice.targets, calibration, insert);
    add_left(std::move(choice.left));
    report_.calibration = calibration.to_json();
  }

  void add_left(std::vector<QuantizedNode> left) {
    for (QuantizedNode& n : left) report_.nodes.push_back(std::move(n));
  }

  void check_names(const Calibration& calibration) const {
    for (const auto& [name, entry] : calibration.tensors)
      if (!graph_.find_value(name))
        bad("calibration: expected tensors of this model, found '" + name + "'; was it made for '" +
            calibration.model + "' with the same options?");
  }

  std::map<std::string, ActivationStats> collect(
      const std::vector<QuantTarget>& targets, double from, double to,
      const std::map<std::string, QuantParameters>& rounding = {}) {
    std::map<std::string, int64_t> axes;
    for (const QuantTarget& t : targets) axes[t.x->name] = t.channel_axis;
    if (options_.sums || options_.fused_sums)
      for (const Value* v : sum_operands(graph_, targets, options_.fused_sums)) axes.emplace(v->name, 1);
    return collect_stats(
        graph_, samples_, axes, options_.threads,
        [&](size_t index) {
          const double n = static_cast<double>(index + 1);
          report("measure", from + (to - from) * n / (n + 8), "sample " + std::to_string(index + 1));
        },
        rounding);
  }

  Calibration calibrate(const std::map<std::string, ActivationStats>& stats) {
    Calibration c;
    c.model = std::filesystem::path(path_).filename().string();
    c.method = options_.method;
    c.samples = report_.samples = samples_.count();
    c.is_signed = options_.signed_activations;
    if (c.samples < kFewSamples)
      report_.notes.push_back("ranges come from " + std::to_string(c.samples) + " sample" +
                              (c.samples == 1 ? "" : "s") + " alone; give at least " +
                              std::to_string(kFewSamples) + ", better a hundred");
    for (const auto& [name, s] : stats) {
      if (s.histogram.empty()) continue;
      c.tensors[name] = {choose_range(s.histogram, options_.float8 ? RangeMethod::kMax : method_,
                                      options_.percentile, c.is_signed),
                         s.histogram.low(), s.histogram.high()};
      note_dead_channels(name, s);
    }
    return c;
  }

  /// Means of the rounded activations need a second look at the samples, now that ranges are known.
  std::map<std::string, ChannelMeans> means(const std::vector<QuantTarget>& targets,
                                            const std::map<std::string, ActivationStats>& plain,
                                            const Calibration& calibration) {
    std::map<std::string, QuantParameters> rounding;
    for (const auto& [name, entry] : calibration.tensors)
      if (entry.range.high > entry.range.low)
        rounding[name] = parameters_of(entry.range, calibration.is_signed);
    const auto rounded = collect(targets, 0.5, 0.7, rounding);
    std::map<std::string, ChannelMeans> result;
    for (const auto& [name, s] : plain) {
      if (!rounding.contains(name) || s.elements == 0) continue;
      ChannelMeans m{s.sum, rounded.at(name).sum};
      for (std::vector<double>* list : {&m.plain, &m.rounded})
        for (double& v : *list) v /= s.elements;
      result[name] = std::move(m);
    }
    return result;
  }

  void note_dead_channels(const std::string& name, const ActivationStats& s) {
    const auto dead = std::count(s.largest.begin(), s.largest.end(), 0.0);
    if (dead > 0)
      report_.notes.push_back("'" + name + "': " + std::to_string(dead) + " of " +
                              std::to_string(s.largest.size()) + " channels are 0 in every sample");
  }

  void measure() {
    std::vector<Datum> first;
    if (options_.report_samples == 0 || !samples_.get(0, first)) return;
    const auto each = [&](size_t i) {
      report("compare", 0.75 + 0.25 * double(i + 1) / double(options_.report_samples + 1),
             "sample " + std::to_string(i + 1));
    };
    report_.outputs = measure_error({*original_, prepared_.get(), graph_}, samples_, options_.report_samples,
                                    options_.threads, report_.nodes, each);
  }

  std::string path_;
  const QuantizeOptions& options_;
  RangeMethod method_;
  ImportedModel model_;
  std::shared_ptr<const Graph> original_, prepared_;  // prepared: equalized and balanced, not yet rounded
  Graph& graph_;
  CheckedSamples samples_;
  QuantizeReport report_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

QuantizeReport quantize(const std::string& onnx_path, const std::string& output_path,
                        const SampleSource& samples, const QuantizeOptions& options) {
  return Quantization(onnx_path, samples, options).run(output_path);
}

}  // namespace wootz
