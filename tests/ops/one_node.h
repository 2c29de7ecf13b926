// SPDX-License-Identifier: Apache-2.0
// The samples of the whole registry, each as a graph of one node.
#pragma once
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {

inline std::string full_name(const OpDef& def) {
  return (def.domain.empty() ? "" : def.domain + ".") + def.name;
}

inline Type type_of(const Datum& datum) {
  if (datum.kind == Datum::Kind::kSequence || datum.kind == Datum::Kind::kOptional) {
    Type element = datum.elements.empty() ? Type::tensor(datum.element_dtype) : type_of(datum.elements[0]);
    if (element.shape && datum.elements.size() != 1) element.shape.reset();
    return datum.kind == Datum::Kind::kSequence ? Type::sequence(element) : Type::optional(element);
  }
  if (datum.kind == Datum::Kind::kMap) return Type::map(datum.tensor.dtype(), type_of(datum.elements.at(0)));
  Shape shape(datum.tensor.dims().begin(), datum.tensor.dims().end());
  return Type::tensor(datum.tensor.dtype(), shape);
}

/// A graph of one node. Inputs listed in `constants` are constants, the others graph inputs.
struct OneNode {
  Graph graph;
  Node* node = nullptr;
  std::vector<Datum> inputs;  // of the graph

  OneNode(const OpDef& def, const Sample& sample, bool small_constants) {
    std::vector<Value*> values;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Datum& datum = sample.inputs[i];
      const std::string name = "in" + std::to_string(i);
      const bool integers = datum.kind == Datum::Kind::kTensor &&
                            (is_integer(datum.tensor.dtype()) || datum.tensor.dtype() == DType::kBool);
      if (datum.kind == Datum::Kind::kNone) {
        values.push_back(nullptr);
      } else if (small_constants && i > 0 && datum.kind == Datum::Kind::kTensor && datum.tensor.rank() <= 1 &&
                 (integers || datum.tensor.size() <= 4)) {
        values.push_back(graph.add_constant(name, datum.tensor));
      } else {
        values.push_back(graph.add_input(name, type_of(datum)));
        inputs.push_back(datum);
      }
    }
    node = graph.add_node(def.domain, def.name, values);
    node->attributes = sample.attributes;
    for (auto& [name, attribute] : node->attributes)
      if (auto* body = std::get_if<GraphPtr>(&attribute))
        *body = (*body)->clone(graph.shared_symbols(), &graph);
    for (int i = 0; i < sample.output_count; ++i)
      graph.add_output(node->add_output("out" + std::to_string(i), Type()));
  }
};

template <class F>
void for_each_sample(F&& f) {
  for (const auto& [key, def] : OpRegistry::global().all()) {
    if (!def.samples) continue;
    for (const Sample& sample : def.samples()) {
      SCOPED_TRACE(full_name(def) + ": " + sample.label);
      try {
        f(def, sample);
      } catch (const Error& error) {
        ADD_FAILURE() << error_kind_name(error.kind()) << ": " << error.message();
      }
    }
  }
}

}  // namespace wootz
