// SPDX-License-Identifier: Apache-2.0
// Every distinct convolution and matrix product of built engines: what the engine runs, the best own tactic
// and the best of oneDNN: its tactic on our threads, or its primitive on its own threads with post-operations
// (onednn_peer.h). Interleaved, everybody with warm caches, short ones many times in a row.
//   bench_regions ENGINE.wtz... [--threads N] [--rounds N] [--only TEXT]
// One line a region, tab-separated: network, times it occurs, chosen us, own us, oneDNN us, chosen / oneDNN,
// own / oneDNN (medians of the rounds' ratios; nan where oneDNN refuses), chosen tactic, oneDNN's way,
// problem.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "backends/cpu/cpu_backend.h"
#include "device/region.h"
#include "engine/engine_file.h"
#include "memory/bind_shapes.h"
#include "memory/placement.h"
#include "onednn_peer.h"
#include "thread_clock.h"
#include "tuning/problem_key.h"
#include "tuning/region_check.h"

namespace wootz {
namespace {

bool is_contraction_region(const Node& node) {
  if (!is_region(node)) return false;
  for (const auto& inner : region_body(node).nodes())
    for (const char* op : {"Conv", "ConvTranspose", "MatMul", "Gemm"})
      if (inner->is(op)) return true;
  return false;
}

/// One way to do the region: a kernel of ours, or the peer.
struct Candidate {
  const Tactic* tactic = nullptr;
  TacticConfig config{};
  Packed packed{};
  std::unique_ptr<Kernel> kernel{};
  std::unique_ptr<OneDnnPeer> peer{};
  bool is_out = false;
  std::vector<double> us{};

  bool is_vendor() const { return !tactic || tactic->id().find("onednn") != std::string_view::npos; }
};

double median(std::vector<double> v) {
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::vector<Candidate> candidates_for(const CpuBackend& backend, const Problem& problem) {
  std::vector<Candidate> candidates;
  for (const Tactic* tactic : backend.tactics()) {
    if (tactic->id().starts_with("reference.") || tactic->refusal(problem)) continue;
    for (const TacticConfig& config : tactic->configs(problem)) {
      Candidate& c = candidates.emplace_back();
      c.tactic = tactic;
      c.config = config;
      c.packed = tactic->pack(problem, config);
      c.kernel = tactic->make_kernel(problem, config, c.packed);
    }
  }
  if (auto peer = OneDnnPeer::make(problem)) candidates.emplace_back().peer = std::move(peer);
  return candidates;
}

constexpr double kBlockUs = 300;  // of launches in a row
constexpr int kMostLaunches = 32;

/// Microseconds of a launch, of `launches` in a row after one that warms the caches.
double launch_us(const Problem& problem, ProblemBuffers& buffers, Candidate& c, Stream& stream,
                 int launches) {
  double start = 0;
  if (c.peer) {
    // The workers of our pool park first, oneDNN's stop spinning afterwards.
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    for (int i = 0; i <= launches; ++i) {
      if (i == 1) start = now_us(problem.threads);
      c.peer->run();
    }
    const double spent = now_us(problem.threads) - start;
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    return spent / launches;
  }
  const LaunchArgs args = buffers.args(*c.kernel, stream);
  stream.begin_run();
  for (int i = 0; i <= launches; ++i) {
    if (i == 1) start = now_us(problem.threads);
    c.kernel->launch(args);
  }
  const double spent = now_us(problem.threads) - start;
  stream.end_run();
  return spent / launches;
}

double median_ratio(const Candidate* a, const Candidate* b) {
  std::vector<double> ratios;
  for (size_t i = 0; a && b && i < a->us.size(); ++i) ratios.push_back(a->us[i] / b->us[i]);
  return median(std::move(ratios));
}

/// Times the candidates in turns. Who is far behind drops out, but for the chosen one and oneDNN.
void time_candidates(const Problem& problem, ProblemBuffers& buffers, std::vector<Candidate>& candidates,
                     const Candidate* chosen, Stream& stream, int rounds) {
  std::vector<int> launches;
  for (Candidate& c : candidates)
    launches.push_back(static_cast<int>(
        std::clamp(kBlockUs / launch_us(problem, buffers, c, stream, 1), 1.0, 1.0 * kMostLaunches)));
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i)
      if (Candidate& c = candidates[i]; !c.is_out)
        c.us.push_back(launch_us(problem, buffers, c, stream, launches[i]));
    if (round != 1) continue;
    double best = 1e300;
    for (const Candidate& c : candidates) best = std::min(best, median(c.us));
    for (Candidate& c : candidates) c.is_out = &c != chosen && !c.is_vendor() && median(c.us) > 1.25 * best;
  }
}

void measure(const CpuBackend& backend, const std::string& network, int count, const Problem& problem,
             const TacticChoice& choice, int rounds) {
  std::vector<Candidate> candidates = candidates_for(backend, problem);
  const auto stream = backend.make_stream(problem.threads);
  ProblemBuffers buffers(problem, backend);
  buffers.fill(make_inputs(problem, InputKind::kRandom, 5), *stream);
  const Candidate *own = nullptr, *vendor = nullptr, *chosen = nullptr;
  for (const Candidate& c : candidates)
    if (c.tactic && c.tactic->id() == choice.tactic_id && c.config == choice.config) chosen = &c;
  time_candidates(problem, buffers, candidates, chosen, *stream, rounds);
  for (const Candidate& c : candidates) {
    const Candidate*& best = c.is_vendor() ? vendor : own;
    if (!c.is_out && (!best || median(c.us) < median(best->us))) best = &c;
  }
  const auto us = [](const Candidate* c) { return c ? median(c->us) : std::nan(""); };
  std::printf("%s\t%d\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%s %s\t%s\t%s\n", network.c_str(), count, us(chosen),
              us(own), us(vendor), median_ratio(chosen, vendor), median_ratio(own, vendor),
              choice.tactic_id.c_str(), choice.config.to_string().c_str(),
              !vendor          ? "none"
              : vendor->tactic ? "our threads"
                               : "its threads",
              problem_key(problem).c_str());
  std::fflush(stdout);
}

void measure_engine(const CpuBackend& backend, const std::string& path, int threads, int rounds,
                    const std::string& only) {
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
    if (key.find(only) == std::string::npos) continue;
    ++found.emplace(key, Found{std::move(problem), &step.choices[0]}).first->second.count;
  }
  for (const auto& [key, f] : found)
    measure(backend, engine->model_name, f.count, f.problem, *f.choice, rounds);
}

}  // namespace
}  // namespace wootz

int main(int argc, char** argv) {
  int threads = 2, rounds = 9;
  std::string only;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      rounds = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      paths.emplace_back(argv[i]);
  }
  const wootz::CpuBackend backend;
  for (const std::string& path : paths) wootz::measure_engine(backend, path, threads, rounds, only);
}
