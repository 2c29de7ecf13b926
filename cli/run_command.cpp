// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/npz.h"
#include "cli/options.h"
#include "cli/output_path.h"
#include "cli/percentile.h"
#include "cli/profile.h"
#include "cli/trace.h"

namespace wootz::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string dims_text(const Dims& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + std::to_string(dims[i]);
  return s + "]";
}

std::string text_of(const Datum& d) {
  switch (d.kind) {
    case Datum::Kind::kTensor: return std::string(dtype_name(d.tensor.dtype())) + dims_text(d.tensor.dims());
    case Datum::Kind::kSequence: return "sequence of " + std::to_string(d.elements.size());
    case Datum::Kind::kMap: return "map of " + std::to_string(d.elements.size());
    case Datum::Kind::kOptional: return d.elements.empty() ? "nothing" : text_of(d.elements[0]);
    case Datum::Kind::kNone: break;
  }
  return "nothing";
}

nlohmann::json datum_json(const std::string& name, const Datum& d) {
  if (d.kind != Datum::Kind::kTensor) return {{"name", name}, {"kind", text_of(d)}};
  return {{"name", name}, {"dtype", std::string(dtype_name(d.tensor.dtype()))}, {"dims", d.tensor.dims()}};
}

NamedData named_inputs(const std::string& path) {
  NamedData data;
  for (auto& [name, tensor] : read_npz(path)) data[name] = Datum(std::move(tensor));
  return data;
}

}  // namespace

void start_shadow(const Engine& engine, const Options& o) {
  if (o.shadow > 0) engine.shadow(o.shadow);
}

int report_shadow(const Engine& engine, const Options& o) {
  if (o.shadow == 0) return 0;
  const ShadowCounts found = engine.shadow_counts();
  std::fprintf(stderr,
               "shadow checks: %llu runs looked at, %llu regions computed once more, %llu differ%s%s\n",
               static_cast<unsigned long long>(found.runs), static_cast<unsigned long long>(found.regions),
               static_cast<unsigned long long>(found.failures), found.failures ? "; last: " : "",
               found.last_failure.c_str());
  return found.failures ? 4 : 0;
}

NamedData random_inputs(const Engine& engine, const Options& o) {
  const auto asked = parse_shapes(o.shapes);
  const auto tuned = nlohmann::json::parse(engine.explain_json())["tuned_shapes"];
  const std::vector<TensorInfo> inputs = engine.inputs();
  for (const auto& [name, dims] : asked)
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&, &n = name](const TensorInfo& i) { return i.name == n; }))
      throw Error(ErrorKind::kInvalidArgument, "--shapes: expected one of the engine's inputs, found '" +
                                                   name + "'; `wootz inspect` lists them");
  std::mt19937 random(1);
  NamedData data;
  for (const TensorInfo& info : inputs) {
    const auto it = asked.find(info.name);
    const Dims dims = it != asked.end() ? it->second : tuned.at(info.name).get<Dims>();
    Tensor t = Tensor::zeros(info.dtype, dims);
    if (info.dtype == DType::kFloat32)
      for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = float(random()) * 0x1p-32f;
    if (info.dtype == DType::kFloat16)  // 0.5 to 1: zeros would take less power, and so less time
      for (int64_t i = 0; i < t.size(); ++i)
        t.as<uint16_t>()[i] = static_cast<uint16_t>(0x3800 | (random() & 0x3ff));
    data[info.name] = Datum(std::move(t));
  }
  return data;
}

int run_run(const Options& o) {
  if (o.inputs.empty())
    throw Error(ErrorKind::kInvalidArgument,
                "run: expected --inputs FILE.npz with an array for each input, found none");
  if (!o.outputs.empty()) writable_path(o.outputs);
  const NamedData inputs = named_inputs(o.inputs);
  NamedData outputs;
  int code = 0;
  if (o.reference) {
    outputs = run_reference(o.model, inputs, o.marks);
  } else {
    Options with_shapes = o;
    // Tune for what is about to run.
    if (!is_engine(o.model) && o.shapes.empty())
      for (const auto& [name, d] : inputs) {
        std::string text = name + ":";
        for (size_t i = 0; i < d.tensor.dims().size(); ++i)
          text += (i ? "x" : "") + std::to_string(d.tensor.dims()[i]);
        if (!d.tensor.dims().empty()) with_shapes.shapes.push_back(text);
      }
    const Engine engine = open_model(with_shapes);
    start_shadow(engine, o);
    outputs = engine.context(o.threads).run(inputs);
    code = report_shadow(engine, o);
  }
  if (!o.outputs.empty()) write_npz(o.outputs, outputs);
  nlohmann::json j = nlohmann::json::array();
  for (const auto& [name, d] : outputs) {
    j.push_back(datum_json(name, d));
    if (!o.json) std::printf("%s: %s\n", name.c_str(), text_of(d).c_str());
  }
  if (o.json) std::printf("%s\n", j.dump(1).c_str());
  return code;
}

