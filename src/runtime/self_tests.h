// SPDX-License-Identifier: Apache-2.0
// A few regions of an engine run on made-up inputs when it is loaded, and give what the references gave when
// it was built: wrong kernels, CPUs that compute otherwise and damaged weights show before the first answer.
#pragma once
#include "device/backend.h"
#include "engine/engine_data.h"

namespace wootz {

/// Row-major inputs of a self-test: floats from -1 to 1, the same on every machine; constants as they are.
/// Empty where an input that is no constant holds anything but floats.
std::vector<Datum> self_test_inputs(const Problem& problem, uint64_t seed);

/// Runs the engine's self-tests with the kernels that its contexts will use, on its device where that is
/// here; regions that run on the host beside a device are passed over, and on a device, unless `all` are
/// asked for, those that come after 20 ms of tests (its context and compiler, which a run needs too, apart).
/// The log says at level info what took how long. Throws Error(kInvalidEngine) with region, tactic, expected
/// and found.
void run_self_tests(const EngineData& engine, bool all = false);

}  // namespace wootz
