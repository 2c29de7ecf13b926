// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <wootz/quantize.h>

namespace wootz::cli {

/// The samples in .npz and .npy files, and in folders of them; a folder without any is one of pictures. An
/// array with one dimension more than its input, or with a multiple of a fixed first one, is a stack of
/// samples. Throws kInvalidArgument, kIo.
SampleSource file_samples(const std::vector<std::string>& paths, const std::string& model,
                          const PictureOptions& pictures);

}  // namespace wootz::cli