int run_bench(const Options& o) {
  if (!o.trace.empty()) writable_path(o.trace);
  const Engine engine = open_for_inputs(o);
  const NamedData named = o.inputs.empty() ? random_inputs(engine, o) : named_inputs(o.inputs);
  start_shadow(engine, o);
  Context context = engine.context(o.threads);
  context.run(named);  // names every input that is missing, too many or of another type
  std::vector<Datum> inputs, outputs(engine.outputs().size());
  for (const TensorInfo& info : engine.inputs()) {
    const auto it = named.find(info.name);
    inputs.push_back(it == named.end() ? Datum() : it->second);
  }
  const auto once = [&] {
    if (const std::string failure = context.run_ordered(inputs, outputs); !failure.empty())
      throw Error(ErrorKind::kInvalidArgument, failure);
  };
  for (int i = 0; i < 3; ++i) once();
  std::vector<double> ms;
  const auto start = Clock::now();
  const auto done = [&] {
    if (o.iterations > 0) return ms.size() >= size_t(o.iterations);
    return std::chrono::duration<double>(Clock::now() - start).count() > o.duration && ms.size() >= 5;
  };
  while (!done()) {
    const auto t = Clock::now();
    once();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - t).count());
  }
  std::sort(ms.begin(), ms.end());
  double sum = 0;
  for (double x : ms) sum += x;
  context.measure(true);
  std::vector<DeviceTimes> device;
  do once(), device.push_back(context.device_times());
  while (device[0].run_us > 0 && device.size() < 21);
  context.measure(false);
  const auto median = [&](double DeviceTimes::*part) {
    const auto middle = device.begin() + static_cast<ptrdiff_t>(device.size() / 2);
    std::nth_element(device.begin(), middle, device.end(),
                     [&](const DeviceTimes& a, const DeviceTimes& b) { return a.*part < b.*part; });
    return (*middle).*part;
  };
  const DeviceTimes typical{median(&DeviceTimes::upload_us), median(&DeviceTimes::run_us),
                            median(&DeviceTimes::download_us)};
  std::vector<StepTime> steps;
  context.run_profiled(named, steps);
  if (!o.trace.empty()) write_trace(engine, context, named, o.trace);
  if (o.json) {
    nlohmann::json j{{"runs", ms.size()},
                     {"mean_ms", sum / double(ms.size())},
                     {"p50_ms", percentile(ms, 50)},
                     {"p90_ms", percentile(ms, 90)},
                     {"p99_ms", percentile(ms, 99)},
                     {"memory_bytes", context.memory_bytes()},
                     {"steps", nlohmann::json::array()}};
    if (typical.run_us > 0)
      j["device"] = {
          {"upload_us", typical.upload_us}, {"run_us", typical.run_us}, {"download_us", typical.download_us}};
    for (const StepTime& s : steps)
      j["steps"].push_back(
          {{"region", s.region}, {"nodes", s.origins}, {"tactic", s.tactic}, {"time_us", s.time_us}});
    if (o.profile) j["profile"] = profile_json(engine, profile(context, named));
    std::printf("%s\n", j.dump(1).c_str());
    return report_shadow(engine, o);
  }
  std::printf("%zu runs: p50 %.3f ms, p90 %.3f, p99 %.3f, mean %.3f; %.1f runs/s; %.1f MB of activations\n",
              ms.size(), percentile(ms, 50), percentile(ms, 90), percentile(ms, 99), sum / double(ms.size()),
              1e3 * double(ms.size()) / sum, double(context.memory_bytes()) / 1e6);
  if (typical.run_us > 0)
    std::printf("on the device: inputs %.1f us, computing %.1f us, outputs %.1f us (medians)\n",
                typical.upload_us, typical.run_us, typical.download_us);
  if (o.profile) {
    print_profile(engine, profile(context, named));
    return 0;
  }
  std::sort(steps.begin(), steps.end(),
            [](const StepTime& a, const StepTime& b) { return a.time_us > b.time_us; });
  std::printf("slowest steps:\n");
  for (size_t i = 0; i < std::min<size_t>(steps.size(), 12); ++i)
    std::printf("%10.1f us  %-28.28s %-26.26s %s\n", steps[i].time_us, steps[i].region.c_str(),
                steps[i].tactic.c_str(), steps[i].origins.empty() ? "" : steps[i].origins[0].c_str());
  return report_shadow(engine, o);
}

}  // namespace wootz::cli
