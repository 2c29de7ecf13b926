// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "import/onnx/model.h"
#include "ir/type.h"

namespace wootz::onnx {

/// Turns TypeProtos into Types. Equal dim_params of the model's inputs are the same symbol.
class TypeReader {
 public:
  explicit TypeReader(SymbolTable& symbols) : symbols_(symbols) {}

  /// A model input's type. A dim_param is an input symbol by its name (made printable where it is no
  /// identifier); an unnamed dimension, -1 included, a symbol `<input>.<axis>`. kInvalidModel for other
  /// negative or absurd dimensions.
  Type input(const TypeView& view, std::string_view name);
  /// What the file says about a value that inference knows better: dimensions that are no input's symbol are
  /// unknown.
  Type hint(const TypeView& view, std::string_view name);

 private:
  template <class MakeDim>
  Type convert(const TypeView& view, const MakeDim& make_dim);
  std::string symbol_name(std::string_view text);

  SymbolTable& symbols_;
  std::map<std::string, Dim, std::less<>> params_;  // dim_param -> symbol
  std::set<std::string, std::less<>> taken_;        // symbol names
};

}  // namespace wootz::onnx
