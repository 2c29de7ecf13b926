// SPDX-License-Identifier: Apache-2.0
#include <wootz/doctor.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/allowed_cpus.h"
#include "compiler/baseline.h"
#include "import/onnx/import.h"
#include "passes/precision/constant_fit.h"
#include "quantize/collect.h"
#include "quantize/scaled_region.h"

namespace wootz {
namespace {

constexpr double kHeadroom = 4;           // what samples did not show may be larger
constexpr double kManyLost = 0.1;         // of the elements
constexpr double kFarOut = 16;            // largest magnitude over that of nearly all elements
constexpr double kNearlyAll = 0.999;      // of the elements
constexpr double kMostlySaturated = 0.9;  // of the elements
constexpr double kHarmless = 0.01;        // of a tensor's energy: what clipping may take
constexpr double kSaturating = 64;        // beyond this Sigmoid, Tanh and Erf are at their bounds
constexpr double kFlat = 0.999;           // of the bound of Sigmoid and Tanh

std::string text(const char* form, double a, double b = 0) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, form, a, b);
  return buffer;
}

/// What is counted of one tensor beside its histogram.
struct TensorState {
  const Node* node = nullptr;
  ActivationStats stats;
  int64_t small = 0, nonzero = 0, flat = 0, all = 0;  // small: below float16's normal numbers
  bool finite = true;
};

class Doctor {
 public:
  Doctor(const std::string& path, const SampleSource& source, const DoctorOptions& options)
      : options_(options),
        model_(import_onnx_file(path)),
        graph_(*model_.graph),
        samples_(graph_, source, options.max_samples) {
    if (options.precision != "fp16" && options.precision != "bf16" && options.precision != "int8")
      throw Error(ErrorKind::kInvalidArgument,
                  "precision: expected fp16, bf16 or int8, found '" + options.precision + "'");
  }

  Diagnosis run() {
    examine();
    result_.samples = samples_.count();
    for (const Value* v : graph_.inputs()) judge(*v);
    for (const auto& node : graph_.nodes())
      for (const Value* v : node->outputs())
        if (v) judge(*v);
    for (const auto& node : graph_.nodes())
      if (!rescaled_.contains(node.get())) judge_constants(*node);
    return std::move(result_);
  }

 private:
  void examine() {
    const Baseline baseline(graph_.clone(std::make_shared<SymbolTable>(graph_.symbols()), nullptr),
                            options_.threads > 0 ? options_.threads : allowed_cpus());
    std::map<std::string, const Node*> producers;
    for (const auto& node : graph_.nodes())
      for (const Value* v : node->outputs())
        if (v) producers[v->name] = node.get();
    samples_.for_each([&](size_t index, const std::vector<Datum>& inputs) {
      const auto visit = [&](const Value* v, const Datum& d) {
        if (d.kind != Datum::Kind::kTensor || d.tensor.dtype() != DType::kFloat32) return;
        const auto producer = producers.find(v->name);
        add(states_[v->name], producer == producers.end() ? nullptr : producer->second, d.tensor);
      };
      for (size_t i = 0; i < inputs.size(); ++i) visit(graph_.inputs()[i], inputs[i]);
      baseline.run(inputs, visit);
      const double n = static_cast<double>(index + 1);
      if (options_.progress &&
          !options_.progress({"examine", "sample " + std::to_string(index + 1), n / (n + 4), -1}))
        throw Error(ErrorKind::kCancelled, "the examination was cancelled");
    });
  }

  static void add(TensorState& s, const Node* node, const Tensor& t) {
    s.node = node;
    s.stats.axis = t.rank() > 2 ? 1 : t.rank() - 1;
    if (!s.stats.histogram.add(t.span<float>())) {
      s.finite = false;
      return;
    }
    const bool bounded = node && (node->is("Sigmoid") || node->is("Tanh"));
    const double smallest = smallest_normal(DType::kFloat16);
    for (float v : t.span<float>()) {
      const double size = std::fabs(double(v));
      s.nonzero += size > 0;
      s.small += size > 0 && size < smallest;
      s.flat += bounded && (size > kFlat || (node->is("Sigmoid") && size < 1 - kFlat));
    }
    s.all += t.size();
    if (t.rank() > 1) s.stats.add(t);
  }

  void report(const TensorState& s, const Value& v, std::string kind, std::string detail,
              std::string advice) {
    result_.symptoms.push_back({v.name, s.node ? reported_name(*s.node) : "", s.node ? s.node->op : "",
                                std::move(kind), std::move(detail), std::move(advice)});
  }

