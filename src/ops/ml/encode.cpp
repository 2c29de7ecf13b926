// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml that look things up:
//   LabelEncoder          y = values[keys.index(x)], or a default
//   CategoryMapper        the same between strings and integers
//   OneHotEncoder         y[..., k] = x == categories[k]
//   ArrayFeatureExtractor y = x[..., indices]
//   FeatureVectorizer     y = the inputs side by side, each cut or padded to its width
#include <bit>
#include <map>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"
#include "ops/strided_copy.h"

namespace wootz::op_encode {
namespace {

/// Floats as keys: every NaN is one key, and -0 equals 0.
struct Key {
  std::string text;
  double number = 0;
  int64_t integer = 0;
  friend auto operator<=>(const Key& a, const Key& b) {
    return std::tuple(std::isnan(a.number), std::isnan(a.number) ? 0 : a.number, a.integer, a.text) <=>
           std::tuple(std::isnan(b.number), std::isnan(b.number) ? 0 : b.number, b.integer, b.text);
  }
  friend bool operator==(const Key& a, const Key& b) { return (a <=> b) == 0; }
};

Key key_of(const Tensor& x, const std::vector<double>& reals, const std::vector<int64_t>& integers,
           int64_t i) {
  Key key;
  const auto at = static_cast<size_t>(i);
  if (x.dtype() == DType::kString)
    key.text = x.as<std::string>()[i];
  else if (is_float(x.dtype()))
    key.number = reals[at];
  else
    key.integer = integers[at];
  return key;
}

std::vector<Key> keys_of(const Tensor& x) {
  std::vector<double> reals;
  std::vector<int64_t> integers;
  if (is_float(x.dtype()))
    reals = x.to_doubles();
  else if (x.dtype() != DType::kString)
    integers = x.to_int64s();
  std::vector<Key> keys;
  for (int64_t i = 0; i < x.size(); ++i) keys.push_back(key_of(x, reals, integers, i));
  return keys;
}

/// The list called `prefix` + s, _int64s, _floats or _tensor, as a tensor; undefined where there is none.
Tensor list_of(const Attributes& a, const std::string& prefix) {
  if (a.contains(prefix + "_tensor")) return a.require<Tensor>(prefix + "_tensor");
  if (const Strings list = a.get<Strings>(prefix + "_strings", {}); !list.empty())
    return Tensor::strings({static_cast<int64_t>(list.size())}, list);
  if (const Ints list = a.get<Ints>(prefix + "_int64s", {}); !list.empty()) return Tensor::int64s(list);
  if (const Floats list = a.get<Floats>(prefix + "_floats", {}); !list.empty())
    return Tensor::from<float>(DType::kFloat32, {static_cast<int64_t>(list.size())}, list);
  return {};
}

void copy_element(Tensor& to, int64_t i, const Tensor& from, int64_t k) {
  visit_storage(to.dtype(), [&](auto kind) {
    using T = decltype(kind);
    to.as<T>()[i] = from.as<T>()[k];
  });
}

/// The default of the values' kind.
Tensor default_of(const Attributes& a, DType dtype) {
  if (a.contains("default_tensor")) return a.require<Tensor>("default_tensor");
  if (dtype == DType::kString) return Tensor::strings({}, {a.get<std::string>("default_string", "_Unused")});
  if (dtype == DType::kInt64) return Tensor::scalar_int64(a.get<int64_t>("default_int64", -1));
  const bool real = is_float(dtype);
  Tensor t = Tensor::zeros(dtype, {});
  const double value = real ? static_cast<double>(a.get<float>("default_float", -0.0f)) : -1;
  store_doubles(std::span(&value, 1), t);
  return t;
}

void infer_shape_as_input(InferContext& c, DType dtype) {
  if (c.has_rank(0))
    c.set_output(0, dtype, c.shape(0));
  else
    c.set_output(0, dtype);
}

template <class Context>
std::pair<Tensor, Tensor> label_lists(const Context& c) {
  std::pair<Tensor, Tensor> lists{list_of(c.attributes(), "keys"), list_of(c.attributes(), "values")};
  // Version 1 maps between the strings of one list and their positions.
  if (const Strings classes = c.attributes().template get<Strings>("classes_strings", {}); !classes.empty()) {
    const Tensor names = Tensor::strings({static_cast<int64_t>(classes.size())}, classes);
    Ints positions;
    for (size_t i = 0; i < classes.size(); ++i) positions.push_back(static_cast<int64_t>(i));
    lists = {names, Tensor::int64s(positions)};
  }
  c.check(lists.first.is_defined() && lists.second.is_defined() && lists.first.size() == lists.second.size(),
          "expected one list of keys and one of as many values");
  return lists;
}

void infer_label_encoder(InferContext& c) {
  auto [keys, values] = label_lists(c);
  const bool positions = c.attributes().contains("classes_strings");
  if (positions && c.dtype(0) != DType::kString) std::swap(keys, values);
  c.check(c.dtype(0) == keys.dtype(), "expected input and keys of one type, found " +
                                          std::string(dtype_name(c.dtype(0))) + " and " +
                                          std::string(dtype_name(keys.dtype())));
  infer_shape_as_input(c, values.dtype());
}

void look_up(EvalContext& c, const Tensor& keys, const Tensor& values, const Tensor& fallback) {
  const Tensor& x = c.input(0);
  c.check(x.dtype() == keys.dtype(), "expected input and keys of one type");
  c.check(fallback.dtype() == values.dtype() && fallback.size() == 1,
          "expected a default of the values' type");
  std::map<Key, int64_t> place;
  const std::vector<Key> known = keys_of(keys);
  for (size_t i = 0; i < known.size(); ++i) place[known[i]] = static_cast<int64_t>(i);  // the last one counts
  Tensor& y = c.output(0, values.dtype(), x.dims());
  const std::vector<Key> wanted = keys_of(x);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto it = place.find(wanted[i]);
    if (it == place.end())
      copy_element(y, static_cast<int64_t>(i), fallback, 0);
    else
      copy_element(y, static_cast<int64_t>(i), values, it->second);
  }
}

void evaluate_label_encoder(EvalContext& c) {
  auto [keys, values] = label_lists(c);
  if (c.attributes().contains("classes_strings") && c.input(0).dtype() != DType::kString)
    std::swap(keys, values);
  look_up(c, keys, values, default_of(c.attributes(), values.dtype()));
}

void infer_category_mapper(InferContext& c) {
  infer_shape_as_input(c, c.dtype(0) == DType::kString ? DType::kInt64 : DType::kString);
}

void evaluate_category_mapper(EvalContext& c) {
  const Tensor names = list_of(c.attributes(), "cats"),
               numbers = Tensor::int64s(c.attributes().get<Ints>("cats_int64s", {}));
  c.check(names.is_defined() && names.dtype() == DType::kString && names.size() == numbers.size(),
          "expected cats_strings and cats_int64s of one length");
  const bool to_numbers = c.input(0).dtype() == DType::kString;
  const Tensor& values = to_numbers ? numbers : names;
  look_up(c, to_numbers ? names : numbers, values, default_of(c.attributes(), values.dtype()));
}

Tensor categories_of(const Attributes& a) { return list_of(a, "cats"); }

void infer_one_hot_encoder(InferContext& c) {
  const Tensor categories = categories_of(c.attributes());
  c.check(categories.is_defined(), "expected cats_int64s or cats_strings, found none");
  c.check((categories.dtype() == DType::kString) == (c.dtype(0) == DType::kString),
          "expected cats_strings for strings and cats_int64s for numbers");
  c.set_output(0, DType::kFloat32);
  if (!c.has_rank(0)) return;
  Shape shape = c.shape(0);
  shape.push_back(Dim(categories.size()));
  c.set_output(0, DType::kFloat32, std::move(shape));
}

void evaluate_one_hot_encoder(EvalContext& c) {
  const Tensor categories = categories_of(c.attributes());
  c.check(categories.is_defined(), "expected cats_int64s or cats_strings, found none");
  const Tensor& x = c.input(0);
  Dims dims = x.dims();
  dims.push_back(categories.size());
  Tensor& y = c.output(0, DType::kFloat32, std::move(dims));
  std::fill_n(y.as<float>(), y.size(), 0.0f);
  std::vector<Key> wanted = keys_of(x);
  if (is_float(x.dtype()))  // numbers are cast to integers first
    for (Key& key : wanted) {
      key.integer = std::isfinite(key.number) ? static_cast<int64_t>(std::clamp(key.number, -0x1p62, 0x1p62))
                                              : INT64_MIN;
      key.number = 0;
    }
  const std::vector<Key> known = keys_of(categories);
  for (size_t i = 0; i < wanted.size(); ++i) {
    size_t k = known.size();  // of equal categories the last one counts
    while (k > 0 && known[k - 1] != wanted[i]) --k;
    if (k > 0) y.as<float>()[i * known.size() + k - 1] = 1;
    c.check(k > 0 || c.attributes().get<int64_t>("zeros", 1) != 0,
            "element " + std::to_string(i) + ": expected one of the categories (zeros = 0)");
  }
}

void infer_extractor(InferContext& c) {
  c.set_output(0, c.dtype(0));
  if (!c.has_rank(0) || !c.has_rank(1)) return;
  Shape shape = c.shape(0);
  c.check(!shape.empty(), "expected data of rank 1 or more");
  if (shape.size() == 1) shape.insert(shape.begin(), Dim(1));
  shape.back() = c.symbols().product(c.shape(1));
  c.set_output(0, c.dtype(0), std::move(shape));
}

void evaluate_extractor(EvalContext& c) {
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 1, "expected data of rank 1 or more");
  const std::vector<int64_t> at = c.input(1).to_int64s();
  const int64_t features = x.dims().back(), count = static_cast<int64_t>(at.size());
  for (int64_t i : at)
    c.check(i >= 0 && i < features,
            "expected indices below " + std::to_string(features) + ", found " + std::to_string(i));
  Dims dims = x.dims();
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  dims.back() = count;
  Tensor& y = c.output(0, x.dtype(), std::move(dims));
  for (int64_t i = 0; i < y.size(); ++i)
    copy_element(y, i, x, i / count * features + at[static_cast<size_t>(i % count)]);
}

