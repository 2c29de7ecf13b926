// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: counts how often each n-gram of a pool occurs in each row, n-grams with skips of up to
// max_skip_count elements included: TF the count, IDF the weight where it occurs, TFIDF count * weight.
#include <algorithm>
#include <map>

#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_tf_idf_vectorizer {
namespace {

struct TfIdfVectorizerAttributes {
  int64_t max_gram_length = 1, max_skip_count = 0, min_gram_length = 1;
  std::string mode;
  Ints ngram_counts, ngram_indexes, pool_int64s;
  Strings pool_strings;
  Floats weights;
  template <class V>
  void reflect(V& v) {
    v("max_gram_length", max_gram_length);
    v("max_skip_count", max_skip_count);
    v("min_gram_length", min_gram_length);
    v("mode", mode);
    v("ngram_counts", ngram_counts);
    v("ngram_indexes", ngram_indexes);
    v("pool_int64s", pool_int64s);
    v("pool_strings", pool_strings);
    v("weights", weights);
  }
};

template <class Context>
TfIdfVectorizerAttributes checked(const Context& ctx) {
  auto a = ctx.template attributes_as<TfIdfVectorizerAttributes>();
  ctx.check(a.mode == "TF" || a.mode == "IDF" || a.mode == "TFIDF",
            "expected mode TF, IDF or TFIDF, found " + a.mode);
  ctx.check(a.min_gram_length >= 1 && a.max_gram_length >= a.min_gram_length && a.max_skip_count >= 0,
            "expected 1 <= min_gram_length <= max_gram_length and max_skip_count >= 0");
  ctx.check(
      !a.ngram_indexes.empty() && *std::min_element(a.ngram_indexes.begin(), a.ngram_indexes.end()) >= 0,
      "expected ngram_indexes >= 0");
  ctx.check(a.weights.empty() || a.weights.size() == a.ngram_indexes.size(),
            "expected as many weights as ngram_indexes");
  return a;
}

int64_t columns(const TfIdfVectorizerAttributes& a) {
  return *std::max_element(a.ngram_indexes.begin(), a.ngram_indexes.end()) + 1;
}

void infer(InferContext& ctx) {
  const int64_t width = columns(checked(ctx));
  ctx.set_output(0, DType::kFloat32);
  if (!ctx.has_rank(0)) return;
  ctx.check(ctx.rank(0) == 1 || ctx.rank(0) == 2,
            "expected rank 1 or 2, found " + std::to_string(ctx.rank(0)));
  if (ctx.rank(0) == 1)
    ctx.set_output(0, DType::kFloat32, {Dim(width)});
  else
    ctx.set_output(0, DType::kFloat32, {ctx.shape(0)[0], Dim(width)});
}

/// From n-gram to its place in the pool.
template <class T>
using Pool = std::map<std::vector<T>, size_t>;

template <class T>
Pool<T> pool_of(const EvalContext& ctx, const TfIdfVectorizerAttributes& a, const std::vector<T>& elements) {
  Pool<T> pool;
  size_t gram = 0;
  for (size_t n = 0; n < a.ngram_counts.size(); ++n) {
    const int64_t begin = a.ngram_counts[n];
    const int64_t end =
        n + 1 < a.ngram_counts.size() ? a.ngram_counts[n + 1] : static_cast<int64_t>(elements.size());
    const auto length = static_cast<int64_t>(n) + 1;
    ctx.check(begin >= 0 && begin <= end && end <= static_cast<int64_t>(elements.size()) &&
                  (end - begin) % length == 0,
              "expected ngram_counts that cut the pool into whole n-grams");
    for (int64_t at = begin; at < end; at += length, ++gram)
      pool.emplace(std::vector<T>(elements.begin() + at, elements.begin() + at + length), gram);
  }
  ctx.check(gram == a.ngram_indexes.size(), "expected one of ngram_indexes for each n-gram of the pool");
  return pool;
}

template <class T>
std::vector<int64_t> count_grams(const TfIdfVectorizerAttributes& a, const Pool<T>& pool,
                                 std::span<const T> row) {
  std::vector<int64_t> counts(a.ngram_indexes.size(), 0);
  const auto size = static_cast<int64_t>(row.size());
  for (int64_t n = a.min_gram_length; n <= std::min(a.max_gram_length, size); ++n) {
    const int64_t furthest = n == 1 ? 1 : std::min(a.max_skip_count + 1, (size - 1) / (n - 1));
    for (int64_t step = 1; step <= furthest; ++step)
      for (int64_t start = 0; start + (n - 1) * step < size; ++start) {
        std::vector<T> gram;
        for (int64_t k = 0; k < n; ++k) gram.push_back(row[static_cast<size_t>(start + k * step)]);
        if (auto it = pool.find(gram); it != pool.end()) ++counts[it->second];
      }
  }
  return counts;
}

template <class T>
void vectorize(EvalContext& ctx, const TfIdfVectorizerAttributes& a, std::span<const T> data,
               const std::vector<T>& pool_elements) {
  const Tensor& x = ctx.input(0);
  const Pool<T> pool = pool_of(ctx, a, pool_elements);
  const int64_t rows = x.rank() == 1 ? 1 : x.dims()[0], width = columns(a);
  const auto length = static_cast<size_t>(x.dims().back());
  Tensor& out = ctx.output(0, DType::kFloat32, x.rank() == 1 ? Dims{width} : Dims{rows, width});
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> result(static_cast<size_t>(width), 0);
    const auto counts = count_grams(a, pool, data.subspan(static_cast<size_t>(r) * length, length));
    for (size_t i = 0; i < counts.size(); ++i) {
      const double weight = a.weights.empty() ? 1 : a.weights[i], count = static_cast<double>(counts[i]);
      const double value = a.mode == "TF"    ? count
                           : a.mode == "IDF" ? (counts[i] > 0 ? weight : 0)
                                             : count * weight;
      result[static_cast<size_t>(a.ngram_indexes[i])] += value;
    }
    store_reals(out, r * width, result);
  }
}

