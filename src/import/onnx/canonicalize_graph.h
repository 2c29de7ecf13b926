// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "import/onnx/graph_builder.h"

namespace wootz::onnx {

/// Brings every node to the newest opset by its operator's canonicalize and infers types and contents, in
/// order: an old spelling may need the types of its inputs. Types that inference cannot find are taken from
/// the file. Problems are gathered; what reads a value that has one is left alone, so that each is told once.
void canonicalize_and_infer(BuiltGraph& built, TypeReader& types, Problems& problems);

}  // namespace wootz::onnx