/// The width of each input: inputdimensions, or as it is.
std::optional<int64_t> width_of(const Attributes& a, size_t input) {
  const Ints widths = a.get<Ints>("inputdimensions", {});
  if (widths.empty()) return std::nullopt;
  if (input >= widths.size())
    throw Error(ErrorKind::kInvalidModel, "inputdimensions: expected a number for each input");
  return widths[input];
}

void infer_vectorizer(InferContext& c) {
  Dim width(0);
  bool known = true;
  for (size_t i = 0; i < c.input_count(); ++i) {
    const auto given = width_of(c.attributes(), i);
    known = known && c.has_rank(i);
    if (!known) break;
    c.check(c.rank(i) == 1 || c.rank(i) == 2, "expected inputs of rank 1 or 2");
    width = width + (given ? Dim(*given) : c.shape(i).back());
  }
  const Dim rows = c.has_rank(0) ? (c.rank(0) == 2 ? c.shape(0)[0] : Dim(1)) : c.unknown("rows");
  c.set_output(0, DType::kFloat32, {rows, known ? width : c.unknown("features")});
}

void evaluate_vectorizer(EvalContext& c) {
  std::vector<std::vector<double>> rows;
  int64_t total = 0, count = -1;
  for (size_t i = 0; i < c.input_count(); ++i) {
    const Tensor& x = c.input(i);
    c.check(x.rank() == 1 || x.rank() == 2, "expected inputs of rank 1 or 2");
    const int64_t n = x.rank() == 2 ? x.dims()[0] : 1, have = x.dims().back(),
                  want = width_of(c.attributes(), i).value_or(have);
    c.check(want >= 0 && (count < 0 || count == n), "expected inputs of one number of rows");
    count = n;
    total += want;
    rows.resize(static_cast<size_t>(n));
    const std::vector<double> v = x.to_doubles();
    for (int64_t r = 0; r < n; ++r)
      for (int64_t k = 0; k < want; ++k)
        rows[static_cast<size_t>(r)].push_back(k < have ? v[static_cast<size_t>(r * have + k)] : 0);
  }
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  store_doubles(all, c.output(0, DType::kFloat32, {count, total}));
}

