// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Changes nothing: tells of layer and RMS normalisations, written out, that recognise_norms left as they
/// are: the condition that failed, what one node would save (two more passes over x and two launches), and
/// the change of the model that would allow it. Runs when no rule will change them any more.
Pass missed_norms();

}  // namespace wootz
