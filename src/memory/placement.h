// SPDX-License-Identifier: Apache-2.0
// Where every value lies at concrete shapes: its buffer, offset and strides.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/tactic.h"
#include "ir/graph.h"

namespace wootz {

/// What the planner decided for one step (a node of the final graph). Decisions are taken at build and stored
/// in the engine, so that every shape is laid out alike.
enum class Sharing : uint8_t {
  kNone,        // the step writes its own buffers
  kView,        // the outputs are views of input 0: nothing to run
  kIntoOutput,  // the inputs are produced inside output 0: nothing to run (concat; reshape of a graph output)
  kInPlace,     // output 0 overwrites input `input`, which dies here
};
struct StepSharing {
  Sharing kind = Sharing::kNone;
  int input = 0;
};

/// Whether the step has nothing to compute.
inline bool runs_nothing(const StepSharing& s) {
  return s.kind == Sharing::kView || s.kind == Sharing::kIntoOutput;
}

struct Placement {
  enum class Kind : uint8_t {
    kAbsent,  // not needed at run time
    kArena,
    kInput,     // the caller's buffer of graph input `index`
    kOutput,    // the caller's buffer of graph output `index`
    kConstant,  // known before the run: `constant`
    kDynamic,   // size or kind known only while running: held as a datum
  };
  Kind kind = Kind::kAbsent;
  int index = 0;
  size_t offset_bytes = 0;  // of the first element in its buffer
  TensorDesc desc;          // dtype, dims, strides; constant where kConstant
};

struct ShapePlan {
  std::vector<Placement> values;      // by Value::id()
  std::vector<char> interpreted;      // by step: run through references on data
  std::vector<StepSharing> sharing;   // by step: the decisions that hold at these shapes
  std::vector<const Value*> storage;  // by value: the one whose storage it lies in; null: its own
  std::vector<size_t> workspaces;  // by step: where its kernel's workspace begins; empty: none was asked for
  size_t arena_bytes = 0;
  size_t live_bound_bytes = 0;
  /// Values that own arena memory, from the lowest offset up: at other shapes each lies on top of those
  /// before it that are alive with it.
  std::vector<const Value*> stacking;
  /// Values whose sizes add up to arena_bytes; empty where no chain does, or one with a workspace in it.
  std::vector<const Value*> peak_chain;
  bool is_planned_anew = false;  // a given stacking was dropped: it would exceed the bound too far
};

/// Concrete dims of a value, or nothing where they are not known before the run.
std::optional<Dims> concrete_dims(const Value& value, const Bindings& bindings);

/// How far a stored stacking may exceed the largest sum of live sizes before offsets are planned anew.
inline constexpr double kStackingSlack = 1.05;

/// Lays out every value of a graph of regions at the bound shapes. `sharing` has one entry a node, in order.
/// Offsets follow `stacking` (another shape's ShapePlan::stacking) where that stays within kStackingSlack of
/// the live bound; else, and where it is empty, they are planned for these shapes.
ShapePlan plan_shapes(const Graph& graph, const Bindings& bindings, std::span<const StepSharing> sharing,
                      std::span<const Value* const> stacking = {});

/// plan_shapes without offsets in the arena: enough to know every operand's dims and strides.
ShapePlan plan_strides(const Graph& graph, const Bindings& bindings, std::span<const StepSharing> sharing);

/// The rest of plan_shapes behind plan_strides. `workspaces` (bytes a step, or empty) lie in the arena too,
/// each while its step runs: where `stacking` is followed, in the lowest gap that the values leave.
void plan_arena(const Graph& graph, ShapePlan& plan, std::span<const Value* const> stacking = {},
                std::span<const size_t> workspaces = {}, size_t alignment = 64);

/// Whether a step can be computed by a proper kernel (not the reference) with these operands.
using ServesStep =
    std::function<bool(const Node&, std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs)>;

/// Chooses views, pieces of concats and in-place results at the bound shapes, as far as the kernels around
/// them take the resulting strides; with `more_rows`, the same graph at a larger batch, there too.
std::vector<StepSharing> choose_sharing(const Graph& graph, const Bindings& bindings,
                                        const ServesStep& serves, const Bindings* more_rows = nullptr);

/// The problem of a step at the planned shapes.
Problem problem_of(const Node& node, const ShapePlan& plan, int threads);

/// Largest id + 1 among the graph's values.
size_t value_id_count(const Graph& graph);

}  // namespace wootz
