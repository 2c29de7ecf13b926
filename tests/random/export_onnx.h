// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "tests/random/graph_maker.h"

namespace wootz::random_graphs {

/// Writes FOLDER/model.onnx (opset 23), FOLDER/in_I.pb and, from the references, FOLDER/out_I.pb. Graphs with
/// sequences, optionals or maps at their ends are left out.
void export_case(const MadeGraph& made, const std::string& folder);

}  // namespace wootz::random_graphs
