// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "ir/dtype.h"

namespace wootz {

/// A set of element types.
class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) bits_ |= bit(dtype);
  }
  constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ | b.bits_); }
  std::string names() const;  // e.g. `float32, float64`

 private:
  constexpr explicit DTypeSet(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(DType dtype) { return uint32_t{1} << static_cast<unsigned>(dtype); }
  uint32_t bits_ = 0;
};

inline constexpr DTypeSet kRealTypes{DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
inline constexpr DTypeSet kSignedTypes{DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
inline constexpr DTypeSet kUnsignedTypes{DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64};
inline constexpr DTypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr DTypeSet kNumberTypes = kRealTypes | kIntegerTypes;
inline constexpr DTypeSet kBoolType{DType::kBool};
inline constexpr DTypeSet kFloat8Types{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                                       DType::kFloat8E5M2FNUZ};
inline constexpr DTypeSet kSmallTypes =
    kFloat8Types | DTypeSet{DType::kFloat8E8M0, DType::kFloat4E2M1, DType::kInt4,       DType::kUint4,
                            DType::kInt2,       DType::kUint2,      DType::kFloat6E2M3, DType::kFloat6E3M2};
inline constexpr DTypeSet kMovableTypes =
    kNumberTypes | kBoolType | kSmallTypes | DTypeSet{DType::kString, DType::kComplex64, DType::kComplex128};

}  // namespace wootz
