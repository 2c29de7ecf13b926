// SPDX-License-Identifier: Apache-2.0
// The search for a mixture of types, on one page.
#include <wootz/mixed.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "mixed/bytes_model.h"
#include "mixed/time_in_turn.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kGain = 0.98;  // of float32's time: less is not worth other numbers

std::string escaped(const std::string& name) {
  std::string text;
  for (char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

class Search {
 public:
  Search(const std::string& path, const MixedOptions& options) : path_(path), options_(options) {
    if (options.build.samples.empty())
      throw Error(ErrorKind::kInvalidArgument,
                  "mixed: expected at least one sample to measure errors on, found none");
    if (!(options.max_error > 0))
      throw Error(ErrorKind::kInvalidArgument,
                  "mixed: expected a budget above 0, found " + std::to_string(options.max_error));
  }

  MixedResult run() {
    if (!options_.resume.empty()) read_earlier();
    for (const NamedData& sample : options_.build.samples) expected_.push_back(run_reference(path_, sample));
    const size_t plain = attempt("fp32", {}, "float32 throughout");
    if (!(trials_[plain].error <= options_.max_error))
      throw Error(ErrorKind::kVerification, "mixed: float32 itself has an error of " +
                                                std::to_string(trials_[plain].error) + ", the budget is " +
                                                std::to_string(options_.max_error));
    for (const char* type : {"bf16", "fp16", "int8"}) search(type);
    return finish(plain);
  }

 private:
  bool out_of_time() const {
    return options_.seconds > 0 &&
           std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds;
  }

  /// One type: the whole network, else the parts that the budget allows.
  void search(const std::string& type) {
    if (out_of_time()) return;
    const size_t whole = attempt(type, {}, type + " wherever it is safe");
    if (trials_[whole].error <= options_.max_error) return;
    const std::vector<std::vector<std::string>> parts = parts_of(whole);
    if (parts.size() < 2) return;
    std::vector<std::pair<double, size_t>> order;
    for (size_t k = 0; k < parts.size() && !out_of_time(); ++k) {
      const size_t t =
          attempt(type, all_but(parts, {k}),
                  type + " in part " + std::to_string(k + 1) + " of " + std::to_string(parts.size()));
      if (trials_[t].error <= options_.max_error) order.emplace_back(trials_[t].error, k);
    }
    std::sort(order.begin(), order.end());
    std::set<size_t> taken;
    for (const auto& [error, k] : order) {
      if (out_of_time()) return;
      std::set<size_t> more = taken;
      more.insert(k);
      if (more.size() == 1) {
        taken = more;
        continue;
      }
      const size_t t = attempt(
          type, all_but(parts, more),
          type + " in " + std::to_string(more.size()) + " of " + std::to_string(parts.size()) + " parts");
      if (trials_[t].error <= options_.max_error) taken = more;
    }
  }

  /// The nodes that got the type, by name, in runs of the graph's order.
  std::vector<std::vector<std::string>> parts_of(size_t trial) const {
    const auto& names = lowered_[trial];
    const size_t count = std::min<size_t>(names.size(), static_cast<size_t>(std::max(1, options_.groups)));
    std::vector<std::vector<std::string>> parts(count);
    for (size_t i = 0; i < names.size(); ++i) parts[i * count / names.size()].push_back(names[i]);
    return parts;
  }

  static std::vector<std::string> all_but(const std::vector<std::vector<std::string>>& parts,
                                          const std::set<size_t>& kept) {
    std::vector<std::string> overrides;
    for (size_t k = 0; k < parts.size(); ++k)
      if (!kept.contains(k))
        for (const std::string& name : parts[k]) overrides.push_back(escaped(name) + "=fp32");
    return overrides;
  }

  /// Builds and measures, or takes what an earlier search found; returns the trial's index.
  size_t attempt(const std::string& precision, std::vector<std::string> overrides, std::string what) {
    MixedTrial t{precision, std::move(overrides), std::move(what), kNaN, kNaN, "", false, false};
    std::optional<Engine> engine;
    std::vector<std::string> lowered;
    const auto known = earlier_.find({precision, t.overrides});
    if (known != earlier_.end() && precision != "fp32") {
      t.error = known->second.error, t.time_ms = known->second.time_ms, t.problem = known->second.problem;
      lowered = known->second.lowered;
    } else {
      try {
        engine = built(t, lowered);
        t.error = error_of(*engine);
        t.time_ms = time_of(*engine);
        if (known != earlier_.end()) t.time_ms = known->second.time_ms;  // that others are scaled to
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::kCancelled || precision == "fp32") throw;
        t.problem = e.what();
        if (overrides_allowed() && precision != "int8") lowered = lowered_without_verification(t);
      }
    }
    trials_.push_back(std::move(t));
    engines_.push_back(std::move(engine));
    lowered_.push_back(std::move(lowered));
    if (options_.checkpoint) options_.checkpoint(types_json("", nullptr));
    return trials_.size() - 1;
  }

  /// `lowered` gets the nodes that have the trial's type.
  Engine built(const MixedTrial& t, std::vector<std::string>& lowered) const {
    BuildOptions b = options_.build;
    if (t.precision != "int8") {
      b.precision = t.precision;
      b.precision_of.insert(b.precision_of.end(), t.overrides.begin(), t.overrides.end());
      Engine engine = build(path_, b);
      lowered = lowered_nodes(engine);
      return engine;
    }
    const BytesModel bytes(path_, b, false, kept_patterns(t.overrides));
    lowered = bytes.nodes();
    b.precision = other_precision(b);
    return build(bytes.path(), b);
  }

  bool overrides_allowed() const { return options_.groups > 1; }

  /// Which nodes a build that fails its verification would lower.
  std::vector<std::string> lowered_without_verification(const MixedTrial& t) const {
    BuildOptions b = options_.build;
    b.precision = t.precision;
    b.precision_of.insert(b.precision_of.end(), t.overrides.begin(), t.overrides.end());
    b.verify = b.tune = false;
    try {
      return lowered_nodes(build(path_, b));
    } catch (const Error&) {
      return {};
    }
  }

  static std::vector<std::string> lowered_nodes(const Engine& engine) {
    std::vector<std::string> names;
    std::set<std::string> seen;
    const auto j = nlohmann::json::parse(engine.explain_json());
    for (const auto& r : j["remarks"]) {
      const std::string text = r["text"];
      if (r["stage"] != "lower_precision" || r["nodes"].empty() ||
          (text.find(" in float16") == std::string::npos && text.find(" in bfloat16") == std::string::npos))
        continue;
      if (std::string name = r["nodes"][0]; seen.insert(name).second) names.push_back(std::move(name));
    }
    return names;
  }

  double error_of(const Engine& engine) const {
    double worst = 0;
    for (size_t i = 0; i < expected_.size(); ++i) {
      const NamedData found = engine.run(options_.build.samples[i]);
      if (options_.metric) {
        worst = std::max(worst, options_.metric(expected_[i], found));
        continue;
      }
      for (const OutputComparison& c : compare(expected_[i], found))
        worst =
            std::max(worst, std::isnan(c.relative) ? std::numeric_limits<double>::infinity() : c.relative);
    }
    return worst;
  }

  /// In turn with float32's engine, scaled to float32's time.
  double time_of(const Engine& engine) {
    Context context = engine.context();
    if (engines_.empty()) return time_in_turn({&context}, options_.build.samples[0])[0];
    Context plain = engines_[0]->context();
    const std::vector<double> ms = time_in_turn({&context, &plain}, options_.build.samples[0]);
    return ms[0] / ms[1] * trials_[0].time_ms;
  }

  MixedResult finish(size_t plain) {
    size_t best = plain;
    for (size_t i = 0; i < trials_.size(); ++i) {
      MixedTrial& t = trials_[i];
      if (!std::isfinite(t.time_ms)) continue;
      t.on_front = std::none_of(trials_.begin(), trials_.end(), [&](const MixedTrial& o) {
        return (o.time_ms < t.time_ms && o.error <= t.error) || (o.time_ms <= t.time_ms && o.error < t.error);
      });
      const bool pays = !lowered_[i].empty() && t.time_ms < kGain * trials_[plain].time_ms;
      if (i != plain && t.error <= options_.max_error && pays && t.time_ms < trials_[best].time_ms) best = i;
    }
    trials_[best].chosen = true;
    std::vector<std::string> lowered;
    if (!engines_[best]) engines_[best] = built(trials_[best], lowered);
    MixedResult r{*engines_[best], trials_, "", ""};
    r.reason = best == plain ? "no mixture within the budget is faster than float32 by more than 2%"
                             : "the fastest within the budget: " + r.trials[best].what;
    r.types = types_json(r.reason, &r.trials[best]);
    return r;
  }

  /// What results depend on besides the machine.
  std::string search_key() const {
    Hasher hash;
    hash.update(MappedFile::open(path_)->bytes());
    for (const NamedData& sample : options_.build.samples)
      for (const auto& [name, datum] : sample)
        if (datum.kind == Datum::Kind::kTensor && datum.tensor.dtype() != DType::kString)
          hash.update(
              std::span(static_cast<const std::byte*>(datum.tensor.data()), datum.tensor.size_bytes()));
    return hash.digest().hex() + " on " + options_.build.device;
  }

  void read_earlier() {
    try {
      const auto j = nlohmann::json::parse(options_.resume);
      if (j.at("key") != key_)
        throw Error(
            ErrorKind::kInvalidArgument,
            "resume: expected the trials of this model, its samples and device, found those of others");
      for (const auto& t : j.at("trials")) {
        const auto number = [&](const char* name) {
          return t.at(name).is_null() ? kNaN : t.at(name).get<double>();
        };
        earlier_[{t.at("precision"), t.at("precision_of")}] = {number("error"), number("time_ms"),
                                                               t.at("problem"), t.at("nodes")};
      }
    } catch (const nlohmann::json::exception& e) {
      throw Error(ErrorKind::kInvalidArgument,
                  std::string("resume: expected a file of types as a search writes it: ") + e.what());
    }
  }

  std::string types_json(const std::string& reason, const MixedTrial* chosen) const {
    const auto number = [](double v) {
      return std::isfinite(v) ? nlohmann::ordered_json(v) : nlohmann::ordered_json();
    };
    nlohmann::ordered_json j;
    j["max_error"] = options_.max_error;
    j["key"] = key_;
    if (chosen) {
      j["precision"] = chosen->precision;
      j["precision_of"] = chosen->overrides;
      j["reason"] = reason;
    }
    j["trials"] = nlohmann::ordered_json::array();
    for (size_t i = 0; i < trials_.size(); ++i) {
      const MixedTrial& t = trials_[i];
      j["trials"].push_back({{"what", t.what},
                             {"precision", t.precision},
                             {"precision_of", t.overrides},
                             {"error", number(t.error)},
                             {"time_ms", number(t.time_ms)},
                             {"problem", t.problem},
                             {"on_front", t.on_front},
                             {"chosen", t.chosen},
                             {"nodes", lowered_[i]}});
    }
    return j.dump(1) + "\n";
  }

  std::string path_;
  const MixedOptions& options_;
  /// What an earlier search measured, by type and overrides.
  struct Known {
    double error, time_ms;
    std::string problem;
    std::vector<std::string> lowered;
  };
  std::map<std::pair<std::string, std::vector<std::string>>, Known> earlier_;
  const std::string key_ = search_key();
  std::vector<NamedData> expected_;
  std::vector<MixedTrial> trials_;
  std::vector<std::optional<Engine>> engines_;
  std::vector<std::vector<std::string>> lowered_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

MixedResult build_mixed(const std::string& onnx_path, const MixedOptions& options) {
  return Search(onnx_path, options).run();
}

}  // namespace wootz
