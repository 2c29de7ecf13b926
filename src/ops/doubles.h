// SPDX-License-Identifier: Apache-2.0
// References compute in double and round once: access to tensors of any element type as doubles.
#pragma once
#include <span>
#include <vector>

#include "ir/element.h"
#include "ir/tensor.h"

namespace wootz {

/// Calls f(T{}) for float16, bfloat16, float32 and float64; kUnsupported for other dtypes.
template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat64: return f(double{});
    case DType::kFloat16: return f(Half{});
    case DType::kBFloat16: return f(BFloat16{});
    default: break;
  }
  throw Error(ErrorKind::kUnsupported,
              "expected float16, bfloat16, float32 or float64, found " + std::string(dtype_name(dtype)));
}

/// Truncated and clamped to the range of int64; 0 for NaN.
int64_t saturated_int64(double value);
/// Element i, any numeric dtype.
double load_double(const Tensor& from, int64_t i);
/// Rounds each value once to the dtype of `to`. Integers: truncated and clamped to the range of the dtype.
void store_doubles(std::span<const double> values, Tensor& to);
/// The one element of an operand called `name`; kInvalidModel where it has none or several.
double only_double(const Tensor& operand, const char* name);
int64_t only_int64(const Tensor& operand, const char* name);
/// `value` rounded to a dtype and back.
double round_to(DType dtype, double value);

/// Strides with which a tensor of dims `from` is read under the dims `to` by broadcasting (0 where repeated).
/// `what` names the tensor in the kInvalidModel error for shapes that do not broadcast.
Dims broadcast_strides(std::span<const int64_t> from, std::span<const int64_t> to, const char* what);
/// The elements of `from` repeated to `to`, row-major.
std::vector<double> broadcast_doubles(const Tensor& from, std::span<const int64_t> to, const char* what);

/// "[2,3]", for messages.
std::string dims_text(std::span<const int64_t> dims);
/// Product of dims[first, last).
int64_t dims_product(std::span<const int64_t> dims, size_t first, size_t last);

/// Steps through all positions of `dims` in row-major order, keeping one offset a stride vector.
class Odometer {
 public:
  explicit Odometer(std::span<const int64_t> dims, std::vector<Dims> strides)
      : dims_(dims.begin(), dims.end()),
        strides_(std::move(strides)),
        at_(dims.size(), 0),
        offsets_(strides_.size(), 0) {}
  int64_t offset(size_t which) const { return offsets_[which]; }
  const Dims& position() const { return at_; }
  void next() {
    for (size_t d = dims_.size(); d-- > 0;) {
      for (size_t s = 0; s < strides_.size(); ++s) offsets_[s] += strides_[s][d];
      if (++at_[d] < dims_[d]) return;
      for (size_t s = 0; s < strides_.size(); ++s) offsets_[s] -= strides_[s][d] * dims_[d];
      at_[d] = 0;
    }
  }

 private:
  Dims dims_;
  std::vector<Dims> strides_;
  Dims at_, offsets_;
};

}  // namespace wootz
