// SPDX-License-Identifier: Apache-2.0
// What every operator promises, checked on its own samples: inference foretells what the reference gives,
// with static shapes, with symbolic ones, and with constant operands.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "ops/canonicalize.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {
namespace {

Type type_of(const Datum& datum) {
  if (datum.kind == Datum::Kind::kTensor)
    return Type::tensor(datum.tensor.dtype(), Shape(datum.tensor.dims().begin(), datum.tensor.dims().end()));
  if (datum.kind == Datum::Kind::kSequence)
    return Type::sequence(datum.elements.empty() ? Type::tensor(datum.element_dtype)
                                                 : Type::tensor(datum.elements[0].tensor.dtype()));
  if (datum.kind == Datum::Kind::kMap) return Type::map(datum.tensor.dtype(), type_of(datum.elements.at(0)));
  return {};
}

enum class Operands { kStatic, kSymbolic, kConstant };

/// A graph of the one node. Symbolic: the dims of floating-point and large inputs become symbols, the rest
/// constants.
struct OneNode {
  Graph graph;
  Node* node = nullptr;
  Bindings bindings{graph.symbols()};
  std::vector<Datum> inputs;

  OneNode(const OpDef& def, const Sample& sample, Operands operands) {
    std::vector<Value*> values;
    for (size_t i = 0; i < sample.inputs.size(); ++i)
      values.push_back(add_operand(i, sample.inputs[i], operands));
    node = graph.add_node(def.domain, def.name, values);
    node->attributes = sample.attributes;
    for (auto& [name, attribute] : node->attributes)
      if (auto* body = std::get_if<GraphPtr>(&attribute))
        *body = (*body)->clone(graph.shared_symbols(), &graph);
    for (int i = 0; i < sample.output_count; ++i)
      graph.add_output(node->add_output("out" + std::to_string(i), Type{}));
  }

  Value* add_operand(size_t i, const Datum& datum, Operands operands) {
    if (datum.kind == Datum::Kind::kNone) return nullptr;
    const std::string name = "in" + std::to_string(i);
    const bool is_tensor = datum.kind == Datum::Kind::kTensor;
    const bool is_operand =
        is_tensor && (is_integer(datum.tensor.dtype()) || datum.tensor.rank() < 2) && i > 0;
    if (is_tensor && (operands == Operands::kConstant || (operands == Operands::kSymbolic && is_operand)))
      return graph.add_constant(name, datum.tensor);
    Type type = type_of(datum);
    if (is_tensor && operands == Operands::kSymbolic) {
      for (size_t k = 0; k < type.shape->size(); ++k) {
        if (datum.tensor.dims()[k] == 0) continue;  // a symbol that is 0 where another is 1: no bound tells
        const Dim symbol = graph.symbols().input(name + "_" + std::to_string(k));
        bindings.bind(symbol.terms()[0].first, datum.tensor.dims()[k]);
        (*type.shape)[k] = symbol;
      }
    }
    inputs.push_back(datum);
    return graph.add_input(name, std::move(type));
  }
};

void expect_covers(const OneNode& one, const Value& value, const Datum& found, const std::string& what) {
  if (found.kind != Datum::Kind::kTensor || !value.type.is_tensor()) return;
  EXPECT_EQ(value.type.dtype, found.tensor.dtype()) << what;
  if (!value.type.shape) return;
  ASSERT_EQ(value.type.rank(), found.tensor.rank()) << what;
  const SymbolTable& symbols = one.graph.symbols();
  for (size_t k = 0; k < found.tensor.dims().size(); ++k) {
    const Dim dim = symbols.resolve((*value.type.shape)[k]);
    const auto number = one.bindings.evaluate(dim);
    EXPECT_TRUE(number || symbols.depends_on_unknown(dim))
        << what << " dim " << k << " " << symbols.to_string(dim);
    // Two symbols broadcast to their maximum, which is not so where one is 0 and the other 1.
    if (found.tensor.size() > 0) {
      EXPECT_EQ(number.value_or(found.tensor.dims()[k]), found.tensor.dims()[k]) << what << " dim " << k;
    }
    EXPECT_GE(symbols.upper_bound(dim), found.tensor.dims()[k]) << what << " dim " << k;
  }
  if (!value.contents) return;
  std::vector<int64_t> elements;
  if (is_float(found.tensor.dtype()))
    for (double number : found.tensor.to_doubles()) elements.push_back(static_cast<int64_t>(number));
  else
    elements = found.tensor.to_int64s();
  ASSERT_EQ(value.contents->size(), elements.size()) << what;
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto number = one.bindings.evaluate(symbols.resolve((*value.contents)[i]));
    EXPECT_EQ(number.value_or(elements[i]), elements[i]) << what << " element " << i;
  }
}

