// SPDX-License-Identifier: Apache-2.0
#include "ir/dim.h"

#include <algorithm>

#include "base/check.h"

namespace wootz {
namespace {

using Terms = std::vector<std::pair<SymbolId, int64_t>>;

constexpr const char* kWhat = "size of a dimension";

/// a + k * b
Terms merged(std::span<const std::pair<SymbolId, int64_t>> a, std::span<const std::pair<SymbolId, int64_t>> b,
             int64_t k) {
  Terms out;
  out.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first)) {
      out.push_back(a[i++]);
    } else if (i == a.size() || b[j].first < a[i].first) {
      out.emplace_back(b[j].first, checked_mul(b[j].second, k, kWhat));
      ++j;
    } else {
      const int64_t c = checked_add(a[i].second, checked_mul(b[j].second, k, kWhat), kWhat);
      if (c != 0) out.emplace_back(a[i].first, c);
      ++i, ++j;
    }
  }
  return out;
}

}  // namespace

Dim::Dim(int64_t constant, Terms terms) : constant_(constant), terms_(std::move(terms)) {
  std::sort(terms_.begin(), terms_.end());
  Terms unique;
  for (const auto& [id, coefficient] : terms_) {
    if (!unique.empty() && unique.back().first == id)
      unique.back().second = checked_add(unique.back().second, coefficient, kWhat);
    else
      unique.emplace_back(id, coefficient);
  }
  std::erase_if(unique, [](const auto& term) { return term.second == 0; });
  terms_ = std::move(unique);
}

int64_t Dim::value() const {
  WOOTZ_ASSERT(is_constant());
  return constant_;
}

Dim operator+(const Dim& a, const Dim& b) {
  Dim out(checked_add(a.constant_, b.constant_, kWhat));
  out.terms_ = merged(a.terms_, b.terms_, 1);
  return out;
}

Dim operator-(const Dim& a, const Dim& b) {
  Dim out(checked_add(a.constant_, checked_mul(b.constant_, -1, kWhat), kWhat));
  out.terms_ = merged(a.terms_, b.terms_, -1);
  return out;
}

Dim operator*(const Dim& a, int64_t k) {
  if (k == 0) return 0;
  Dim out(checked_mul(a.constant_, k, kWhat));
  out.terms_ = merged({}, a.terms_, k);
  return out;
}

bool operator<(const Dim& a, const Dim& b) {
  if (a.terms_ != b.terms_) return a.terms_ < b.terms_;
  return a.constant_ < b.constant_;
}

}  // namespace wootz
