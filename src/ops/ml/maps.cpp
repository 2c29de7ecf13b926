// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml over maps (a tensor of keys and as many scalars):
//   ZipMap         a map from labels to scores for each row
//   DictVectorizer y[k] = map[vocabulary[k]], 0 where there is none
//   CastMap        the values in the order of their integer keys, or at their keys' places
#include <cstdlib>
#include <map>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"
#include "ops/sequence.h"

namespace wootz::op_maps {
namespace {

Datum map_of(Tensor keys, std::vector<Datum> values) {
  Datum map;
  map.kind = Datum::Kind::kMap;
  map.tensor = std::move(keys);
  map.elements = std::move(values);
  return map;
}

const Datum& map_input(const EvalContext& c) {
  const Datum& map = c.datum(0);
  c.check(map.kind == Datum::Kind::kMap && map.tensor.size() == static_cast<int64_t>(map.elements.size()),
          "expected a map");
  return map;
}

/// The type of a map's values; undefined where the input's type does not tell.
DType value_dtype(const InferContext& c) {
  const Type& type = c.input(0);
  c.check(type.kind == Type::Kind::kMap || type.kind == Type::Kind::kUnknown, "expected a map");
  return type.element ? type.element->dtype : DType::kUndefined;
}

Tensor labels_of(const Attributes& a, const char* strings, const char* ints) {
  if (const Strings list = a.get<Strings>(strings, {}); !list.empty())
    return Tensor::strings({static_cast<int64_t>(list.size())}, list);
  return Tensor::int64s(a.get<Ints>(ints, {}));
}

Tensor zip_keys(const Attributes& a) { return labels_of(a, "classlabels_strings", "classlabels_int64s"); }

void infer_zip_map(InferContext& c) {
  c.check(c.dtype(0) == DType::kFloat32, "expected float32, found " + std::string(dtype_name(c.dtype(0))));
  c.set_output(
      0, Type::sequence(Type::map(zip_keys(c.attributes()).dtype(), Type::tensor(DType::kFloat32, {}))));
}

void evaluate_zip_map(EvalContext& c) {
  const Tensor keys = zip_keys(c.attributes());
  const Tensor& x = c.input(0);
  c.check(x.dtype() == DType::kFloat32, "expected float32, found " + std::string(dtype_name(x.dtype())));
  c.check((x.rank() == 1 || x.rank() == 2) && x.dims().back() == keys.size(),
          "expected " + std::to_string(keys.size()) + " columns, one for each label");
  const int64_t rows = x.rank() == 2 ? x.dims()[0] : 1;
  std::vector<Datum> maps;
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<Datum> values;
    for (int64_t k = 0; k < keys.size(); ++k)
      values.emplace_back(Tensor::scalar_float(x.as<float>()[r * keys.size() + k]));
    maps.push_back(map_of(keys, std::move(values)));
  }
  c.set_output(0, sequence_of(std::move(maps), DType::kUndefined));
}

Tensor vocabulary_of(const Attributes& a) { return labels_of(a, "string_vocabulary", "int64_vocabulary"); }

void infer_dict_vectorizer(InferContext& c) {
  c.set_output(0, value_dtype(c), {Dim(vocabulary_of(c.attributes()).size())});
}

void evaluate_dict_vectorizer(EvalContext& c) {
  const Datum& map = map_input(c);
  const Tensor words = vocabulary_of(c.attributes());
  c.check(words.dtype() == map.tensor.dtype() &&
              (words.dtype() == DType::kString || words.dtype() == DType::kInt64),
          "expected a vocabulary of the map's keys' type");
  const DType dtype = map.elements.empty() ? map.element_dtype : map.elements[0].tensor.dtype();
  Tensor& y = c.output(0, dtype == DType::kUndefined ? DType::kFloat32 : dtype, {words.size()});
  visit_storage(y.dtype(), [&](auto kind) {
    using T = decltype(kind);
    std::fill_n(y.as<T>(), y.size(), T{});
  });
  for (int64_t i = 0; i < map.tensor.size(); ++i)
    for (int64_t k = 0; k < words.size(); ++k) {
      const bool equal = words.dtype() == DType::kString
                             ? words.as<std::string>()[k] == map.tensor.as<std::string>()[i]
                             : words.as<int64_t>()[k] == map.tensor.as<int64_t>()[i];
      if (!equal) continue;
      visit_storage(y.dtype(), [&](auto kind) {
        using T = decltype(kind);
        y.as<T>()[k] = *map.elements[static_cast<size_t>(i)].tensor.as<T>();
      });
    }
}

DType cast_dtype(const Attributes& a) {
  const std::string to = a.get<std::string>("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return DType::kFloat32;
  if (to == "TO_INT64") return DType::kInt64;
  if (to == "TO_STRING") return DType::kString;
  throw Error(ErrorKind::kInvalidModel, "cast_to: expected TO_FLOAT, TO_INT64 or TO_STRING, found " + to);
}

bool is_sparse(const Attributes& a) {
  const std::string form = a.get<std::string>("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE")
    throw Error(ErrorKind::kInvalidModel, "map_form: expected DENSE or SPARSE, found " + form);
  return form == "SPARSE";
}

void infer_cast_map(InferContext& c) {
  value_dtype(c);
  const Dim length =
      is_sparse(c.attributes()) ? Dim(c.attributes().get<int64_t>("max_map", 1)) : c.unknown("entries");
  c.set_output(0, cast_dtype(c.attributes()), {Dim(1), length});
}

void cast_value(const Tensor& from, Tensor& to, int64_t at) {
  const bool is_text = from.dtype() == DType::kString;
  const double number =
      is_text ? std::strtod(from.as<std::string>()->c_str(), nullptr) : from.to_doubles()[0];
  if (to.dtype() == DType::kFloat32) {
    to.as<float>()[at] = static_cast<float>(number);
  } else if (to.dtype() == DType::kInt64) {
    to.as<int64_t>()[at] = static_cast<int64_t>(std::clamp(number, -0x1p62, 0x1p62));
  } else if (is_text) {
    to.as<std::string>()[at] = *from.as<std::string>();
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.8g", number);
    to.as<std::string>()[at] = text;
  }
}

void evaluate_cast_map(EvalContext& c) {
  const Datum& map = map_input(c);
  c.check(map.tensor.dtype() == DType::kInt64, "expected a map of int64 keys");
  std::map<int64_t, const Tensor*> sorted;
  for (int64_t i = 0; i < map.tensor.size(); ++i)
    sorted[map.tensor.as<int64_t>()[i]] = &map.elements[static_cast<size_t>(i)].tensor;
  const bool sparse = is_sparse(c.attributes());
  const int64_t length =
      sparse ? c.attributes().get<int64_t>("max_map", 1) : static_cast<int64_t>(sorted.size());
  c.check(length >= 0, "max_map: expected a length, found " + std::to_string(length));
  Tensor& y = c.output(0, cast_dtype(c.attributes()), {1, length});
  const Tensor zero = Tensor::scalar_float(0);
  if (sparse && y.dtype() != DType::kString)
    for (int64_t i = 0; i < length; ++i) cast_value(zero, y, i);
  int64_t at = 0;
  for (const auto& [key, value] : sorted) {
    c.check(!sparse || (key >= 0 && key < length),
            "expected keys below max_map = " + std::to_string(length) + ", found " + std::to_string(key));
    cast_value(*value, y, sparse ? key : at++);
  }
}

Datum sample_map(DType value, Ints keys) {
  std::vector<Datum> values;
  for (size_t i = 0; i < keys.size(); ++i)
    values.emplace_back(value == DType::kString ? Tensor::strings({}, {std::to_string(i) + ".5"})
                                                : sample_tensor(value, {}, {static_cast<double>(i) + 0.5}));
  return map_of(Tensor::int64s(keys), std::move(values));
}

std::vector<Sample> samples_zip_map() {
  return {{"integers",
           {Datum(sample_floats({2, 3}))},
           sample_attributes({{"classlabels_int64s", Ints{5, 6, 7}}})},
          {"strings",
           {Datum(sample_floats({2, 2}))},
           sample_attributes({{"classlabels_strings", Strings{"a", "b"}}})},
          {"no row", {Datum(sample_floats({0, 1}))}, sample_attributes({{"classlabels_int64s", Ints{5}}})}};
}

std::vector<Sample> samples_dict_vectorizer() {
  const Attributes a = sample_attributes({{"int64_vocabulary", Ints{1, 2, 3}}});
  return {{"floats", {sample_map(DType::kFloat32, {3, 1})}, a},
          {"doubles", {sample_map(DType::kFloat64, {2})}, a}};
}

std::vector<Sample> samples_cast_map() {
  const auto with = [](const char* to, const char* form) {
    return sample_attributes({{"cast_to", string_attribute(to)},
                              {"map_form", string_attribute(form)},
                              {"max_map", int_attribute(5)}});
  };
  return {{"dense", {sample_map(DType::kFloat32, {3, 1})}, with("TO_FLOAT", "DENSE")},
          {"sparse", {sample_map(DType::kFloat32, {3, 1})}, with("TO_INT64", "SPARSE")},
          {"strings", {sample_map(DType::kString, {2, 0})}, with("TO_STRING", "SPARSE")}};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "ai.onnx.ml";
  d.name = "ZipMap";
  d.doc = "A map from labels to the scores of each row.";
  d.min_inputs = d.max_inputs = 1;
  d.attributes = {{"classlabels_int64s", Attribute(Ints{})}, {"classlabels_strings", Attribute(Strings{})}};
  d.infer = infer_zip_map;
  d.evaluate = evaluate_zip_map;
  d.samples = samples_zip_map;
  registry.add(d);
  d.name = "DictVectorizer";
  d.doc = "y[k] = map[vocabulary[k]], 0 where the map has no such key.";
  d.attributes = {{"int64_vocabulary", Attribute(Ints{})}, {"string_vocabulary", Attribute(Strings{})}};
  d.infer = infer_dict_vectorizer;
  d.evaluate = evaluate_dict_vectorizer;
  d.samples = samples_dict_vectorizer;
  registry.add(d);
  d.name = "CastMap";
  d.doc = "A map's values in the order of their integer keys (DENSE), or at their keys' places (SPARSE).";
  d.attributes = {{"cast_to", Attribute(std::string("TO_FLOAT"))},
                  {"map_form", Attribute(std::string("DENSE"))},
                  {"max_map", Attribute(int64_t{1})}};
  d.infer = infer_cast_map;
  d.evaluate = evaluate_cast_map;
  d.samples = samples_cast_map;
  registry.add(d);
}

}  // namespace wootz::op_maps
