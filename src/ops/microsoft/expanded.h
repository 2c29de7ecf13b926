// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/expansion.h"
#include "ops/registry.h"

namespace wootz {

/// Registers a com.microsoft operator that exists in files only: canonicalize replaces it.
inline void add_expanded(OpRegistry& registry, const char* name, const char* doc, int min_inputs,
                         int max_inputs, int max_outputs, std::vector<AttributeSpec> attributes,
                         void (*canonicalize)(CanonicalizeContext&)) {
  OpDef d;
  d.domain = "com.microsoft";
  d.name = name;
  d.doc = doc;
  d.min_inputs = min_inputs;
  d.max_inputs = max_inputs;
  d.max_outputs = max_outputs;
  d.attributes = std::move(attributes);
  d.canonicalize = canonicalize;
  registry.add(std::move(d));
}

/// AttributeSpec shorthand: a default, or none.
inline AttributeSpec spec(const char* name) { return {name, std::nullopt}; }
inline AttributeSpec spec(const char* name, Attribute fallback) { return {name, std::move(fallback)}; }

}  // namespace wootz
