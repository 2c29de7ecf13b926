// SPDX-License-Identifier: Apache-2.0
// RegexFullMatch: y = true where the whole string matches the pattern (RE2 syntax, UTF-8).
#include <re2/re2.h>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_regex_full_match {
namespace {

struct RegexFullMatchAttributes {
  std::string pattern;
  template <class V>
  void reflect(V& v) {
    v("pattern", pattern);
  }
};

std::unique_ptr<RE2> compiled(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<RE2>(pattern, options);
  if (!regex->ok())
    throw Error(ErrorKind::kInvalidModel,
                "pattern: expected a regular expression of RE2, found '" + pattern + "': " + regex->error());
  return regex;
}

void infer(InferContext& ctx) {
  ctx.check(ctx.attributes().contains("pattern"), "expected an attribute pattern, found none");
  compiled(ctx.attributes_as<RegexFullMatchAttributes>().pattern);
  if (ctx.has_rank(0))
    ctx.set_output(0, DType::kBool, ctx.shape(0));
  else
    ctx.set_output(0, DType::kBool);
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  ctx.check(x.dtype() == DType::kString, "expected a tensor of strings");
  const auto regex = compiled(ctx.attributes_as<RegexFullMatchAttributes>().pattern);
  Tensor& out = ctx.output(0, DType::kBool, x.dims());
  for (int64_t i = 0; i < x.size(); ++i) out.as<bool>()[i] = RE2::FullMatch(x.as<std::string>()[i], *regex);
}

std::vector<Sample> samples() {
  using namespace sample;
  const auto pattern = [](const char* text) {
    return std::vector<std::pair<std::string, Attribute>>{{"pattern", std::string(text)}};
  };
  const Tensor x = Tensor::strings({2, 2}, {"abc", "ab", "", "xabcx"});
  return {make("literal", {x}, pattern("abc")),
          make("alternatives", {x}, pattern("(ab|x).*")),
          make("nothing matches the empty pattern but nothing", {x}, pattern("")),
          make("code points", {Tensor::strings({2}, {"\xC3\xA9", "e"})}, pattern("[^a-z]")),
          make("scalar", {Tensor::strings({}, {"12"})}, pattern("\\d+")),
          make("empty", {Tensor::zeros(DType::kString, {0, 3})}, pattern("a"))};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "RegexFullMatch";
  def.doc = "y = true where the whole string matches the pattern (RE2 syntax, UTF-8).";
  def.since = 20;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = {{"pattern", std::nullopt}};
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_regex_full_match