  /// Producer and readers of a tensor that the asked precision cannot hold.
  void keep(const Value& v, const char* type) {
    const auto add = [&](const Node* node) {
      if (!node || node->graph() != &graph_ || !kept_.insert(node).second) return;
      result_.overrides.push_back(reported_name(*node) +
                                  (options_.precision == "int8" ? "" : std::string("=") + type));
    };
    add(v.producer());
    for (const Use& u : v.uses()) add(u.node);
  }

  void judge(const Value& v) {
    const auto it = states_.find(v.name);
    if (it == states_.end()) return;
    const TensorState& s = it->second;
    if (!s.finite) {
      report(s, v, "not finite", "NaN or infinities in float32 already", "mend the model or the sample");
      return keep(v, "fp32");
    }
    const Histogram& h = s.stats.histogram;
    const double most = std::max(-h.low(), h.high());
    if (options_.precision == "int8")
      judge_outliers(v, s, most);
    else
      judge_range(v, s, most);
    if (s.all > 0 && double(s.flat) > kMostlySaturated * double(s.all))
      report(s, v, "saturation",
             text("%.0f%% of the elements lie at the bounds", 100 * double(s.flat) / double(s.all)),
             "look at the scale of what comes before");
    const auto& channels = s.stats.largest;
    const auto dead = std::count(channels.begin(), channels.end(), 0.0);
    if (channels.size() > 1 && dead > 0)
      report(s, v, "dead channels",
             std::to_string(dead) + " of " + std::to_string(channels.size()) + " are 0 in every sample",
             "more samples, or prune them");
  }

  void judge_range(const Value& v, const TensorState& s, double most) {
    const DType type = options_.precision == "fp16" ? DType::kFloat16 : DType::kBFloat16;
    const double end = largest_finite(type);
    if (most * kHeadroom > end) {
      if (mend_range(v, s, most, "overflow", text("reaches %.3g, the type ends at %.3g", most, end))) return;
      report(s, v, "overflow", text("reaches %.3g, the type ends at %.3g", most, end),
             type == DType::kFloat16 ? "bf16 for the nodes around it" : "fp32 for the nodes around it");
      return keep(v, type == DType::kFloat16 ? "bf16" : "fp32");
    }
    if (type != DType::kFloat16 || s.nonzero == 0) return;
    const double lost = double(s.small) / double(s.nonzero);
    if (most < smallest_normal(type)) {
      if (mend_range(v, s, most, "underflow", text("stays below %.3g, where float16 loses digits", most)))
        return;
      report(s, v, "underflow", text("stays below %.3g, where float16 loses digits", most),
             "bf16 for the nodes around it");
      keep(v, "bf16");
    } else if (lost > kManyLost) {
      report(s, v, "underflow",
             text("%.0f%% of the elements lie below 6.1e-05; the largest is %.3g", 100 * lost, most),
             "harmless in sums with larger ones; bf16 where small ones count");
    }
  }

  /// A scale or a clip that brings the tensor into the range; says so and is true where there is one.
  bool mend_range(const Value& v, const TensorState& s, double most, const char* kind,
                  const std::string& detail) {
    if (scaled_.contains(v.name)) {
      report(s, v, kind, detail, "the scale of '" + scaled_.at(v.name) + "' mends it too");
      return true;
    }
    if (most > kSaturating && only_saturates(v)) {
      result_.mendings.push_back({"clip", v.name, 1, -kSaturating, kSaturating, readers_of(v)});
      report(s, v, kind, detail, text("clip it to %.3g: what reads it is at its bounds there", kSaturating));
      return true;
    }
    Value* own = const_cast<Value*>(&v);  // of graph_, which is this object's
    auto region = ScaledRegion::around(*own);
    if (!region) return false;
    const double factor = factor_for(*region);
    if (factor == 1) return false;
    for (const Value* other : region->values) scaled_[other->name] = v.name;
    for (const auto* nodes : {&region->sources, &region->sinks})
      rescaled_.insert(nodes->begin(), nodes->end());
    result_.mendings.push_back({"scale", v.name, factor, 0, 0, region->names()});
    report(s, v, kind, detail,
           text("scale by %.3g: constants in front of it times that, weights behind it over it", factor));
    return true;
  }

  /// The power of two that brings all values of the region, and the weights around it, into the range; 1:
  /// none.
  double factor_for(const ScaledRegion& region) const {
    const DType type = options_.precision == "fp16" ? DType::kFloat16 : DType::kBFloat16;
    const double end = largest_finite(type) / kHeadroom, low = smallest_normal(type);
    double most = 0, least = end;
    for (const Value* v : region.values) {
      const auto it = states_.find(v->name);
      if (it == states_.end() || !it->second.finite) return 1;
      const Histogram& h = it->second.stats.histogram;
      const double size = std::max(-h.low(), h.high());
      most = std::max(most, size);
      if (size > 0) least = std::min(least, size);
    }
    if (most == 0) return 1;
    // As large as may be: small elements keep their digits.
    const double factor = std::exp2(std::floor(std::log2(end / most)) - (most < end ? 4 : 0));
    const bool holds =
        least * factor > low && region.largest_sink() / factor < end && region.least_source() * factor > low;
    return holds ? factor : 1;
  }

