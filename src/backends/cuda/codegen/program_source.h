// SPDX-License-Identifier: Apache-2.0
// Scalar programs as CUDA C++ text over the functions of elements.cuh and scalar.cuh.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/scalar.h"

namespace wootz {

/// The type of an element in memory ("wz::f16", "float", "i64"); empty for strings and complex numbers.
std::string_view memory_type(DType dtype);
/// The type that arithmetic has it in: "float" for every float of at most 32 bits.
std::string_view register_type(DType dtype);
/// A register constant: exact, NaN and infinities too.
std::string register_literal(DType dtype, double value);
/// Text that turns a memory element into a register, and back.
std::string load_text(std::string_view element);
std::string store_text(DType dtype, std::string_view reg);

/// Why a program has no CUDA text; nothing when it has.
std::optional<std::string> program_refusal(const ScalarProgram& program);

struct ProgramText {
  std::string statements;            // "const float t3 = ...;" one line an instruction
  std::vector<std::string> results;  // expressions, registers of the results' dtypes
};
/// `operands[i]` is the expression of operand i as a register (any expression for immediates, which are
/// written as literals); names begin with `prefix`. Float32 sums stay unrounded between instructions; a Cast
/// rounds. Where an instruction's dtype has at most 16 bits, or only a rounding to such a dtype reads it,
/// exponentials are approximate to some 2^-20; so they are in results that `are_narrowed` afterwards to at
/// most 16 bits, and in front of a quantization to 8 bits in steps of at least kLeastHidingStep;
/// `are_coarse`: in steps of at least kLeastCoarseStep. Where all values `are_finite`, quantizations take
/// fewer instructions.
ProgramText program_text(const ScalarProgram& program, std::span<const std::string> operands,
                         std::string_view prefix = "t", bool are_narrowed = false, bool are_finite = false,
                         bool are_coarse = false);

/// The width of a step that hides the errors of approximated functions (tanh: 5e-4).
inline constexpr double kLeastHidingStep = 2e-3;
inline constexpr double kLeastCoarseStep = 8e-3;

/// The dtypes of a program's results.
std::vector<DType> result_dtypes(const ScalarProgram& program);

}  // namespace wootz
