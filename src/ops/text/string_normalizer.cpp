// SPDX-License-Identifier: Apache-2.0
// StringNormalizer: drops stop words and changes the case of what is left; one empty string where nothing is
// left.
#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <set>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_string_normalizer {
namespace {

struct StringNormalizerAttributes {
  std::string case_change_action = "NONE",
              locale;  // letters change by Unicode's simple mapping in every locale
  int64_t is_case_sensitive = 0;
  Strings stopwords;
  template <class V>
  void reflect(V& v) {
    v("case_change_action", case_change_action);
    v("is_case_sensitive", is_case_sensitive);
    v("locale", locale);
    v("stopwords", stopwords);
  }
};

void infer(InferContext& ctx) {
  if (!ctx.has_rank(0)) return ctx.set_output(0, DType::kString);
  ctx.check(ctx.rank(0) == 1 || ctx.rank(0) == 2,
            "expected rank 1 or 2, found " + std::to_string(ctx.rank(0)));
  Shape shape = ctx.shape(0);
  shape.back() = ctx.unknown("words");
  ctx.set_output(0, DType::kString, std::move(shape));
}

locale_t unicode_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

/// The code point at `at` and its length in bytes; a byte that is no UTF-8 stands for itself, with length 1.
std::pair<uint32_t, size_t> code_point(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(at);
  const size_t length = lead < 0x80         ? 1
                        : (lead >> 5) == 6  ? 2
                        : (lead >> 4) == 14 ? 3
                        : (lead >> 3) == 30 ? 4
                                            : 0;
  if (length == 0 || at + length > text.size()) return {UINT32_MAX, 1};
  uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) >> 6) != 2) return {UINT32_MAX, 1};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  return {code, length};
}

void append_code_point(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xFFu << (7 - more) & 0xFF) | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

std::string changed_case(const std::string& text, bool upper) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto [code, length] = code_point(text, at);
    if (code == UINT32_MAX) {
      out += text[at];
    } else {
      const auto letter = static_cast<wint_t>(code);
      const bool ascii_only = unicode_locale() == locale_t{};
      if (ascii_only)
        append_code_point(
            out, code < 0x80 ? static_cast<uint32_t>(upper ? towupper(letter) : towlower(letter)) : code);
      else
        append_code_point(out, static_cast<uint32_t>(upper ? towupper_l(letter, unicode_locale())
                                                           : towlower_l(letter, unicode_locale())));
    }
    at += length;
  }
  return out;
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  const auto a = ctx.attributes_as<StringNormalizerAttributes>();
  ctx.check(x.dtype() == DType::kString && (x.rank() == 1 || (x.rank() == 2 && x.dims()[0] == 1)),
            "expected strings of dims [c] or [1, c]");
  ctx.check(
      a.case_change_action == "NONE" || a.case_change_action == "LOWER" || a.case_change_action == "UPPER",
      "expected case_change_action NONE, LOWER or UPPER, found " + a.case_change_action);
  const bool folds = a.is_case_sensitive == 0;
  std::set<std::string> stop;
  for (const std::string& word : a.stopwords) stop.insert(folds ? changed_case(word, false) : word);
  Strings kept;
  for (const std::string& word : x.span<std::string>()) {
    if (stop.contains(folds ? changed_case(word, false) : word)) continue;
    kept.push_back(a.case_change_action == "NONE" ? word
                                                  : changed_case(word, a.case_change_action == "UPPER"));
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims = x.dims();
  dims.back() = static_cast<int64_t>(kept.size());
  Tensor& out = ctx.output(0, DType::kString, std::move(dims));
  std::copy(kept.begin(), kept.end(), out.as<std::string>());
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = Tensor::strings({4}, {"Monday", "tuesday", "\xC3\x89t\xC3\xA9", "MONDAY"});
  const std::pair<std::string, Attribute> stop{"stopwords", Strings{"monday"}};
  return {make("nothing to do", {x}),
          make("stop words", {x}, {stop}),
          make("case sensitive", {x}, {{"stopwords", Strings{"Monday"}}, {"is_case_sensitive", int64_t{1}}}),
          make("upper", {x}, {{"case_change_action", std::string("UPPER")}, stop}),
          make("lower", {x}, {{"case_change_action", std::string("LOWER")}}),
          make("all dropped", {Tensor::strings({1, 2}, {"monday", "Monday"})}, {stop}),
          make("one row", {Tensor::strings({1, 2}, {"a", "monday"})}, {stop})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "StringNormalizer";
  def.doc = "Drops stop words and changes the case of what is left; one empty string where nothing is left.";
  def.since = 10;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<StringNormalizerAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_string_normalizer