  bool only_saturates(const Value& v) const {
    return !v.uses().empty() && !graph_.is_output(&v) &&
           std::all_of(v.uses().begin(), v.uses().end(), [&](const Use& u) {
             return u.node->graph() == &graph_ &&
                    (u.node->is("Sigmoid") || u.node->is("Tanh") || u.node->is("Erf"));
           });
  }

  static std::vector<std::string> readers_of(const Value& v) {
    std::vector<std::string> names;
    for (const Use& u : v.uses()) names.push_back(reported_name(*u.node));
    return names;
  }

  void judge_outliers(const Value& v, const TensorState& s, double most) {
    const bool feeds_product = std::any_of(v.uses().begin(), v.uses().end(), [](const Use& u) {
      return u.index == 0 && (u.node->is("Conv") || u.node->is("MatMul") || u.node->is("Gemm"));
    });
    if (!feeds_product || most == 0) return;
    const Histogram& h = s.stats.histogram;
    double inside = double(h.zeros()), reach = 0;
    for (size_t k = 0; k < Histogram::kBins / 2 && inside < kNearlyAll * double(h.total()); ++k) {
      const size_t up = Histogram::kBins / 2 + k, down = Histogram::kBins / 2 - 1 - k;
      inside += double(h.bins()[up] + h.bins()[down]);
      reach = h.bin_center(up) + h.bin_width() / 2;
    }
    if (reach > 0 && most > kFarOut * reach) {
      double energy = 0, beyond = 0;
      for (size_t k = 0; k < Histogram::kBins; ++k) {
        const double x = std::fabs(h.bin_center(k)), e = double(h.bins()[k]) * x * x;
        energy += e, beyond += x > reach ? e : 0;
      }
      if (beyond <= kHarmless * energy) {
        Mending m{"clip", v.name, 1, std::max(h.low(), -reach), std::min(h.high(), reach), {}};
        for (const Use& u : v.uses())
          if (u.index == 0 && kept_.insert(u.node).second) m.nodes.push_back(reported_name(*u.node));
        report(s, v, "outliers",
               text("99.9%% of the elements lie within %.3g, the largest is %.3g", reach, most),
               text("clip it to %.3g: %.2g%% of its energy lies beyond", reach, 100 * beyond / energy));
        if (!m.nodes.empty()) result_.mendings.push_back(std::move(m));
        return;
      }
      report(s, v, "outliers",
             text("99.9%% of the elements lie within %.3g, the largest is %.3g", reach, most),
             "--method percentile, --balance 0.5 behind LayerNormalization, or --keep");
      for (const Use& u : v.uses())
        if (u.index == 0 && kept_.insert(u.node).second) result_.overrides.push_back(reported_name(*u.node));
    }
  }

  void judge_constants(const Node& node) {
    if (options_.precision == "int8") return;
    const DType type = options_.precision == "fp16" ? DType::kFloat16 : DType::kBFloat16;
    for (const Value* v : node.inputs()) {
      if (!v || !v->is_constant() || v->type.dtype != DType::kFloat32 || !seen_.insert(v).second) continue;
      const ConstantFit fit = fit_constant(*v->constant, type);
      if (fit.overflowing == 0 && fit.refusal().empty()) continue;
      TensorState none;
      report(none, *v, fit.overflowing > 0 ? "overflow" : "underflow",
             fit.overflowing > 0
                 ? std::to_string(fit.overflowing) + " elements of the constant exceed the type"
                 : fit.refusal(),
             "fp32 for '" + reported_name(node) + "'");
      if (kept_.insert(&node).second) result_.overrides.push_back(reported_name(node) + "=fp32");
    }
  }

  const DoctorOptions& options_;
  ImportedModel model_;
  Graph& graph_;
  CheckedSamples samples_;
  std::map<std::string, TensorState> states_;
  std::set<const Node*> kept_;
  std::map<std::string, std::string> scaled_;  // by which tensor's mending
  std::set<const Node*> rescaled_;             // whose constants a mending changes
  std::set<const Value*> seen_;
  Diagnosis result_;
};

}  // namespace

Diagnosis diagnose(const std::string& onnx_path, const SampleSource& samples, const DoctorOptions& options) {
  return Doctor(onnx_path, samples, options).run();
}

}  // namespace wootz
