// SPDX-License-Identifier: Apache-2.0
// Reading and making the constants that rules compute with.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// The numbers rounded to `dtype`.
Tensor tensor_from_doubles(DType dtype, Dims dims, const std::vector<double>& values);

/// A numeric constant that varies along one axis at most of a result of rank `rank`: its `extent` values
/// along `axis` (a single value is repeated). Nothing when it varies along another axis or widens the result.
std::optional<std::vector<double>> values_along(const Value* constant, int64_t rank, int64_t axis,
                                                int64_t extent);

/// Every element of a numeric constant changed by f.
Tensor map_elements(const Tensor& t, const std::function<double(double)>& f);

/// The tensor with each slice along `axis` multiplied by its factor.
Tensor scale_slices(const Tensor& t, int64_t axis, const std::vector<double>& factors);

}  // namespace wootz