void evaluate(EvalContext& ctx) {
  const auto a = checked(ctx);
  const Tensor& x = ctx.input(0);
  ctx.check(x.rank() == 1 || x.rank() == 2, "expected rank 1 or 2, found " + std::to_string(x.rank()));
  if (x.dtype() == DType::kString)
    return vectorize<std::string>(ctx, a, x.span<std::string>(), a.pool_strings);
  const Ints data = x.to_int64s();
  vectorize<int64_t>(ctx, a, data, a.pool_int64s);
}

std::vector<Sample> samples() {
  using namespace sample;
  auto grams = [](const char* mode, int64_t shortest, int64_t longest, int64_t skips) {
    return std::vector<std::pair<std::string, Attribute>>{{"mode", std::string(mode)},
                                                          {"min_gram_length", shortest},
                                                          {"max_gram_length", longest},
                                                          {"max_skip_count", skips},
                                                          {"ngram_counts", Ints{0, 4}},
                                                          {"ngram_indexes", Ints{0, 1, 2, 3, 4, 5, 6}},
                                                          {"pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}},
                                                          {"weights", Floats{1, 2, 3, 4, 5, 6, 7}}};
  };
  const Tensor x = ints({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8}),
               rows = ints({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  return {make("pairs", {x}, grams("TF", 2, 2, 0)),
          make("skips", {x}, grams("TF", 2, 2, 5)),
          make("ones and pairs of rows", {rows}, grams("TF", 1, 2, 5)),
          make("idf", {rows}, grams("IDF", 1, 2, 0)),
          make("tfidf", {rows}, grams("TFIDF", 1, 2, 0)),
          make("nothing", {Tensor::zeros(DType::kInt32, {0})}, grams("TF", 1, 2, 0)),
          make("strings", {Tensor::strings({3}, {"a", "b", "a"})},
               {{"mode", std::string("TF")},
                {"min_gram_length", int64_t{1}},
                {"max_gram_length", int64_t{1}},
                {"max_skip_count", int64_t{0}},
                {"ngram_counts", Ints{0}},
                {"ngram_indexes", Ints{1, 0}},
                {"pool_strings", Strings{"a", "c"}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "TfIdfVectorizer";
  def.doc =
      "Counts (or weighs) how often each n-gram of a pool occurs in each row, n-grams with skips included.";
  def.since = 9;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<TfIdfVectorizerAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_tf_idf_vectorizer
