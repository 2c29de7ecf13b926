// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace wootz {

class Graph;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
using GraphPtr = std::shared_ptr<Graph>;

/// A node's attribute. The order of the alternatives is part of the engine format.
using Attribute = std::variant<int64_t, float, std::string, Tensor, GraphPtr, Ints, Floats, Strings, Shape,
                               Type, std::vector<Tensor>, std::vector<GraphPtr>>;
std::string_view attribute_kind_name(const Attribute& attribute);

/// A node's attributes, sorted by name.
class Attributes {
 public:
  bool contains(std::string_view name) const { return items_.find(name) != items_.end(); }
  void set(std::string name, Attribute value) { items_.insert_or_assign(std::move(name), std::move(value)); }
  void erase(std::string_view name) {
    if (auto it = items_.find(name); it != items_.end()) items_.erase(it);
  }
  const Attribute* find(std::string_view name) const {
    auto it = items_.find(name);
    return it == items_.end() ? nullptr : &it->second;
  }
  /// The attribute as T, or `fallback` when absent; kInvalidModel when it has another kind.
  template <class T>
  T get(std::string_view name, T fallback) const {
    const Attribute* a = find(name);
    if (!a) return fallback;
    if (const T* v = std::get_if<T>(a)) return *v;
    throw_wrong_kind(name, Attribute(T{}), *a);
  }
  /// The attribute as T; kInvalidModel when absent or of another kind.
  template <class T>
  const T& require(std::string_view name) const {
    const Attribute* a = find(name);
    if (!a) throw_missing(name);
    if (const T* v = std::get_if<T>(a)) return *v;
    throw_wrong_kind(name, Attribute(T{}), *a);
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  size_t size() const { return items_.size(); }

 private:
  [[noreturn]] static void throw_missing(std::string_view name);
  [[noreturn]] static void throw_wrong_kind(std::string_view name, const Attribute& expected,
                                            const Attribute& found);
  std::map<std::string, Attribute, std::less<>> items_;
};

/// Attribute structs are reflected once: `template <class V> void reflect(V& v) { v("axis", axis); ... }`.
/// Reading, writing and documenting them derive from that. Members may be int64_t, float, std::string, Ints,
/// Floats, Strings, Tensor, Shape, GraphPtr, or std::optional of int64_t, float, std::string, Ints and
/// Floats.
struct AttributeReader {
  const Attributes& from;
  template <class T>
  void operator()(const char* name, T& member) {
    member = from.get<T>(name, std::move(member));
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& member) {
    if (from.contains(name)) member = from.require<T>(name);
  }
};
struct AttributeWriter {
  Attributes& to;
  template <class T>
  void operator()(const char* name, const T& member) {
    to.set(name, member);
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& member) {
    if (member) to.set(name, *member);
  }
};
struct AttributeNames {
  std::vector<std::pair<std::string, Attribute>> defaults;
  std::vector<std::string> names;
  template <class T>
  void operator()(const char* name, const T& member) {
    names.emplace_back(name);
    defaults.emplace_back(name, Attribute(member));
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>&) {
    names.emplace_back(name);
  }
};

template <class T>
T read_attributes(const Attributes& from) {
  T t;
  AttributeReader reader{from};
  t.reflect(reader);
  return t;
}
template <class T>
void write_attributes(T t, Attributes& to) {
  AttributeWriter writer{to};
  t.reflect(writer);
}

}  // namespace wootz
