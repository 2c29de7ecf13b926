// SPDX-License-Identifier: Apache-2.0
// Every distinct convolution and matrix product of built engines: what the engine runs, the best own tactic
// and the best oneDNN primitive (with its reorders and the region's tail), interleaved: the second of two
// launches, since the weights that oneDNN holds cannot be evicted.
//   bench_regions ENGINE.wtz... [--threads N] [--rounds N]
// One line a region, tab-separated: network, times it occurs, chosen us, own us, oneDNN us, chosen / oneDNN,
// own / oneDNN (medians of the rounds' ratios; nan where oneDNN refuses), chosen tactic, problem.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>

#include "backends/cpu/cpu_backend.h"
#include "device/region.h"
#include "engine/engine_file.h"
#include "memory/bind_shapes.h"
#include "memory/placement.h"
#include "tuning/problem_key.h"
#include "tuning/region_check.h"

namespace wootz {
namespace {

/// One thread is timed by its processor time, which other processes disturb little; several by the wall
/// clock.
double now_us(int threads) {
  timespec t{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

bool is_contraction_region(const Node& node) {
  if (!is_region(node)) return false;
  for (const auto& inner : region_body(node).nodes())
    for (const char* op : {"Conv", "ConvTranspose", "MatMul", "Gemm"})
      if (inner->is(op)) return true;
  return false;
}

struct Candidate {
  const Tactic* tactic;
  TacticConfig config;
  Packed packed;
  std::unique_ptr<Kernel> kernel;
  std::vector<double> us{};
};

double median(std::vector<double> v) {
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

bool is_vendor(const Tactic& tactic) { return tactic.id().find("onednn") != std::string_view::npos; }

std::vector<Candidate> candidates_for(const CpuBackend& backend, const Problem& problem) {
  std::vector<Candidate> candidates;
  for (const Tactic* tactic : backend.tactics()) {
    if (tactic->id().starts_with("reference.") || tactic->refusal(problem)) continue;
    for (const TacticConfig& config : tactic->configs(problem)) {
      Packed packed = tactic->pack(problem, config);
      auto kernel = tactic->make_kernel(problem, config, packed);
      candidates.push_back({tactic, config, std::move(packed), std::move(kernel)});
    }
  }
  return candidates;
}

double launch_us(const Problem& problem, ProblemBuffers& buffers, Candidate& c, Stream& stream) {
  const LaunchArgs args = buffers.args(*c.kernel, stream);
  c.kernel->launch(args);
  const double start = now_us(problem.threads);
  c.kernel->launch(args);
  return now_us(problem.threads) - start;
}

double median_ratio(const Candidate* a, const Candidate* b) {
  std::vector<double> ratios;
  for (size_t i = 0; a && b && i < a->us.size(); ++i) ratios.push_back(a->us[i] / b->us[i]);
  return median(std::move(ratios));
}

void measure(const CpuBackend& backend, const std::string& network, int count, const Problem& problem,
             const TacticChoice& choice, int rounds) {
  std::vector<Candidate> candidates = candidates_for(backend, problem);
  const auto stream = backend.make_stream(problem.threads);
  ProblemBuffers buffers(problem, backend);
  buffers.fill(make_inputs(problem, InputKind::kRandom, 5), *stream);
  stream->begin_run();
  for (int round = -1; round < rounds; ++round)
    for (Candidate& c : candidates) {
      const double us = launch_us(problem, buffers, c, *stream);
      if (round >= 0) c.us.push_back(us);
    }
  stream->end_run();
  const Candidate *own = nullptr, *vendor = nullptr, *chosen = nullptr;
  for (const Candidate& c : candidates) {
    const Candidate*& best = is_vendor(*c.tactic) ? vendor : own;
    if (!best || median(c.us) < median(best->us)) best = &c;
    if (c.tactic->id() == choice.tactic_id && c.config == choice.config) chosen = &c;
  }
  const auto us = [](const Candidate* c) { return c ? median(c->us) : std::nan(""); };
  std::printf("%s\t%d\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%s %s\t%s\n", network.c_str(), count, us(chosen),
              us(own), us(vendor), median_ratio(chosen, vendor), median_ratio(own, vendor),
              choice.tactic_id.c_str(), choice.config.to_string().c_str(), problem_key(problem).c_str());
  std::fflush(stdout);
}

void measure_engine(const CpuBackend& backend, const std::string& path, int threads, int rounds) {
  const auto engine = load_engine(path);
  const Graph& graph = *engine->graph;
  std::vector<Dims> dims;
  for (const Value* v : graph.inputs()) dims.push_back(engine->tuned_shapes.at(v->name));
  const ShapePlan plan = plan_strides(graph, bind_shapes(graph, dims), sharing_of(*engine));
  struct Found {
    Problem problem;
    const TacticChoice* choice;
    int count = 0;
  };
  std::map<std::string, Found> found;
  size_t i = 0;
  for (const auto& node : graph.nodes()) {
    const StepRecord& step = engine->steps[i];
    const bool runs = !plan.interpreted[i] && !runs_nothing(plan.sharing[i]) && !step.choices.empty();
    ++i;
    if (!runs || !is_contraction_region(*node)) continue;
    Problem problem = problem_of(*node, plan, threads);
    const std::string key = problem_key(problem);
    ++found.emplace(key, Found{std::move(problem), &step.choices[0]}).first->second.count;
  }
  for (const auto& [key, f] : found)
    measure(backend, engine->model_name, f.count, f.problem, *f.choice, rounds);
}

}  // namespace
}  // namespace wootz

int main(int argc, char** argv) {
  int threads = 2, rounds = 7;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      rounds = std::atoi(argv[++i]);
    else
      paths.emplace_back(argv[i]);
  }
  const wootz::CpuBackend backend;
  for (const std::string& path : paths) wootz::measure_engine(backend, path, threads, rounds);
}
