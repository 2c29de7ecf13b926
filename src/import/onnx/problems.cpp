// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/problems.h"

#include <algorithm>

namespace wootz::onnx {
namespace {

constexpr size_t kMaxLines = 50;
constexpr size_t kMaxNames = 3;
constexpr size_t kMaxQuoted = 120;

std::string line(const std::string& where, const std::string& what) {
  return where.empty() ? what : where + ": " + what;
}

}  // namespace

std::string quote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, kMaxQuoted)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      out += c;
    else
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out + (text.size() > kMaxQuoted ? "...'" : "'");
}

void Problems::add(ErrorKind kind, const std::string& where, const std::string& what) {
  ++count_;
  if (std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end()) kinds_.push_back(kind);
  if (lines_.size() < kMaxLines) lines_.push_back(line(where, what));
}

void Problems::add_unknown_op(std::string_view domain, std::string_view op, std::string node) {
  ++unknown_nodes_;
  UnknownOp& unknown = unknown_ops_[{std::string(domain), std::string(op)}];
  ++unknown.nodes;
  if (unknown.names.size() < kMaxNames) unknown.names.push_back(std::move(node));
}

void Problems::throw_if_any() const {
  if (empty()) return;
  std::vector<std::string> lines;
  std::vector<ErrorKind> kinds = kinds_;
  for (const auto& [key, unknown] : unknown_ops_) {
    std::string text = "operator " + (key.first.empty() ? key.second : key.first + "." + key.second) +
                       " is not supported: " + std::to_string(unknown.nodes) +
                       (unknown.nodes == 1 ? " node, " : " nodes, ");
    for (size_t i = 0; i < unknown.names.size(); ++i) text += (i ? ", " : "") + unknown.names[i];
    if (unknown.nodes > unknown.names.size()) text += ", ...";
    if (!key.first.empty()) text += "; an operator of your own can be added (docs/user-operators.md)";
    lines.push_back(std::move(text));
  }
  if (!unknown_ops_.empty()) kinds.push_back(ErrorKind::kUnsupported);
  const size_t total = count_ + unknown_ops_.size();
  lines.insert(lines.end(), lines_.begin(), lines_.end());
  lines.resize(std::min(lines.size(), kMaxLines));
  const bool same_kind = std::all_of(kinds.begin(), kinds.end(), [&](ErrorKind k) { return k == kinds[0]; });
  const ErrorKind kind = same_kind ? kinds[0] : ErrorKind::kInvalidModel;
  if (total == 1) throw Error(kind, lines[0]);
  std::string text = std::to_string(total) + " problems";
  for (const std::string& l : lines) text += "\n  " + l;
  if (total > lines.size()) text += "\n  and " + std::to_string(total - lines.size()) + " more";
  throw Error(kind, text);
}

}  // namespace wootz::onnx
