// SPDX-License-Identifier: Apache-2.0
#include "passes/merge_duplicate_nodes.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "ops/registry.h"

namespace wootz {
namespace {

using Hash = uint64_t;

Hash mix(Hash h, Hash v) {
  return (h ^ (v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2))) * 0xff51afd7ed558ccdull;
}

Hash hash_bytes(Hash h, const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  for (; bytes >= 8; bytes -= 8, p += 8) {
    Hash v;
    std::memcpy(&v, p, 8);
    h = mix(h, v);
  }
  Hash tail = 0;
  std::memcpy(&tail, p, bytes);
  return mix(h, tail);
}

bool holds_graph(const Attribute& a) {
  return std::holds_alternative<GraphPtr>(a) || std::holds_alternative<std::vector<GraphPtr>>(a);
}

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>) {
          return x.same_bits(y);
        } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
          return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                            [](const Tensor& s, const Tensor& t) { return s.same_bits(t); });
        } else if constexpr (std::is_same_v<T, GraphPtr> || std::is_same_v<T, std::vector<GraphPtr>>) {
          return false;
        } else {
          return x == y;
        }
      },
      a);
}

bool same_node(const Node& a, const Node& b) {
  if (a.op != b.op || a.domain != b.domain || a.attributes.size() != b.attributes.size()) return false;
  if (!std::equal(a.inputs().begin(), a.inputs().end(), b.inputs().begin(), b.inputs().end())) return false;
  if (a.outputs().size() != b.outputs().size()) return false;
  for (size_t i = 0; i < a.outputs().size(); ++i)
    if (!a.output(i) != !b.output(i) || (a.output(i) && a.output(i)->layout != b.output(i)->layout))
      return false;
  return std::equal(
      a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
      [](const auto& x, const auto& y) { return x.first == y.first && same_attribute(x.second, y.second); });
}

bool may_merge(const Node& node) {
  for (const auto& [name, attribute] : node.attributes)
    if (holds_graph(attribute)) return false;
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->deterministic;
}

void merge_constants(Graph& graph) {
  std::unordered_map<Hash, std::vector<Value*>> seen;
  for (const auto& owned : graph.values()) {
    Value* v = owned.get();
    if (v->uses().empty() || graph.is_output(v) || !(v->is_constant() || v->is_symbolic_constant())) continue;
    const bool is_string = v->type.dtype == DType::kString;
    if (is_string) continue;
    Hash h = mix(static_cast<Hash>(v->type.dtype), v->is_constant() ? 1 : 2);
    if (v->is_constant()) {
      // The first kilobytes tell constants apart; same_bits decides.
      h = hash_bytes(h, v->constant->data(), std::min<size_t>(v->constant->size_bytes(), 4096));
      h = mix(h, v->constant->size_bytes());
    } else {
      for (const Dim& d : *v->contents) h = mix(h, static_cast<Hash>(d.constant()));
    }
    auto& bucket = seen[h];
    auto same = [&](Value* o) {
      if (o->layout != v->layout || !(o->type == v->type) || o->is_constant() != v->is_constant())
        return false;
      return v->is_constant() ? o->constant->same_bits(*v->constant) : o->contents == v->contents;
    };
    auto it = std::find_if(bucket.begin(), bucket.end(), same);
    if (it == bucket.end())
      bucket.push_back(v);
    else
      graph.replace_uses(v, *it);
  }
}

}  // namespace

int merge_duplicate_nodes(Graph& graph) {
  merge_constants(graph);
  int merged = 0;
  std::unordered_map<Hash, std::vector<Node*>> seen;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node* node = (it++)->get();
    for (Graph* inner : node->subgraphs()) merged += merge_duplicate_nodes(*inner);
    if (!may_merge(*node)) continue;
    Hash h = std::hash<std::string>()(node->op);
    for (const Value* v : node->inputs()) h = mix(h, v ? reinterpret_cast<Hash>(v) : 0);
    auto& bucket = seen[h];
    auto first = std::find_if(bucket.begin(), bucket.end(), [&](Node* o) { return same_node(*o, *node); });
    const bool writes_output = std::any_of(node->outputs().begin(), node->outputs().end(),
                                           [&](const Value* v) { return v && graph.is_output(v); });
    if (first == bucket.end() || writes_output) {
      bucket.push_back(node);
      continue;
    }
    for (size_t i = 0; i < node->outputs().size(); ++i)
      if (node->output(i)) graph.replace_uses(node->output(i), (*first)->output(i));
    for (const std::string& o : node->origins)
      if (std::find((*first)->origins.begin(), (*first)->origins.end(), o) == (*first)->origins.end())
        (*first)->origins.push_back(o);
    graph.erase(node);
    ++merged;
  }
  graph.erase_unused_values();
  return merged;
}

}  // namespace wootz
