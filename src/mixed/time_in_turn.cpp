// SPDX-License-Identifier: Apache-2.0
#include "mixed/time_in_turn.h"

#include <algorithm>
#include <chrono>

namespace wootz {
namespace {

constexpr double kMostMs = 60;
constexpr int kLeastRounds = 9, kMostRounds = 400;

double milliseconds(Context& context, const NamedData& sample) {
  const auto from = std::chrono::steady_clock::now();
  context.run(sample);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
}

}  // namespace

std::vector<double> time_in_turn(const std::vector<Context*>& contexts, const NamedData& sample) {
  double round = 0;
  for (Context* c : contexts) {
    milliseconds(*c, sample);  // touches its memory
    round += milliseconds(*c, sample);
  }
  const int rounds = static_cast<int>(
      std::clamp(kMostMs / std::max(round, 1e-3), double(kLeastRounds), double(kMostRounds)));
  std::vector<std::vector<double>> ms(contexts.size());
  for (int i = 0; i < rounds; ++i)
    for (size_t k = 0; k < contexts.size(); ++k) ms[k].push_back(milliseconds(*contexts[k], sample));
  std::vector<double> quartiles;
  for (std::vector<double>& of_one : ms) {
    std::sort(of_one.begin(), of_one.end());
    quartiles.push_back(of_one[of_one.size() / 4]);
  }
  return quartiles;
}

}  // namespace wootz
