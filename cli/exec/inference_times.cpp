// SPDX-License-Identifier: Apache-2.0
#include "cli/exec/inference_times.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <thread>

namespace wootz::cli {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void wait_ms(double ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}

/// One context with its inputs and outputs in the engine's order.
class StreamRun {
 public:
  StreamRun(const Engine& engine, const NamedData& inputs)
      : context_(engine.context()), outputs_(engine.outputs().size()) {
    for (const TensorInfo& t : engine.inputs()) inputs_.push_back(inputs.at(t.name));
    once();
  }
  void once() {
    if (const std::string failure = context_.run_ordered(inputs_, outputs_); !failure.empty())
      throw Error(ErrorKind::kInvalidArgument, failure);
  }
  const std::vector<Datum>& outputs() const { return outputs_; }

 private:
  Context context_;
  std::vector<Datum> inputs_, outputs_;
};

}  // namespace

InferenceRun time_inferences(const Engine& engine, const NamedData& inputs, const ExecOptions& o) {
  std::vector<std::unique_ptr<StreamRun>> streams;
  streams.reserve(static_cast<size_t>(o.streams));
  for (int s = 0; s < o.streams; ++s) streams.push_back(std::make_unique<StreamRun>(engine, inputs));
  const auto warm = Clock::now();
  while (ms_since(warm) < o.warm_up_ms)
    for (auto& s : streams) s->once();
  wait_ms(o.sleep_ms);
  std::vector<std::vector<InferenceTime>> times(streams.size());
  std::vector<std::exception_ptr> failures(streams.size());
  const double processor = processor_ms();
  const auto start = Clock::now();
  const auto work = [&](size_t s) {
    try {
      while (ms_since(start) < o.duration_s * 1e3 || times[s].size() < size_t(std::max(1, o.iterations))) {
        const double begin = ms_since(start);
        streams[s]->once();
        times[s].push_back({begin, ms_since(start)});
        wait_ms(o.idle_ms);
      }
    } catch (...) {
      failures[s] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (size_t s = 1; s < streams.size(); ++s) threads.emplace_back(work, s);
  work(0);
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
  InferenceRun run;
  run.cpu_ms = processor_ms() - processor;
  for (const auto& list : times) run.times.insert(run.times.end(), list.begin(), list.end());
  std::sort(run.times.begin(), run.times.end(),
            [](const auto& a, const auto& b) { return a.start_ms < b.start_ms; });
  for (const InferenceTime& t : run.times) run.wall_ms = std::max(run.wall_ms, t.end_ms);
  if (!run.times.empty()) run.wall_ms -= run.times.front().start_ms;
  const auto infos = engine.outputs();
  for (size_t i = 0; i < infos.size(); ++i) run.outputs[infos[i].name] = streams[0]->outputs()[i];
  return run;
}

}  // namespace wootz::cli
