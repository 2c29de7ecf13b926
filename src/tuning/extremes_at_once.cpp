// SPDX-License-Identifier: Apache-2.0
#include "tuning/extremes_at_once.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace wootz {
namespace {

constexpr InputKind kKinds[] = {InputKind::kLarge, InputKind::kTiny, InputKind::kSparse,
                                InputKind::kNonFinite};

bool is_shared_float(const TensorDesc& d, bool has_batch) {
  return d.dtype != DType::kUndefined && !d.constant && !has_batch && is_float(d.dtype);
}

}  // namespace

std::unique_ptr<ExtremesAtOnce> ExtremesAtOnce::of(const Problem& problem, const Bindings& bindings,
                                                   const SmallerBatch& smaller, uint64_t seed,
                                                   size_t most_elements) {
  if (smaller.rows != static_cast<int64_t>(std::size(kKinds))) return nullptr;
  auto few = BatchSample::of(problem, smaller, seed);
  if (!few) return nullptr;
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    if (is_shared_float(problem.inputs[i], few->has_batch(i))) return nullptr;
  std::unique_ptr<ExtremesAtOnce> made(new ExtremesAtOnce(std::move(*few)));
  for (size_t row = 0; row < std::size(kKinds); ++row)
    made->checks_.push_back(std::make_unique<RegionCheck>(problem, bindings, kKinds[row], seed, most_elements,
                                                          &made->few_, static_cast<int64_t>(row)));
  made->inputs_ = made->checks_[0]->inputs();
  for (size_t i = 0; i < made->inputs_.size(); ++i) {
    if (!made->few_.has_batch(i)) continue;
    Tensor& mixed = made->inputs_[i].tensor = made->inputs_[i].tensor.clone();
    const size_t row_bytes = mixed.size_bytes() / std::size(kKinds);
    for (size_t row = 1; row < std::size(kKinds); ++row)
      std::memcpy(mixed.as<char>() + row * row_bytes,
                  made->checks_[row]->inputs()[i].tensor.as<char>() + row * row_bytes, row_bytes);
  }
  return made;
}

CheckResult ExtremesAtOnce::run(Kernel& kernel, Stream& stream, const Tactic& tactic, ProblemBuffers& buffers,
                                InputKind& failed) {
  stream.begin_run();
  for (const auto& check : checks_) check->poison(buffers, stream);
  const LaunchArgs args = buffers.args(kernel, stream);
  const auto from = std::chrono::steady_clock::now();
  kernel.launch(args);
  const std::chrono::duration<double, std::micro> launch = std::chrono::steady_clock::now() - from;
  stream.end_run();
  CheckResult worst;
  for (size_t row = 0; row < checks_.size(); ++row) {
    const CheckResult found = checks_[row]->judge(tactic, buffers);
    worst.error = std::max(worst.error, found.error);
    if (!worst.failure.empty() || found.failure.empty()) continue;
    worst.failure = found.failure;
    failed = kKinds[row];
  }
  worst.launch_us = launch.count();
  return worst;
}

}  // namespace wootz
