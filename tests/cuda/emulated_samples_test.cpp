// SPDX-License-Identifier: Apache-2.0
// Every operator's samples: which operators the CUDA tactics serve, and the planned ones' results.
#include <cstdio>
#include <set>

#include "backends/cuda/cuda_kernel.h"
#include "backends/cuda/nvrtc.h"
#include "ops/registry.h"
#include "tests/cuda/cuda_case.h"
#include "tests/cuda/emulated.h"

namespace wootz {
namespace {

TEST(PlannedCuda, OperatorSamples) {
  EmulatedSuite suite;
  std::set<std::string> served, refused;
  for (const auto& [name, def] : OpRegistry::global().all()) {
    if (!def.samples || !def.evaluate || !def.infer || !def.deterministic) continue;
    const std::string full = name.first.empty() ? name.second : name.first + "." + name.second;
    std::string why;
    for (const Sample& sample : def.samples()) {
      try {
        EmulatedProblem problem;
        problem.sample(def, sample).prepare();
        bool serves = false;
        for (const auto& tactic : hopper_tactics().all()) {
          const auto refusal = tactic->refusal(problem.problem());
          serves = serves || !refusal;
          if (refusal && refusal->find("not one") == std::string::npos &&
              refusal->find("not made of") == std::string::npos)
            why = *refusal;
        }
        bool empty = true;
        for (const TensorDesc& y : problem.problem().outputs) empty = empty && y.size() == 0;
        if (!serves) continue;
        if (!empty) served.insert(full);
        suite.add(full + ": " + sample.label, "").sample(def, sample).tolerance(1e-5, 4e-6);
      } catch (const Error&) {
        continue;  // strings, sequences: no tensors that a GPU could hold
      }
    }
    if (!served.contains(full)) refused.insert(full + (why.empty() ? "" : " (" + why + ")"));
  }
  std::printf("%zu operators run on the GPU:", served.size());
  for (const std::string& op : served) std::printf(" %s", op.c_str());
  std::printf("\n%zu do not:", refused.size());
  for (const std::string& op : refused) std::printf(" %s;", op.c_str());
  std::printf("\n");
  EXPECT_GE(served.size(), 150u);
  suite.run("samples");
}

/// One kernel text of each kind of problem in one unit for NVRTC, which neither needs a GPU nor runs the
/// kernels.
TEST(PlannedCuda, SamplesCompile) {
  std::string reason;
  if (!cuda::Nvrtc::try_get(reason)) GTEST_SKIP() << reason;
  std::string kernels;
  std::set<std::string> headers, codes;
  for (const auto& [name, def] : OpRegistry::global().all()) {
    if (!def.samples || !def.evaluate || !def.infer || !def.deterministic) continue;
    std::set<std::string_view> done;  // one problem a tactic
    for (const Sample& sample : def.samples()) {
      try {
        EmulatedProblem problem;
        problem.sample(def, sample).prepare();
        for (const auto& tactic : hopper_tactics().all()) {
          const auto* planner = dynamic_cast<const PlannedTactic*>(tactic.get());
          if (!planner || planner->refusal(problem.problem()) || done.contains(planner->id())) continue;
          if (planner->id() == "cuda.attention.tiles" || planner->id() == "cuda.attention.split")
            continue;  // not for sm_75
          const LaunchPlan plan = planner->plan(problem.problem(), planner->configs(problem.problem())[0]);
          for (const PlannedLaunch& launch : plan.launches) {
            done.insert(planner->id());
            if (launch.code.empty() || !codes.insert(launch.code).second) continue;
            headers.insert(launch.headers.begin(), launch.headers.end());
            kernels += "namespace k" + std::to_string(codes.size()) + " {\n" + launch.code + "}\n";
          }
        }
      } catch (const Error&) {
        continue;
      }
    }
  }
  EXPECT_GT(codes.size(), 100u);
  cuda::Source source;
  source.name = "samples";
  source.text = std::string(cuda_source("base/device.cuh")) +
                "#undef WZ_KERNEL\n#define WZ_KERNEL(threads) __global__ void __launch_bounds__(threads)\n" +
                std::string(cuda_source("base/elements.cuh")) + std::string(cuda_source("base/scalar.cuh"));
  for (const std::string& header : headers) source.text += cuda_source(header);
  source.text += kernels;
  for (const char* arch : {"sm_80", "sm_90a"})
    EXPECT_NO_THROW(cuda::Nvrtc::get().compile(source, arch)) << arch;
}

}  // namespace
}  // namespace wootz
