// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz: a zip of .npy arrays. Format: numpy.lib.format, versions 1.0 to 3.0, C order.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <wootz/engine.h>

namespace wootz::cli {

/// Arrays in the order of the file. Throws Error: kIo, kInvalidArgument (which array, expected, found).
/// Unicode arrays become string tensors; a byte array of rank 0 named `meta` and the like is kept as string
/// too.
std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path);

/// The array of a .npy file. Throws as read_npz.
Tensor read_npy(const std::string& path);

/// Writes tensors beside and renames. bfloat16, float8 and 4-bit elements, which NumPy lacks, are written as
/// float32.
void write_npz(const std::string& path, const NamedData& data);

}  // namespace wootz::cli
