// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <fnmatch.h>
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include <wootz/version.h>
#include "base/thread_pool.h"
#include "compiler/baseline.h"
#include "compiler/choose_self_tests.h"
#include "compiler/compile_bodies.h"
#include "compiler/marks.h"
#include "compiler/pipeline.h"
#include "compiler/race_steps.h"
#include "compiler/repeat_sample.h"
#include "compiler/reproducer.h"
#include "compiler/trials.h"
#include "compiler/tuned_shapes.h"
#include "compiler/verify_engine.h"
#include "engine/content_hash.h"
#include "ir/tensor_memory.h"
#include "memory/bind_shapes.h"
#include "runtime/execution_state.h"
#include "runtime/self_tests.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kOtherShapeSeed = 13;
/// They sum in another order where there are few rows.
const std::set<std::string, std::less<>> kFewRowTactics = {"cpu.matmul.gemv", "cpu.conv.direct1x1"};
constexpr int kMostReproducers = 8;  // of one build
/// Of a build's time, above which verification leaves away what others of its trials cover
/// (docs/accuracy.md); what takes less than kSmallSeconds in all is not worth it.
constexpr double kVerifyShare = 0.2, kSmallSeconds = 0.05;
constexpr double kSmallStep = 0.02;  // seconds; a shape beside a small one that is tried whatever the share

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

RemarkRecord never_met(const std::string& name, const PassContext& context) {
  std::set<std::string> passes;
  for (const PassRecord& r : context.records) passes.insert(r.pass);
  std::string names;
  for (const std::string& pass : passes) names += (names.empty() ? "" : ", ") + pass;
  return {"passes",
          {},
          "--disable-pass " + name + ": no pass has that name and no such rule came up; passes are " + names};
}

/// One build in progress: what the stages share.
class Build {
 public:
  Build(ImportedModel model, const CompileOptions& options)
      : model_(std::move(model)),
        options_(options),
        backend_(backend_for(options.backend)),
        device_(as_device(backend_)),
        threads_(options.threads > 0 ? options.threads : allowed_cpus()),
        engine_(std::make_shared<EngineData>()) {}

  std::shared_ptr<EngineData> run() {
    const TensorMemoryReuse reuse;
    mark_values(*model_.graph, options_.marks);
    keep_baseline();
    choose_shapes();
    run_baseline();
    optimise();
    share_memory();
    check_memory();
    race();
    describe();
    leave_out_refused();
    if (!device_) compile_bodies(*engine_, options_, tuned_dims_);
    verify();
    return engine_;
  }

 private:
  static const Backend& backend_for(const std::string& name) {
    if (const Backend* b = find_backend(BackendRegistry::global(), name)) return *b;
    std::string names;
    for (const auto& b : BackendRegistry::global().all())
      names += (names.empty() ? "" : ", ") + std::string(b->name());
    throw Error(ErrorKind::kInvalidArgument, "--device: expected one of " + names + ", found '" + name + "'");
  }

  void report(const std::string& stage, const std::string& detail, double fraction) {
    if (!options_.progress) return;
    const double elapsed = seconds_since(start_);
    const Progress p{stage, detail, fraction, fraction > 0.05 ? elapsed * (1 - fraction) / fraction : -1};
    if (!options_.progress(p))
      throw Error(ErrorKind::kCancelled, "the build was cancelled; nothing was written");
  }

  void keep_baseline() {
    if (options_.verify)
      baseline_ = std::make_unique<Baseline>(
          model_.graph->clone(std::make_shared<SymbolTable>(model_.graph->symbols()), nullptr), threads_);
  }

  void choose_shapes() {
    std::vector<std::string> guessed;
    tuned_dims_ = choose_tuned_shapes(*model_.graph, options_.shapes, guessed);
    for (std::string& g : guessed) engine_->remarks.push_back({"shapes", {}, std::move(g)});
    for (size_t i = 0; i < tuned_dims_.size(); ++i)
      engine_->tuned_shapes[model_.graph->inputs()[i]->name] = tuned_dims_[i];
  }

