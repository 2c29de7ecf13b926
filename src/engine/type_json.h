// SPDX-License-Identifier: Apache-2.0
// Symbols, dims, types and plain attributes as JSON.
#pragma once
#include "engine/json.h"
#include "ir/attribute.h"
#include "ir/type.h"

namespace wootz {

Json json_from_symbols(const SymbolTable& symbols);
void symbols_from_json(const Json& json, SymbolTable& symbols);

/// Expressions are written with all replacements applied: [constant, [symbol, factor], ...], or a bare
/// number.
Json json_from_dims(const Shape& dims, const SymbolTable& symbols);
Shape dims_from_json(const Json& json, const SymbolTable& symbols);

Json json_from_type(const Type& type, const SymbolTable& symbols);
/// `depth`: types that this one lies in.
Type type_from_json(const Json& json, const SymbolTable& symbols, int depth = 0);

/// Numbers, strings and lists of them; the kind is the alternative's index in Attribute.
Json json_from_plain_attribute(const Attribute& attribute);
Attribute plain_attribute_from_json(size_t kind, const Json& json);

}  // namespace wootz
