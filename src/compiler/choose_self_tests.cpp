// SPDX-License-Identifier: Apache-2.0
#include "compiler/choose_self_tests.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "device/region.h"
#include "memory/bind_shapes.h"
#include "runtime/judge_region.h"
#include "runtime/sampled_reference.h"
#include "runtime/self_tests.h"

namespace wootz {
namespace {

constexpr size_t kMostTests = 16, kElements = 24;
constexpr double kMostUs = 6e3;         // of all tests as raced
constexpr double kMostTestBytes = 4e6;  // operands of one test: made up and looked through at every load
constexpr double kBytesPerUs = 500;     // making them up
constexpr uint64_t kTestSeed = 23;

struct Choice {
  size_t step;
  const Node* node;
  double cost_us;
};

double moved_bytes(const Problem& problem) {
  double bytes = 0;
  for (const std::vector<TensorDesc>* list : {&problem.inputs, &problem.outputs})
    for (const TensorDesc& d : *list)
      if (!d.constant && d.dtype != DType::kUndefined)
        bytes += double(d.size()) * double(dtype_size(d.dtype));
  return bytes;
}

bool is_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

/// Nothing where the region does not take made-up numbers, or makes of them what no bound holds for.
std::optional<SelfTest> test_of(const Choice& choice, const Problem& problem, const StepRecord& record,
                                const Bindings& bindings) {
  SelfTest test{choice.step,
                kTestSeed + choice.step,
                kRealDataSlack * std::max(record.bound, kLeastRegionBound),
                {},
                {}};
  const std::vector<Datum> inputs = self_test_inputs(problem, test.seed);
  if (inputs.size() != problem.inputs.size()) return std::nullopt;
  for (const TensorDesc& d : problem.outputs) {
    if (d.dtype != DType::kUndefined && !is_float(d.dtype)) return std::nullopt;
    test.at.push_back(d.dtype == DType::kUndefined ? std::vector<int64_t>()
                                                   : sample_positions(d.dims, kElements, test.seed));
  }
  try {
    for (const Tensor& t : expected_elements(*choice.node, inputs, bindings, test.at))
      test.expected.push_back(t.is_defined() ? t.to_doubles() : std::vector<double>());
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::all_of(test.expected.begin(), test.expected.end(), is_finite) ? std::optional(test)
                                                                            : std::nullopt;
}

}  // namespace

std::vector<SelfTest> choose_self_tests(const EngineData& engine, std::span<const Dims> dims) {
  const Bindings bindings = bind_shapes(*engine.graph, dims);
  const ShapePlan plan = plan_strides(*engine.graph, bindings, sharing_of(engine));
  std::map<std::string, Choice> cheapest;
  size_t step = 0;
  for (const auto& node : engine.graph->nodes()) {
    const size_t at = step++;
    const StepRecord& record = engine.steps[at];
    if (!is_region(*node) || plan.interpreted[at] || runs_nothing(plan.sharing[at]) ||
        record.choices.empty() || record.choices[0].tactic_id.starts_with("reference."))
      continue;
    const double bytes = moved_bytes(problem_of(*node, plan, engine.threads));
    if (bytes > kMostTestBytes) continue;
    const Choice choice{at, node.get(), record.time_us + bytes / kBytesPerUs};
    const auto [known, is_new] = cheapest.emplace(record.choices[0].tactic_id, choice);
    if (!is_new && choice.cost_us < known->second.cost_us) known->second = choice;
  }
  std::vector<Choice> choices;
  for (const auto& [tactic, choice] : cheapest) choices.push_back(choice);
  std::sort(choices.begin(), choices.end(),
            [](const Choice& a, const Choice& b) { return a.cost_us < b.cost_us; });
  std::vector<SelfTest> tests;
  double spent_us = 0;
  for (const Choice& c : choices) {
    spent_us += c.cost_us;
    if (tests.size() == kMostTests || spent_us > kMostUs) break;
    if (auto test = test_of(c, problem_of(*c.node, plan, engine.threads), engine.steps[c.step], bindings))
      tests.push_back(std::move(*test));
  }
  return tests;
}

}  // namespace wootz
