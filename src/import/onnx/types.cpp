// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/types.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "import/onnx/problems.h"
#include "import/onnx/tensor_data.h"

namespace wootz::onnx {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 40;

/// What exporters write for "no name".
bool is_anonymous(std::string_view param) {
  static constexpr std::array<std::string_view, 5> kNames = {"", "?", "None", "-1", "*"};
  return std::find(kNames.begin(), kNames.end(), param) != kNames.end();
}

bool is_unknown(const DimView& dim) { return dim.value ? *dim.value == -1 : is_anonymous(dim.param); }

int64_t checked_dim(int64_t value, size_t axis) {
  if (value < 0 || value > kMaxDim)
    throw Error(ErrorKind::kInvalidModel, "expected a size from 0 to 2^40 for dimension " +
                                              std::to_string(axis) + ", found " + std::to_string(value) +
                                              "; give the dimension a name to make it dynamic");
  return value;
}

}  // namespace

std::string TypeReader::symbol_name(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.') c = '_';
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) name.insert(0, "d_");
  const std::string stem = name;
  for (int i = 2; !taken_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
  return name;
}

template <class MakeDim>
Type TypeReader::convert(const TypeView& view, const MakeDim& make_dim) {
  using Kind = TypeView::Kind;
  switch (view.kind) {
    case Kind::kNone: return {};
    case Kind::kOpaque:
      throw Error(ErrorKind::kUnsupported,
                  "expected a tensor, sequence, optional or map type, found an opaque one");
    case Kind::kSequence:
    case Kind::kOptional: {
      Type element = view.element.empty() ? Type{} : convert(view.element[0], make_dim);
      return view.kind == Kind::kSequence ? Type::sequence(std::move(element))
                                          : Type::optional(std::move(element));
    }
    case Kind::kMap:
      return Type::map(dtype_from_number(view.dtype),
                       view.element.empty() ? Type{} : convert(view.element[0], make_dim));
    case Kind::kTensor:
    case Kind::kSparseTensor: break;
  }
  Type type = Type::tensor(dtype_from_number(view.dtype));
  if (view.kind == Kind::kSparseTensor) type.kind = Type::Kind::kSparseTensor;
  if (!view.shape) return type;
  Shape shape;
  for (size_t axis = 0; axis < view.shape->size(); ++axis)
    shape.push_back(make_dim((*view.shape)[axis], axis));
  type.shape = std::move(shape);
  return type;
}

Type TypeReader::input(const TypeView& view, std::string_view name) {
  const bool is_tensor = view.kind == TypeView::Kind::kTensor;
  return convert(view, [&](const DimView& dim, size_t axis) -> Dim {
    // The sizes of a sequence's elements may differ from each other, so their names bind nothing.
    if (!is_tensor && !dim.value)
      return symbols_.unknown(symbol_name(std::string(name) + "." + std::to_string(axis)));
    if (is_unknown(dim)) return symbols_.input(symbol_name(std::string(name) + "." + std::to_string(axis)));
    if (dim.value) return checked_dim(*dim.value, axis);
    const auto known = params_.find(dim.param);
    if (known != params_.end()) return known->second;
    return params_.emplace(dim.param, symbols_.input(symbol_name(dim.param))).first->second;
  });
}

Type TypeReader::hint(const TypeView& view, std::string_view name) {
  return convert(view, [&](const DimView& dim, size_t axis) -> Dim {
    if (dim.value && *dim.value != -1) return checked_dim(*dim.value, axis);
    const auto known = params_.find(dim.param);
    if (!dim.value && known != params_.end()) return known->second;
    return symbols_.unknown(std::string(name) + "." + std::to_string(axis));
  });
}

}  // namespace wootz::onnx
