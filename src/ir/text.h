// SPDX-License-Identifier: Apache-2.0
// The text form of a graph, readable and parseable; pass tests and dumps use it. By example:
//
//   symbols batch in 1..64, h by 32
//   graph main(%x: float32[batch,3,h,h] channels_last) -> (%y) {
//     %w: float32[8,3,1,1] = constant splat 0.5
//     %s: int64[2] = symbolic [batch, 8*h]
//     %t = Conv(%x, %w) {strides=[1,1], group=1} named conv_0 ; from conv_0
//     %y: float32[...] = com.example::Op(%t, _, %s)
//   }
//
// - Types may be left out but for constants: such a value's type is unknown until inference runs.
// `channels_last` and
//   `contents [batch, 2]` may follow a type. `_` is an input left out or an output not wanted.
// - Constants: `constant 1.5`, `constant [1, 2, 3]` (row-major, without nesting), `constant splat 0`, or
// `constant @hash`,
//   which names data that the text does not hold and therefore does not parse.
// - Attributes: 1 (int), 1.0 (float), "s" (string), [1,2] [1.0] ["s"] (lists; an empty one is `ints []`,
// `floats []`,
//   `strings []`), float32[2] [1, 2] (tensor), graph(...) -> (...) {...}, shape [batch,3], type
//   seq(int64[...]), tensors [...], graphs [...].
// - Names are plain ([A-Za-z0-9_./]) or "quoted". Of equal names, and for the empty one, `%name~1` tells
// values apart;
//   what follows the tilde is not part of the name.
// - A subgraph reads values of the graphs around it by their names. `;` starts a comment; `; from a, b` lists
// a node's
//   origins.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace wootz {

struct TextOptions {
  bool origins = false;  // `; from a, b` after each node
  bool names = true;     // false: values are numbered in order of appearance and nodes have no names, so that
                         // graphs which differ in nothing else print alike
  int64_t max_constant = 16;  // larger constants print as `constant @hash`; such text does not parse
};

std::string to_text(const Graph& graph, const TextOptions& options = {});
/// Parses what to_text prints. Error(kInvalidArgument) names line and column.
std::unique_ptr<Graph> graph_from_text(std::string_view text);

}  // namespace wootz