  /// What the model makes of samples and random inputs: the judge of the engine, and the ranges that 16-bit
  /// types must hold. A model may be unable to take random inputs (an index out of range, a sampling rate of
  /// 1): that is said, not hidden.
  void run_baseline() {
    precision_ = options_.precision;
    if (!options_.verify) return;
    report("baseline", "", 0.01);
    const auto start = Clock::now();
    for (size_t i = 0; i < options_.samples.size(); ++i)
      run_baseline("sample " + std::to_string(i + 1), options_.samples[i], false);
    try {
      run_random_baseline();
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::kVerification || e.kind() == ErrorKind::kInternal) throw;
      if (!options_.shapes.empty() && !shapes_fit(baseline_->graph(), tuned_dims_))
        throw Error(ErrorKind::kInvalidArgument,
                    "--shapes: the model does not take these shapes: " + e.message());
      engine_->remarks.push_back(
          {"verify", {}, "the model does not take random inputs (" + e.message() + "); give samples"});
    }
    if (precision_.lowers() && options_.samples.empty())
      engine_->remarks.push_back(
          {"verify",
           {},
           "ranges for 16-bit types were measured on random inputs alone; give samples "
           "of real data"});
    baseline_seconds_ = seconds_since(start);
  }

  /// Engines for a device are tuned for batches that the judge, on the host, would take minutes for: it sees
  /// fewer rows, and the engine copies of them.
  void run_random_baseline() {
    const Graph& graph = baseline_->graph();
    const auto fewer = device_ ? fewer_rows(graph, tuned_dims_, 2) : std::nullopt;
    run_baseline("random", random_inputs(graph, fewer ? *fewer : tuned_dims_, 5), true);
    if (!fewer) return;
    if (auto repeated = repeat_rows(samples_.back(), tuned_dims_[0][0]))
      samples_.push_back(std::move(*repeated));
    else
      engine_->remarks.push_back({"verify", {}, "verified at a smaller batch than it was tuned for"});
  }

  void run_baseline(std::string name, std::vector<Datum> inputs, bool is_random) {
    const auto measure = [this](const Value* v, const Datum& d) {
      if (d.kind == Datum::Kind::kTensor && d.tensor.dtype() == DType::kFloat32)
        precision_.ranges[v->name].add(d.tensor);
    };
    VerifySample sample{std::move(name), std::move(inputs), {}, is_random};
    if (precision_.lowers()) {
      for (size_t i = 0; i < sample.inputs.size(); ++i)
        measure(baseline_->graph().inputs()[i], sample.inputs[i]);
      sample.expected = baseline_->run(sample.inputs, measure);
    } else {
      sample.expected = baseline_->run(sample.inputs);
    }
    samples_.push_back(std::move(sample));
  }

  std::map<std::string, int64_t> optimum() const {
    const SymbolTable& symbols = model_.graph->symbols();
    const Bindings bindings = bind_shapes(*model_.graph, tuned_dims_);
    std::map<std::string, int64_t> result;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const auto id = static_cast<SymbolId>(i);
      if (symbols.at(id).kind != Symbol::Kind::kInput) continue;
      if (const auto v = bindings.evaluate(symbols.resolve(Dim::symbol(id))))
        result[symbols.at(id).name] = *v;
    }
    return result;
  }

  void optimise() {
    report("simplify", "", 0.02);
    PassOptions pass_options;
    pass_options.disabled = options_.disabled_passes;
    pass_options.max_patches = options_.max_patches;
    pass_options.dump_folder = options_.dump_folder;
    pass_options.verify = false;
    pass_options.optimum = optimum();
    pass_options.precision = precision_;
    PassContext context(backend_.traits(threads_), pass_options);
    run_pipeline(*model_.graph, context);
    for (const std::string& name : context.never_met()) engine_->remarks.push_back(never_met(name, context));
    for (Remark& r : context.remarks)
      engine_->remarks.push_back(
          {r.pass, std::move(r.origins), std::move(r.text), r.gain_us, std::move(r.edit)});
    model_.graph->erase_unused_values();
    engine_->graph = std::move(model_.graph);
  }

  bool allowed(std::string_view tactic_id) const {
    if (left_out_.contains(tactic_id)) return false;
    if (options_.deterministic && (is_vendor_tactic(tactic_id) || kFewRowTactics.contains(tactic_id)))
      return false;
    return options_.allow_vendor_libraries || !is_vendor_tactic(tactic_id);
  }

  void share_memory() {
    report("plan", "", 0.08);
    const Bindings bindings = bind_shapes(*engine_->graph, tuned_dims_);
    const ServesStep serves = [&](const Node& node, std::span<const TensorDesc> in,
                                  std::span<const TensorDesc> out) {
      const Problem problem{&node, {in.begin(), in.end()}, {out.begin(), out.end()}, device_ ? 1 : threads_};
      for (const Tactic* t : backend_.tactics())
        if (!t->id().starts_with("reference.") && allowed(t->id()) && !t->refusal(problem)) return true;
      return false;
    };
    std::optional<Bindings> more_rows;
    if (!tuned_dims_.empty() && !tuned_dims_[0].empty())
      if (const auto dims = with_rows(*engine_->graph, tuned_dims_, tuned_dims_[0][0] + 1))
        more_rows = bind_shapes(*engine_->graph, *dims);
    for (const StepSharing& s :
         choose_sharing(*engine_->graph, bindings, serves, more_rows ? &*more_rows : nullptr))
      engine_->steps.push_back({s, {}, {}, 0, -1, 0});
    engine_->stacking = plan_of(*engine_, bindings).stacking;
  }

  /// Minutes of racing are lost when the engine then does not fit.
  void check_memory() const {
    if (device_ && !device_->can_run()) return;
    const ShapePlan plan = plan_of(*engine_, bind_shapes(*engine_->graph, tuned_dims_));
    size_t bytes = plan.arena_bytes;
    for (const Placement& p : plan.values)
      if (p.kind == Placement::Kind::kInput || p.kind == Placement::Kind::kOutput)
        bytes += static_cast<size_t>(p.desc.size()) * dtype_size(p.desc.dtype);
    if (options_.most_bytes > 0 && bytes > options_.most_bytes)
      throw Error(ErrorKind::kOutOfMemory, "its values would take " + std::to_string(bytes >> 20) +
                                               " MB at the sizes to tune for, of which some are guesses");
    try {
      backend_.release(backend_.allocate(bytes));
    } catch (const Error& e) {
      throw Error(e.kind(), "activations, inputs and outputs at the shapes to tune for: " + e.message());
    }
  }

  void race() {
    RaceStepsOptions o;
    o.race.tune = options_.tune;
    o.seconds = options_.race_seconds;
    o.race.allowed = [this](std::string_view id) { return allowed(id); };
    if (!options_.tactics.empty())
      o.race.asked_for = [this](std::string_view id) {
        return std::any_of(options_.tactics.begin(), options_.tactics.end(), [&](const std::string& pattern) {
          return fnmatch(pattern.c_str(), std::string(id).c_str(), 0) == 0;
        });
      };
    o.race.on_wrong = [this](const WrongTactic& wrong) { note(wrong); };
    o.timing_cache = options_.timing_cache;
    o.decisions = options_.decisions;
    o.progress = [this](size_t step, size_t steps, const Node& node) {
      report("race", node.origins.empty() ? node.op : node.origins[0],
             (device_ ? 0.4 : 0.1) + (device_ ? 0.4 : 0.7) * double(step) / double(steps));
    };
    o.compiled = [this](size_t done, size_t all) {
      report("compile", std::to_string(done) + " of " + std::to_string(all) + " kernels",
             0.1 + 0.3 * double(done) / double(all));
    };
    engine_->threads = threads_;
    race_check_ms_ = race_steps(*engine_, backend_, tuned_dims_, o);
    if (!options_.tactics.empty() && !wrong_.empty())
      throw Error(ErrorKind::kVerification, "--tactic: " + wrong_);
  }

  /// On a device a library may refuse in an engine what it ran in the race (another place of its workspace, a
  /// recording): the steps are raced once more without it.
  void leave_out_refused() {
    const auto uses_library = [&](const StepRecord& s) {
      return !s.choices.empty() && is_vendor_tactic(s.choices[0].tactic_id);
    };
    if (!device_ || !device_->can_run() || samples_.empty()) return;
    while (std::any_of(engine_->steps.begin(), engine_->steps.end(), uses_library)) {
      std::vector<Datum> found(engine_->graph->outputs().size());
      (void)state().run(samples_.back().inputs, found);
      if (state().refusals().empty()) return;
      std::erase_if(engine_->remarks, [](const RemarkRecord& r) { return r.stage == "race"; });
      for (const TacticRefusal& r : state().refusals()) {
        left_out_.insert(r.tactic_id);
        engine_->remarks.push_back({"race", {}, r.tactic_id + " is left out of this engine: " + r.reason});
      }
      state_.reset();
      race();
    }
  }

  /// A wrong tactic is out of the race; what it was run on is kept for a report.
  void note(const WrongTactic& wrong) {
    std::string text =
        wrong.tactic_id + (wrong.config.empty() ? "" : " " + wrong.config) + ": " + wrong.failure;
    if (wrong_.empty()) wrong_ = text;
    if (!options_.reproducers.empty() && reproducers_ < kMostReproducers) {
      try {
        const std::string place = save_reproducer(wrong, options_.reproducers, engine_->device_fingerprint);
        if (!place.empty()) text += "; kept in " + place, ++reproducers_;
      } catch (const Error& e) {
        text += "; what shows it could not be kept: " + e.message();
      }
    }
    engine_->remarks.push_back({"race", wrong.problem->region->origins, "thrown out: " + text});
  }

  void describe() {
    EngineData& e = *engine_;
    e.model_name = options_.model_name;
    e.model_hash = model_.content_hash;
    e.wootz_version = WOOTZ_VERSION;
    e.backend = options_.backend;
    e.device_fingerprint = backend_.traits(threads_).fingerprint;
    e.facts["producer"] = model_.producer;
    const TargetTraits traits = backend_.traits(threads_);
    e.facts["device_flops_per_second"] = std::to_string(traits.flops_per_second);
    e.facts["device_bytes_per_second"] = std::to_string(traits.bytes_per_second);
    e.facts["float_bound"] = std::to_string(std::max(graph_bound(*e.graph), asked_bound()));
    e.facts["precision"] = options_.precision.name();
    for (size_t i = 0; i < model_.notes.size(); ++i)
      e.facts["note " + std::to_string(i + 1)] = model_.notes[i];
  }

  /// TF32 keeps as many digits of an operand as float16 does.
  double asked_bound() const {
    double bound = options_.precision.tf32 ? output_bound(DType::kFloat16) : 0;
    if (!options_.precision.lowers()) return bound;
    bound = std::max(bound, output_bound(options_.precision.type));
    for (const PrecisionOverride& o : options_.precision.overrides)
      bound = std::max(bound, output_bound(o.type));
    return bound;
  }

  void verify() {
    if (device_ && !device_->can_run()) {
      engine_->remarks.push_back(
          {"verify",
           {},
           "built for a device that is not here: kernels were compiled, first guesses taken; not timed, not "
           "verified on the device"});
    } else if (options_.verify) {
      report("verify", "", 0.85);
      verify_start_ = Clock::now();
      std::vector<std::vector<Datum>> found(samples_.size());
      run_other_inputs();
      for (size_t i = 0; i < samples_.size(); ++i)
        if (!samples_[i].is_random || is_within_share(2 * run_seconds_))
          verify_sample(samples_[i], &found[i]);
      try_other_batch();
      try_other_shapes();
      verify_again(found);
      if (options_.deterministic) hold_bits();
      keep_self_tests();
      for (const std::string& text : std::set<std::string>(excused_.begin(), excused_.end()))
        engine_->remarks.push_back({"verify", {}, text});
      if (!repeats_)
        engine_->remarks.push_back({"verify", {}, "two runs on the same inputs differed in their last bits"});
      engine_->facts["verify_baseline_seconds"] = std::to_string(baseline_seconds_);
      engine_->facts["verify_regions_seconds"] = std::to_string(race_check_ms_ / 1e3);
      engine_->facts["verify_seconds"] = std::to_string(verify_seconds());
    }
    engine_->facts["content_hash"] = content_hash(*engine_);
    engine_->facts["build_seconds"] = std::to_string(seconds_since(start_));
    report("done", "", 1);
  }

  /// They hold here and now, or they would fail at every load. On a device, where they have run in emulation
  /// alone, a failure is told and stops no build.
  void keep_self_tests() {
    engine_->self_tests = choose_self_tests(*engine_, tuned_dims_);
    try {
      run_self_tests(*engine_, true);
    } catch (const Error& e) {
      if (!device_) throw;
      engine_->self_tests.clear();
      engine_->remarks.push_back({"verify", {}, "no self-tests are kept for loading: " + e.message()});
    }
  }

  double verify_seconds() const {
    return baseline_seconds_ + race_check_ms_ / 1e3 + seconds_since(verify_start_);
  }

  /// Whether trials that take so long keep verification within its share of the build.
  bool is_within_share(double seconds) const {
    const double verified = verify_seconds() + seconds;
    return verified <= std::max(kSmallSeconds, kVerifyShare * (seconds_since(start_) + seconds));
  }

  void verify_sample(const VerifySample& sample, std::vector<Datum>* found = nullptr) {
    try {
      add(verify_engine(state(), *baseline_, sample, asked_bound(), found, &excused_));
    } catch (const Error& e) {
      if (!sample.is_repeated || e.kind() != ErrorKind::kVerification) throw;
      // A model may mix its rows, and copies of rows then have another result: the judge decides.
      const VerifySample whole{sample.name, sample.inputs, baseline_->run(sample.inputs), true};
      add(verify_engine(state(), *baseline_, whole, asked_bound(), found, &excused_));
    }
  }

  /// The samples once more, behind all that other inputs and shapes left in memory and in kernels. A batch
  /// that holds the random inputs has held the engine against the baseline, and other inputs by themselves
  /// against the batch: there the random inputs by themselves may be left away.
  void verify_again(const std::vector<std::vector<Datum>>& first) {
    std::vector<OutputError> before = std::exchange(engine_->verification, {});
    for (size_t i = 0; i < samples_.size(); ++i) {
      const bool may_go = covered_by_batch_ && !options_.deterministic && &samples_[i] == random_sample();
      if (may_go && !is_within_share(run_seconds_)) continue;
      std::vector<Datum> again;
      verify_sample(samples_[i], &again);
      for (size_t k = 0; k < first[i].size(); ++k) repeats_ = repeats_ && same_bits(first[i][k], again[k]);
    }
    merge_errors(engine_->verification, std::move(before));
  }

  /// One context runs all samples, so that each shape meets what the others left.
  ExecutionState& state() {
    if (!state_) state_ = std::make_unique<ExecutionState>(engine_);
    return *state_;
  }

  const VerifySample* random_sample() const {
    for (const VerifySample& s : samples_)
      if (s.is_random && !s.is_repeated) return &s;
    return nullptr;
  }

  /// Other inputs of the samples' shapes, whose remains these find.
  void run_other_inputs() {
    const VerifySample* random = random_sample();
    for (const VerifySample& s : samples_)
      if (&s != random) (void)run_others(state(), baseline_->graph(), s);
    if (!random) return;
    (void)state().prepare(dims_of(random->inputs));
    const auto start = Clock::now();
    others_ = run_others(state(), baseline_->graph(), *random);
    run_seconds_ = seconds_since(start);
  }

  /// A batch against its rows.
  void try_other_batch() {
    const VerifySample* random = random_sample();
    if (!random) return;
    const auto sample = other_batch(baseline_->graph(), tuned_dims_, *random, others_ ? &*others_ : nullptr,
                                    is_within_share(3 * run_seconds_) ? 3 : 2);
    if (!sample) return;
    try {
      verify_sample(*sample);
      tried_batch_ = true;
      covered_by_batch_ = others_ && tuned_dims_[0][0] == 1;
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::kVerification || is_fit_for_model(sample->inputs)) throw;
      engine_->remarks.push_back({"verify", {}, "the model takes no other batch (" + e.message() + ")"});
    }
  }

  /// Shapes that it was not tuned for: the least and the largest asked for, else smaller ones that the model
  /// takes.
  void try_other_shapes() {
    if (device_ || !random_sample()) return;  // the judge would need minutes for a device's sizes
    for (const auto& asked : options_.verify_shapes) {
      std::vector<std::string> guessed;
      (void)try_shape(choose_tuned_shapes(baseline_->graph(), asked, guessed), true);
    }
    if (!options_.verify_shapes.empty()) return;
    const Graph& graph = baseline_->graph();
    const OtherShapes shapes = other_shapes(graph, tuned_dims_);
    bool taken = false;
    if (const auto dims = with_rows(graph, tuned_dims_, 2);
        dims && !tried_batch_ && !shapes.small.empty() && *dims != tuned_dims_ && is_affordable(*dims))
      taken = try_shape(*dims, false);
    for (size_t i = 0; i < shapes.small.size(); ++i) {
      const std::vector<Dims>& dims = shapes.small[i];
      if (tried_batch_ && with_rows(graph, tuned_dims_, dims[0][0]) == dims) continue;
      if (!try_shape(dims, false)) continue;
      taken = true;
      if (i == 0) try_steps(shapes.steps);
    }
    for (const std::vector<Dims>& dims : shapes.half) {
      if (taken && !is_affordable(dims)) return;
      if (try_shape(dims, false)) return;
    }
  }

  /// The first whatever it costs: it is as small as the one before it, and mostly the batch's.
  void try_steps(const std::vector<std::vector<Dims>>& steps) {
    for (size_t i = 0; i < steps.size(); ++i)
      if (i == 0 || seconds_at(steps[i]) < kSmallStep || is_affordable(steps[i]))
        (void)try_shape(steps[i], false);
  }

  /// Whether a trial at these dims keeps verification within its share, by what the tuned ones took.
  bool is_affordable(std::span<const Dims> dims) const { return is_within_share(seconds_at(dims)); }

  double seconds_at(std::span<const Dims> dims) const {
    double here = 0, tuned = 0;
    for (const Dims& d : dims) here += static_cast<double>(element_count(d));
    for (const Dims& d : tuned_dims_) tuned += static_cast<double>(element_count(d));
    return here / std::max(tuned, 1.0) * (baseline_seconds_ + run_seconds_);
  }

  /// False where the model does not take the shape (sizes that its windows do not divide); an error if
  /// `is_asked`.
  bool try_shape(const std::vector<Dims>& dims, bool is_asked) {
    VerifySample sample{
        "random at " + dims_text(dims), random_inputs(baseline_->graph(), dims, kOtherShapeSeed), {}, true};
    try {
      sample.expected = baseline_->run(sample.inputs);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::kVerification || e.kind() == ErrorKind::kInternal || is_asked) throw;
      return false;
    }
    verify_sample(sample);
    return true;
  }

  /// The same bits in every run and for every batch.
  void hold_bits() {
    if (!repeats_)
      throw Error(ErrorKind::kVerification,
                  "--deterministic: two runs on the same inputs differ in their bits; please report it");
    const std::string found =
        batch_bits(baseline_->graph(), tuned_dims_,
                   [&](const auto& inputs, auto& outputs) { return state().run(inputs, outputs).ok(); });
    if (!found.empty())
      throw Error(ErrorKind::kVerification,
                  "--deterministic: " + found +
                      "; the model mixes its rows, or a kernel sums few rows in another order");
    engine_->facts["deterministic"] =
        "the same bits twice, and at batches of 1, 3 and 8 where the model has batches";
  }

  bool is_fit_for_model(const std::vector<Datum>& inputs) const {
    try {
      (void)baseline_->run(inputs);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  static std::vector<Dims> dims_of(std::span<const Datum> data) {
    std::vector<Dims> dims;
    for (const Datum& d : data) dims.push_back(d.tensor.dims());
    return dims;
  }

  static std::string dims_text(std::span<const Dims> all) {
    std::string text;
    for (const Dims& dims : all) {
      text += text.empty() ? "" : ", ";
      for (size_t i = 0; i < dims.size(); ++i) text += (i ? "x" : "") + std::to_string(dims[i]);
      if (dims.empty()) text += "scalar";
    }
    return text;
  }

  void add(std::vector<OutputError> errors) {
    for (OutputError& e : errors) engine_->verification.push_back(std::move(e));
  }

  std::vector<std::string> excused_;  // outputs whose bound the model's own sensitivity widened
  ImportedModel model_;
  const CompileOptions& options_;
  const Backend& backend_;
  const DeviceBackend* device_;  // the same, where it is one
  int threads_;
  std::shared_ptr<EngineData> engine_;
  std::unique_ptr<Baseline> baseline_;
  std::vector<Dims> tuned_dims_;
  PrecisionOptions precision_;  // as asked, with the ranges
  std::vector<VerifySample> samples_;
  std::unique_ptr<ExecutionState> state_;
  std::set<std::string, std::less<>> left_out_;  // tactics that refused to run in the engine
  std::string wrong_;                            // the first tactic with wrong results
  int reproducers_ = 0;                          // kept
  bool repeats_ = true;                          // every sample gave the same bits twice
  bool tried_batch_ = false;
  bool covered_by_batch_ = false;       // its rows: the random inputs, and the others that ran by themselves
  std::optional<VerifySample> others_;  // what the engine made of other inputs
  double baseline_seconds_ = 0, race_check_ms_ = 0, run_seconds_ = 0;
  Clock::time_point start_ = Clock::now(), verify_start_;
};

}  // namespace

std::shared_ptr<EngineData> compile(ImportedModel model, const CompileOptions& options) {
  return Build(std::move(model), options).run();
}

}  // namespace wootz