std::vector<Sample> samples_label_encoder() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Datum words(Tensor::strings({2, 2}, {"a", "b", "c", "a"}));
  std::vector<Sample> s;
  s.push_back({"strings to integers",
               {words},
               sample_attributes({{"keys_strings", Strings{"a", "b"}}, {"values_int64s", Ints{5, 6}}})});
  s.push_back({"floats with NaN, the last key counts",
               {Datum(sample_tensor(DType::kFloat32, {4}, {nan, 1, 2, -0.0}))},
               sample_attributes({{"keys_floats", Floats{nan, 0, 1, 1}},
                                  {"values_strings", Strings{"nan", "zero", "one", "uno"}},
                                  {"default_string", string_attribute("?")}})});
  s.push_back({"tensors",
               {Datum(sample_tensor(DType::kInt32, {3}, {1, 2, 3}))},
               sample_attributes({{"keys_tensor", sample_tensor(DType::kInt32, {2}, {1, 2})},
                                  {"values_tensor", sample_tensor(DType::kFloat64, {2}, {0.5, 1.5})},
                                  {"default_tensor", sample_tensor(DType::kFloat64, {1}, {-7})}})});
  s.push_back({"classes", {words}, sample_attributes({{"classes_strings", Strings{"a", "b"}}})});
  return s;
}

std::vector<Sample> samples_category_mapper() {
  const Attributes a = sample_attributes({{"cats_strings", Strings{"x", "y"}}, {"cats_int64s", Ints{4, 9}}});
  return {{"to integers", {Datum(Tensor::strings({3}, {"y", "x", "z"}))}, a},
          {"to strings", {Datum(Tensor::int64s(Ints{9, 4, 1}))}, a}};
}

