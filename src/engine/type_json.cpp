// SPDX-License-Identifier: Apache-2.0
#include "engine/type_json.h"

#include <bit>

namespace wootz {
namespace {

Json json_from_dim(const Dim& d) {
  if (d.is_constant()) return d.value();
  Json j = Json::array({d.constant()});
  for (const auto& [symbol, factor] : d.terms()) j.push_back(Json::array({symbol, factor}));
  return j;
}

/// A constant or a coefficient, small enough that sums and products of a few fit.
int64_t part_from_json(const Json& j) {
  constexpr int64_t kMost = int64_t{1} << 62;
  const auto n = j.get<int64_t>();
  if (n < -kMost || n > kMost)
    throw Error(ErrorKind::kInvalidEngine, "expected a dimension's number of at most 62 bits, found " +
                                               std::to_string(n) +
                                               "; the engine file is damaged, build it again");
  return n;
}

Dim dim_from_json(const Json& j, size_t symbol_count) {
  if (j.is_number_integer()) return Dim(part_from_json(j));
  std::vector<std::pair<SymbolId, int64_t>> terms;
  for (size_t i = 1; i < j.size(); ++i) {
    const auto id = j[i].at(0).get<SymbolId>();
    if (id < 0 || static_cast<size_t>(id) >= symbol_count)
      throw Error(ErrorKind::kInvalidEngine,
                  "symbol number out of range; the engine file is damaged, build it again");
    terms.emplace_back(id, part_from_json(j[i].at(1)));
  }
  return Dim(part_from_json(j.at(0)), std::move(terms));
}

constexpr int kMostNestedTypes = 64;  // as the importer takes

/// Floats travel as their bits: JSON has no NaN or infinity.
Json bits(float f) { return std::bit_cast<uint32_t>(f); }
float from_bits(const Json& j) { return std::bit_cast<float>(j.get<uint32_t>()); }

}  // namespace

Json json_from_symbols(const SymbolTable& symbols) {
  Json j{{"table", Json::array()}, {"equalities", Json::array()}};
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& s = symbols.at(static_cast<SymbolId>(i));
    // Operands come before the symbols made of them, so replacements must not be applied here.
    j["table"].push_back({static_cast<int>(s.kind), s.name, json_from_dim(s.a), json_from_dim(s.b), s.lower,
                          s.upper, s.divisor});
  }
  for (const auto& [a, b] : symbols.equalities())
    j["equalities"].push_back({json_from_dim(symbols.resolve(a)), json_from_dim(symbols.resolve(b))});
  return j;
}

void symbols_from_json(const Json& json, SymbolTable& symbols) {
  for (const Json& row : json.at("table")) {
    Symbol s;
    const int kind = row.at(0).get<int>();
    if (kind < 0 || kind > static_cast<int>(Symbol::Kind::kMax))
      throw Error(ErrorKind::kInvalidEngine,
                  "unknown kind of symbol; the engine file is damaged, build it again");
    s.kind = static_cast<Symbol::Kind>(kind);
    s.name = row.at(1).get<std::string>();
    s.a = dim_from_json(row.at(2), symbols.size());
    s.b = dim_from_json(row.at(3), symbols.size());
    s.lower = row.at(4).get<int64_t>();
    s.upper = row.at(5).get<int64_t>();
    s.divisor = row.at(6).get<int64_t>();
    if (s.divisor < 1 || s.lower > s.upper)
      throw Error(ErrorKind::kInvalidEngine,
                  "symbol '" + s.name + "': expected a divisor from 1 on and bounds in order, found " +
                      std::to_string(s.divisor) + " and [" + std::to_string(s.lower) + ", " +
                      std::to_string(s.upper) + "]; the engine file is damaged, build it again");
    symbols.add(std::move(s));
  }
  for (const Json& pair : json.at("equalities"))
    symbols.equate(dim_from_json(pair.at(0), symbols.size()), dim_from_json(pair.at(1), symbols.size()));
}

Json json_from_dims(const Shape& dims, const SymbolTable& symbols) {
  Json j = Json::array();
  for (const Dim& d : dims) j.push_back(json_from_dim(symbols.resolve(d)));
  return j;
}

Shape dims_from_json(const Json& json, const SymbolTable& symbols) {
  Shape dims;
  for (const Json& d : json) dims.push_back(dim_from_json(d, symbols.size()));
  return dims;
}

Json json_from_type(const Type& type, const SymbolTable& symbols) {
  Json j{{"kind", static_cast<int>(type.kind)}, {"dtype", std::string(dtype_name(type.dtype))}};
  if (type.shape) j["shape"] = json_from_dims(*type.shape, symbols);
  if (type.element) j["element"] = json_from_type(*type.element, symbols);
  return j;
}

Type type_from_json(const Json& json, const SymbolTable& symbols, int depth) {
  Type type;
  const int kind = json.at("kind").get<int>();
  const auto dtype = dtype_from_name(json.at("dtype").get<std::string>());
  if (kind < 0 || kind > static_cast<int>(Type::Kind::kMap) || !dtype || depth > kMostNestedTypes)
    throw Error(ErrorKind::kInvalidEngine,
                "unknown type; the engine file is damaged or newer, build it again");
  type.kind = static_cast<Type::Kind>(kind);
  type.dtype = *dtype;
  if (json.contains("shape")) type.shape = dims_from_json(json.at("shape"), symbols);
  if (json.contains("element"))
    type.element = std::make_shared<const Type>(type_from_json(json.at("element"), symbols, depth + 1));
  const bool holds_others = type.kind == Type::Kind::kSequence || type.kind == Type::Kind::kOptional ||
                            type.kind == Type::Kind::kMap;
  if (holds_others != (type.element != nullptr))
    throw Error(ErrorKind::kInvalidEngine,
                "a type lacks its element; the engine file is damaged, build it again");
  return type;
}

Json json_from_plain_attribute(const Attribute& a) {
  if (const auto* i = std::get_if<int64_t>(&a)) return *i;
  if (const auto* f = std::get_if<float>(&a)) return bits(*f);
  // Strings of a model are bytes, not always UTF-8; JSON text must be.
  if (const auto* s = std::get_if<std::string>(&a)) return std::vector<uint8_t>(s->begin(), s->end());
  if (const auto* v = std::get_if<Ints>(&a)) return *v;
  Json j = Json::array();
  if (const auto* v = std::get_if<Floats>(&a))
    for (float f : *v) j.push_back(bits(f));
  if (const auto* v = std::get_if<Strings>(&a))
    for (const std::string& s : *v) j.push_back(std::vector<uint8_t>(s.begin(), s.end()));
  return j;
}

Attribute plain_attribute_from_json(size_t kind, const Json& json) {
  const auto text = [](const Json& j) {
    const auto b = j.get<std::vector<uint8_t>>();
    return std::string(b.begin(), b.end());
  };
  switch (kind) {
    case 0: return json.get<int64_t>();
    case 1: return from_bits(json);
    case 2: return text(json);
    case 5: return json.get<Ints>();
    case 6: {
      Floats floats;
      for (const Json& f : json) floats.push_back(from_bits(f));
      return floats;
    }
    case 7: {
      Strings strings;
      for (const Json& s : json) strings.push_back(text(s));
      return strings;
    }
    default: break;
  }
  throw Error(ErrorKind::kInvalidEngine,
              "unknown kind of attribute; the engine file is damaged or newer, build it again");
}

}  // namespace wootz
