// SPDX-License-Identifier: Apache-2.0
// Every operator's samples: which operators the CUDA tactics serve, and the planned ones' results.
#include <cstdio>
#include <set>

#include "ops/registry.h"
#include "tests/cuda/emulated.h"

namespace wootz {
namespace {

TEST(EmulatedCuda, OperatorSamples) {
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
  suite.run("samples");
}

}  // namespace
}  // namespace wootz
