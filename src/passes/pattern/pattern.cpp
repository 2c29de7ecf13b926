// SPDX-License-Identifier: Apache-2.0
// Parsing and matching of expression patterns.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "passes/pattern/match.h"

namespace wootz {
namespace {

using Term = Pattern::Term;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Term parse() {
    Term t = either();
    if (peek() != '\0') fail();
    return t;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::kInternal,
                "pattern `" + std::string(text_) + "`: unexpected text at " + std::to_string(at_));
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    peek();
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (at_ == from) fail();
    return std::string(text_.substr(from, at_ - from));
  }

  Term either() {
    Term first = term();
    if (peek() != '|') return first;
    Term t;
    t.kind = Term::Kind::kEither;
    t.children.push_back(std::move(first));
    while (take('|')) t.children.push_back(term());
    return t;
  }

  Term term() {
    Term t;
    const char c = peek();
    if (c == '(') {
      ++at_;
      t = either();
      if (!take(')')) fail();
      return t;
    }
    if (c == '#' || c == '$') {
      ++at_;
      t.kind = c == '#' ? Term::Kind::kConstant : Term::Kind::kScalar;
      t.name = word();
      return t;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') {
      char* end = nullptr;
      const std::string rest(text_.substr(at_));
      t.kind = Term::Kind::kNumber;
      t.number = std::strtod(rest.c_str(), &end);
      at_ += static_cast<size_t>(end - rest.c_str());
      return t;
    }
    t.name = word();
    if (take(':')) {
      t.label = std::move(t.name);
      t.name = word();
    }
    if (take('.')) {
      t.domain = std::move(t.name);
      t.name = word();
    }
    if (take('(')) arguments(t);
    return t;
  }

  void arguments(Term& t) {
    t.kind = Term::Kind::kNode;
    if (take(')')) return;
    do {
      if (peek() == '.') {
        at_ += 2;
        t.open = true;
        break;
      }
      t.children.push_back(either());
    } while (take(','));
    if (!take(')')) fail();
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool is_commutative(std::string_view op) {
  for (std::string_view c : {"Add", "Mul", "Max", "Min", "And", "Or", "Equal"})
    if (op == c) return true;
  return false;
}

struct State {
  std::vector<std::pair<std::string_view, Value*>> values;
  std::vector<std::pair<std::string_view, Node*>> nodes;
  std::vector<Node*> interior;
};
using States = std::vector<State>;

/// Whether a one-valued operand leaves the other operand's shape as it is.
bool keeps_shape(const Node& node, const Value* constant) {
  if (constant->type.has_rank() && constant->type.rank() == 0) return true;
  const Value* out = node.output(0);
  for (const Value* v : node.inputs())
    if (v && v != constant && !v->is_constant()) {
      if (same_shape(v, out)) return true;
      if (constant->constant->size() == 1 && v->type.has_rank() &&
          v->type.rank() >= constant->constant->rank())
        return true;
    }
  return false;
}

void match_term(const Term& term, Value* value, const Node* reader, const State& state, States& out);

void match_inputs(const Term& term, Node& node, bool swapped, const State& state, States& out) {
  States current{state};
  for (size_t i = 0; i < term.children.size() && !current.empty(); ++i) {
    Value* v = node.input(swapped && i < 2 ? 1 - i : i);
    States next;
    for (const State& b : current) match_term(term.children[i], v, &node, b, next);
    current = std::move(next);
  }
  for (State& b : current) out.push_back(std::move(b));
}

void match_node(const Term& term, Node& node, const State& state, States& out) {
  if (node.op != term.name || node.domain != term.domain) return;
  size_t count = node.inputs().size();
  while (count > 0 && !node.input(count - 1)) --count;
  if (term.open ? count < term.children.size() : count != term.children.size()) return;
  State next = state;
  next.interior.push_back(&node);
  if (!term.label.empty()) next.nodes.emplace_back(term.label, &node);
  match_inputs(term, node, false, next, out);
  if (term.children.size() == 2 && count == 2 && is_commutative(term.name))
    match_inputs(term, node, true, next, out);
}

void match_term(const Term& term, Value* value, const Node* reader, const State& state, States& out) {
  if (!value) return;
  switch (term.kind) {
    case Term::Kind::kEither:
      for (const Term& t : term.children) match_term(t, value, reader, state, out);
      return;
    case Term::Kind::kNode:
      if (value->producer() && value->output_index() == 0) match_node(term, *value->producer(), state, out);
      return;
    case Term::Kind::kNumber:
      if (is_number(value, term.number) && (!reader || keeps_shape(*reader, value))) out.push_back(state);
      return;
    case Term::Kind::kConstant:
      if (!value->is_constant()) return;
      break;
    case Term::Kind::kScalar:
      if (!uniform_value(value) || (reader && !keeps_shape(*reader, value))) return;
      break;
    case Term::Kind::kVariable: break;
  }
  for (const auto& [name, bound] : state.values)
    if (name == term.name) {
      if (bound == value) out.push_back(state);
      return;
    }
  out.push_back(state);
  out.back().values.emplace_back(term.name, value);
}

bool is_closed(const State& b, const Node& root) {
  for (const Node* n : b.interior) {
    if (n == &root) continue;
    for (const Value* v : n->outputs()) {
      if (!v) continue;
      if (v->graph()->is_output(v)) return false;
      for (const Use& u : v->uses())
        if (std::find(b.interior.begin(), b.interior.end(), u.node) == b.interior.end()) return false;
    }
  }
  return true;
}

void collect_roots(const Term& term, std::vector<std::string>& ops) {
  if (term.kind == Term::Kind::kNode) ops.push_back(term.name);
  if (term.kind == Term::Kind::kEither)
    for (const Term& t : term.children) collect_roots(t, ops);
}

}  // namespace

Pattern::Pattern(std::string_view text) : text_(text), term_(Parser(text).parse()) {
  collect_roots(term_, root_ops_);
}

std::optional<Match> Pattern::match(Node& root, bool allow_shared) const {
  if (!root.output(0)) return std::nullopt;
  States states;
  match_term(term_, root.output(0), nullptr, {}, states);
  for (const State& b : states) {
    if (!allow_shared && !is_closed(b, root)) continue;
    Match m;
    m.root = &root;
    for (const auto& [name, value] : b.values) m.values.emplace(name, value);
    for (const auto& [name, node] : b.nodes) m.nodes.emplace(name, node);
    m.interior = b.interior;
    return m;
  }
  return std::nullopt;
}

}  // namespace wootz
