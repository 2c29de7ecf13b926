// SPDX-License-Identifier: Apache-2.0
// StringSplit: the parts of each string between delimiters (at most maxsplit + 1), padded with "" to the
// longest list, and their number. Without delimiter, runs of white space separate and those at the ends are
// dropped.
#include <algorithm>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_string_split {
namespace {

struct StringSplitAttributes {
  std::optional<std::string> delimiter;
  std::optional<int64_t> maxsplit;
  template <class V>
  void reflect(V& v) {
    v("delimiter", delimiter);
    v("maxsplit", maxsplit);
  }
};

void infer(InferContext& ctx) {
  ctx.set_output(0, DType::kString);
  ctx.set_output(1, DType::kInt64);
  if (!ctx.has_rank(0)) return;
  Shape shape = ctx.shape(0);
  ctx.set_output(1, DType::kInt64, shape);
  shape.push_back(ctx.unknown("parts"));
  ctx.set_output(0, DType::kString, std::move(shape));
}

Strings split_at(const std::string& text, const std::string& delimiter, int64_t limit) {
  Strings parts;
  size_t begin = 0;
  for (;;) {
    const size_t end =
        static_cast<int64_t>(parts.size()) < limit ? text.find(delimiter, begin) : std::string::npos;
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    if (end == std::string::npos) return parts;
    begin = end + delimiter.size();
  }
}

Strings split_at_spaces(const std::string& all, int64_t limit) {
  constexpr const char* kSpaces = " \t\n\v\f\r";
  Strings parts;
  const std::string text = all.substr(0, all.find_last_not_of(kSpaces) + 1);
  size_t begin = text.find_first_not_of(kSpaces);
  while (begin != std::string::npos) {
    const size_t end =
        static_cast<int64_t>(parts.size()) < limit ? text.find_first_of(kSpaces, begin) : std::string::npos;
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    begin = end == std::string::npos ? end : text.find_first_not_of(kSpaces, end);
  }
  return parts;
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  ctx.check(x.dtype() == DType::kString, "expected a tensor of strings");
  const auto a = ctx.attributes_as<StringSplitAttributes>();
  const int64_t limit = a.maxsplit && *a.maxsplit >= 0 ? *a.maxsplit : INT64_MAX;
  const std::string delimiter = a.delimiter.value_or("");
  std::vector<Strings> lists;
  size_t longest = 0;
  for (const std::string& text : x.span<std::string>()) {
    lists.push_back(delimiter.empty() ? split_at_spaces(text, limit) : split_at(text, delimiter, limit));
    longest = std::max(longest, lists.back().size());
  }
  Tensor& counts = ctx.output(1, DType::kInt64, x.dims());
  Dims dims = x.dims();
  dims.push_back(static_cast<int64_t>(longest));
  checked_count(dims, "StringSplit");
  Tensor& out = ctx.output(0, DType::kString, std::move(dims));
  for (size_t i = 0; i < lists.size(); ++i) {
    counts.as<int64_t>()[i] = static_cast<int64_t>(lists[i].size());
    for (size_t k = 0; k < longest; ++k)
      out.as<std::string>()[i * longest + k] = k < lists[i].size() ? lists[i][k] : std::string();
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = Tensor::strings({2}, {"a,b,,c", "d"});
  const std::pair<std::string, Attribute> comma{"delimiter", std::string(",")};
  return {make("delimiter", {x}, {comma}, 2),
          make("limit", {x}, {comma, {"maxsplit", int64_t{1}}}, 2),
          make("spaces", {Tensor::strings({2, 1}, {"  a  b ", ""})}, {}, 2),
          make("spaces with a limit", {Tensor::strings({1}, {" a  b  c "})}, {{"maxsplit", int64_t{1}}}, 2),
          make("scalar", {Tensor::strings({}, {"a b"})}, {}, 2),
          make("empty", {Tensor::zeros(DType::kString, {0})}, {comma}, 2)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "StringSplit";
  def.doc =
      "The parts of each string between delimiters, padded with \"\" to the longest list, and their number.";
  def.since = 20;
  def.min_inputs = def.max_inputs = 1;
  def.min_outputs = def.max_outputs = 2;
  def.attributes = attribute_specs<StringSplitAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_string_split