std::vector<Sample> samples_one_hot_encoder() {
  const Attributes ints = sample_attributes({{"cats_int64s", Ints{1, 2, 3}}});
  return {{"integers", {Datum(Tensor::int64s(Ints{3, 1, 7}))}, ints},
          {"floats", {Datum(sample_tensor(DType::kFloat32, {2, 1}, {2.9, 1}))}, ints},
          {"strings",
           {Datum(Tensor::strings({2}, {"b", "a"}))},
           sample_attributes({{"cats_strings", Strings{"a", "b"}}})},
          {"scalar", {Datum(Tensor::scalar_int64(2))}, ints},
          {"empty", {Datum(Tensor::zeros(DType::kInt64, {0, 2}))}, ints}};
}

std::vector<Sample> samples_extractor() {
  const Datum at(Tensor::int64s(Ints{2, 0}));
  return {{"rows", {Datum(sample_floats({2, 3})), at}},
          {"one row", {Datum(sample_floats({3})), at}},
          {"strings", {Datum(Tensor::strings({1, 3}, {"a", "b", "c"})), at}},
          {"rank 3", {Datum(sample_values(DType::kInt32, {2, 2, 3}, -5, 5)), at}},
          {"empty", {Datum(sample_floats({0, 3})), at}}};
}

std::vector<Sample> samples_vectorizer() {
  return {{"as they are", {Datum(sample_floats({2, 3})), Datum(sample_floats({2, 1}, 2))}},
          {"cut and padded",
           {Datum(sample_values(DType::kInt64, {2, 3}, -5, 5)),
            Datum(sample_values(DType::kInt64, {2, 1}, 0, 9))},
           sample_attributes({{"inputdimensions", Ints{2, 3}}})},
          {"rank 1", {Datum(sample_floats({3})), Datum(sample_floats({2}, 2))}}};
}

struct Family {
  OpRegistry& registry;
  void add(const char* name, const char* doc, int inputs, std::vector<AttributeSpec> attributes,
           void (*infer)(InferContext&), void (*evaluate)(EvalContext&), std::vector<Sample> (*samples)()) {
    OpDef d;
    d.domain = "ai.onnx.ml";
    d.name = name;
    d.doc = doc;
    d.min_inputs = inputs < 0 ? 1 : inputs;
    d.max_inputs = inputs;
    d.attributes = std::move(attributes);
    d.infer = infer;
    d.evaluate = evaluate;
    d.samples = samples;
    registry.add(std::move(d));
  }
};

}  // namespace

void register_op(OpRegistry& registry) {
  const Attribute ints{Ints{}}, floats{Floats{}}, strings{Strings{}};
  const std::vector<AttributeSpec> defaults = {{"default_int64", Attribute(int64_t{-1})},
                                               {"default_string", Attribute(std::string("_Unused"))}};
  std::vector<AttributeSpec> label = defaults;
  label.push_back({"default_float", Attribute(-0.0f)});
  label.push_back({"classes_strings", strings});
  for (const std::string name : {"keys", "values"}) {
    label.push_back({name + "_int64s", ints});
    label.push_back({name + "_floats", floats});
    label.push_back({name + "_strings", strings});
    label.push_back({name + "_tensor", std::nullopt});
  }
  label.push_back({"default_tensor", std::nullopt});
  std::vector<AttributeSpec> category = defaults;
  category.push_back({"cats_int64s", ints});
  category.push_back({"cats_strings", strings});
  Family family{registry};
  family.add("LabelEncoder", "y = values[keys.index(x)], or the default.", 1, label, infer_label_encoder,
             evaluate_label_encoder, samples_label_encoder);
  family.add("CategoryMapper", "Strings to integers or back, by two lists.", 1, category,
             infer_category_mapper, evaluate_category_mapper, samples_category_mapper);
  family.add("OneHotEncoder", "y[..., k] = x == categories[k] ? 1 : 0.", 1,
             {{"cats_int64s", ints}, {"cats_strings", strings}, {"zeros", Attribute(int64_t{1})}},
             infer_one_hot_encoder, evaluate_one_hot_encoder, samples_one_hot_encoder);
  family.add("ArrayFeatureExtractor", "y = x[..., indices]; a vector counts as one row.", 2, {},
             infer_extractor, evaluate_extractor, samples_extractor);
  family.add("FeatureVectorizer", "The inputs side by side as float32, each cut or padded to its width.", -1,
             {{"inputdimensions", ints}}, infer_vectorizer, evaluate_vectorizer, samples_vectorizer);
}

}  // namespace wootz::op_encode