void check(const OpDef& def, const Sample& sample, Operands operands, const char* how) {
  const std::string what = def.name + ", " + sample.label + ", " + how;
  SCOPED_TRACE(what);
  OneNode one(def, sample, operands);
  try {
    infer_graph(one.graph);
    const std::vector<Datum> results = evaluate_graph(one.graph, one.inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_NE(results[i].kind, Datum::Kind::kNone) << what << ": no output " << i;
      expect_covers(one, *one.graph.outputs()[i], results[i], what);
    }
  } catch (const Error& error) {
    FAIL() << what << ": " << error.message();
  }
}

class Samples : public testing::TestWithParam<std::string> {};

TEST_P(Samples, InferenceForetellsTheReference) {
  for (const auto& [key, def] : OpRegistry::global().all()) {
    if (key.first + "." + key.second != GetParam() || !def.infer || !def.evaluate) continue;
    for (const Sample& sample : def.samples()) {
      check(def, sample, Operands::kStatic, "static");
      check(def, sample, Operands::kConstant, "constant");
      check(def, sample, Operands::kSymbolic, "symbolic");
    }
  }
}

/// Canonicalization, inference and reference of the node: an Error at most.
void run_all(const OpDef& def, OneNode& one, int64_t opset = 25, bool evaluates = true) {
  try {
    if (def.canonicalize) {
      CanonicalizeContext context(*one.node, opset);
      def.canonicalize(context);
    }
    infer_graph(one.graph);
    if (evaluates) evaluate_graph(one.graph, one.inputs);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::kInternal) << error.message();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST_P(Samples, AttributesOfAnotherKindAreErrorsAtMost) {
  const Attribute others[] = {int64_t{1}, 1.5f,      std::string("a"), Tensor::scalar_float(1),
                              Ints{1},    Floats{1}, Strings{"a"}};
  for (const auto& [key, def] : OpRegistry::global().all()) {
    if (key.first + "." + key.second != GetParam()) continue;
    const Sample sample = def.samples().at(0);
    std::set<std::string> names;
    for (const AttributeSpec& spec : def.attributes) names.insert(spec.name);
    for (const auto& [name, attribute] : sample.attributes) names.insert(name);
    for (const std::string& name : names)
      for (const Attribute& other : others) {
        SCOPED_TRACE(name + " as " + std::string(attribute_kind_name(other)));
        OneNode one(def, sample, Operands::kStatic);
        one.node->attributes.set(name, other);
        run_all(def, one);
      }
  }
}

TEST_P(Samples, IntegerAttributesOutOfRangeAreErrorsAtMost) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [key, def] : OpRegistry::global().all()) {
    if (key.first + "." + key.second != GetParam()) continue;
    const Sample sample = def.samples().at(0);
    // What old opsets have beside those of the definition.
    std::set<std::string> names = {"axis", "broadcast"};
    for (const AttributeSpec& spec : def.attributes) names.insert(spec.name);
    for (const auto& [name, attribute] : sample.attributes) names.insert(name);
    for (const std::string& name : names)
      for (const int64_t value : {int64_t{-1}, int64_t{255}, int64_t{257}, kLeast, kMost})
        for (const int64_t opset : {25, 6}) {
          SCOPED_TRACE(name + " = " + std::to_string(value) + ", opset " + std::to_string(opset));
          OneNode one(def, sample, Operands::kStatic);
          if (opset == 6) one.node->attributes.set("broadcast", int64_t{1});
          one.node->attributes.set(name, value);
          run_all(def, one, opset, value == -1);
        }
  }
}

TEST_P(Samples, InputsOfOtherRanksAreErrorsAtMost) {
  for (const auto& [key, def] : OpRegistry::global().all()) {
    if (key.first + "." + key.second != GetParam() || !def.infer || !def.evaluate) continue;
    const Sample sample = def.samples().at(0);
    for (size_t i = 0; i < sample.inputs.size(); ++i)
      for (const Dims& dims :
           {Dims{}, Dims{1}, Dims{2}, Dims{1, 1}, Dims{2, 1, 3}, Dims{1, 2, 1, 2, 1}, Dims{0, 2}})
        for (const Operands operands : {Operands::kStatic, Operands::kSymbolic, Operands::kConstant}) {
          if (sample.inputs[i].kind != Datum::Kind::kTensor) continue;
          SCOPED_TRACE("input " + std::to_string(i) + " as " + testing::PrintToString(dims));
          Sample changed = sample;
          changed.inputs[i] = Tensor::zeros(sample.inputs[i].tensor.dtype(), dims);
          OneNode one(def, changed, operands);
          run_all(def, one);
        }
  }
}

std::vector<std::string> operators_with_samples() {
  std::vector<std::string> names;
  for (const auto& [key, def] : OpRegistry::global().all())
    if (def.samples) names.push_back(key.first + "." + key.second);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Operators, Samples, testing::ValuesIn(operators_with_samples()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace wootz
