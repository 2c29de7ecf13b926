// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/pass.h"

namespace wootz {

/// Convolutions of pictures whose filter is as large as its stride (patch embeddings) see every pixel once: a
/// product of patches with the filter, for targets whose launches are dear (GPUs, whose matrix units want
/// long rows).
Pass patch_products();

}  // namespace wootz
