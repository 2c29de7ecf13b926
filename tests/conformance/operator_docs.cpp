// SPDX-License-Identifier: Apache-2.0
// wootz_operator_docs > docs/operators.md: what every operator is and who computes it fast, from the operator
// files. Types and kernels are found out with the operators' own samples: those that the reference, and a
// kernel of the CPU or the CUDA backend, take with the element type of their first input changed.
#include <cstdio>
#include <map>
#include <set>

#include "device/device_backend.h"
#include "device/region.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "tuning/race.h"
#include "tuning/region_check.h"

namespace wootz {
namespace {

struct Found {
  std::set<DType> reference, cpu, cuda;
  double bound = 0;
};

Type type_of(const Datum& datum) {
  if (datum.kind == Datum::Kind::kTensor)
    return Type::tensor(datum.tensor.dtype(), Shape(datum.tensor.dims().begin(), datum.tensor.dims().end()));
  if (datum.kind == Datum::Kind::kMap) return Type::map(datum.tensor.dtype(), type_of(datum.elements.at(0)));
  const Type element = datum.elements.empty() ? Type::tensor(datum.element_dtype)
                                              : Type::tensor(type_of(datum.elements[0]).dtype);
  return datum.kind == Datum::Kind::kSequence ? Type::sequence(element) : Type::optional(element);
}

/// The sample with another element type for its first input and those like it.
std::optional<Sample> retyped(const Sample& sample, DType to) {
  Sample changed = sample;
  if (sample.inputs.empty() || sample.inputs[0].kind != Datum::Kind::kTensor) return std::nullopt;
  const DType from = sample.inputs[0].tensor.dtype();
  if (from == to) return changed;
  const auto is_number = [](DType t) {
    return t != DType::kString && t != DType::kComplex64 && t != DType::kComplex128;
  };
  if (!is_number(from) || !is_number(to)) return std::nullopt;
  for (Datum& d : changed.inputs) {
    if (d.kind != Datum::Kind::kTensor || d.tensor.dtype() != from) continue;
    Tensor tensor = Tensor::zeros(to, d.tensor.dims());
    store_doubles(d.tensor.to_doubles(), tensor);
    d = Datum(std::move(tensor));
  }
  return changed;
}

TensorDesc desc_from(const Tensor& tensor, bool constant) {
  TensorDesc desc{tensor.dtype(), tensor.dims(), contiguous_strides(tensor.dims()), nullptr};
  if (constant) desc.constant = std::make_shared<const Tensor>(tensor);
  return desc;
}

/// The sample as a graph of one region, on operands that are constants from the second one on or not at all.
class OneRegion {
 public:
  OneRegion(const OpDef& def, const Sample& sample, const std::vector<Datum>& outputs, bool constants)
      : body_(std::make_shared<Graph>(graph_.shared_symbols(), &graph_)) {
    std::vector<Value*> outer, inner;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Datum& datum = sample.inputs[i];
      if (datum.kind == Datum::Kind::kNone) {
        inner.push_back(nullptr);
        continue;
      }
      outer.push_back(graph_.add_input("x" + std::to_string(i), type_of(datum)));
      inner.push_back(body_->add_input("b" + std::to_string(i), type_of(datum)));
      problem.inputs.push_back(desc_from(datum.tensor, constants && i > 0));
    }
    Node* node = body_->add_node(def.domain, def.name, inner);
    node->attributes = sample.attributes;
    for (size_t i = 0; i < outputs.size(); ++i) {
      body_->add_output(node->add_output("y" + std::to_string(i), type_of(outputs[i])));
      problem.outputs.push_back(desc_from(outputs[i].tensor, false));
    }
    Node* region = graph_.add_node(kRegionDomain, kRegionOp, outer);
    region->attributes.set("body", GraphPtr(body_));
    for (size_t i = 0; i < outputs.size(); ++i)
      region->add_output("r" + std::to_string(i), type_of(outputs[i]));
    problem.region = region;
  }
  Problem problem;

 private:
  Graph graph_;
  GraphPtr body_;
};

bool all_tensors(std::span<const Datum> data) {
  for (const Datum& d : data)
    if (d.kind != Datum::Kind::kTensor && d.kind != Datum::Kind::kNone) return false;
  return true;
}

std::vector<Datum> outputs_of(const OpDef& def, const Sample& sample) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<const Datum*> data;
  for (const Datum& d : sample.inputs) {
    const bool none = d.kind == Datum::Kind::kNone;
    values.push_back(none ? nullptr : graph.add_input(graph.unique_name("x"), type_of(d)));
    data.push_back(none ? nullptr : &d);
  }
  Node* node = graph.add_node(def.domain, def.name, values);
  node->attributes = sample.attributes;
  for (auto& [name, attribute] : node->attributes)
    if (auto* body = std::get_if<GraphPtr>(&attribute))
      *body = (*body)->clone(graph.shared_symbols(), &graph);
  for (int i = 0; i < sample.output_count; ++i) node->add_output("y" + std::to_string(i), Type{});
  infer_node(*node);
  return evaluate_node(*node, data);
}

/// Our own kernels for a problem, by a backend's tactics.
std::vector<const Tactic*> kernels_of(const char* device, const Problem& problem) {
  std::vector<const Tactic*> kernels;
  for (const Tactic* tactic : find_backend(BackendRegistry::global(), device)->tactics())
    if (!tactic->id().starts_with("reference.") && !is_vendor_tactic(tactic->id()) &&
        !tactic->refusal(problem))
      kernels.push_back(tactic);
  return kernels;
}

void try_kernels(const OpDef& def, const Sample& sample, const std::vector<Datum>& outputs, DType dtype,
                 Found& found) {
  if (!all_tensors(sample.inputs) || !all_tensors(outputs)) return;
  for (const auto& attribute : sample.attributes)
    if (std::holds_alternative<GraphPtr>(attribute.second)) return;
  for (const bool constants : {false, true}) {
    const OneRegion one(def, sample, outputs, constants);
    for (const Tactic* tactic : kernels_of("cpu", one.problem)) {
      found.cpu.insert(dtype);
      if (dtype == DType::kFloat32) found.bound = std::max(found.bound, error_bound(one.problem, *tactic));
    }
    if (!kernels_of("cuda:sm_90a", one.problem).empty()) found.cuda.insert(dtype);
  }
}

Found find_out(const OpDef& def) {
  Found found;
  for (const Sample& sample : def.samples())
    for (int t = 1; t < kDTypeCount; ++t) {
      const auto dtype = static_cast<DType>(t);
      const auto changed = retyped(sample, dtype);
      if (!changed) continue;
      try {
        const std::vector<Datum> outputs = outputs_of(def, *changed);
        found.reference.insert(dtype);
        try_kernels(def, *changed, outputs, dtype, found);
      } catch (const Error&) {
        // This element type is not one of the operator's.
      }
    }
  return found;
}

std::string names(const std::set<DType>& dtypes) {
  static const std::pair<const char*, std::set<DType>> kGroups[] = {
      {"integers",
       {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16,
        DType::kUint32, DType::kUint64}},
      {"floats", {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}},
      {"float8",
       {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ,
        DType::kFloat8E8M0, DType::kFloat6E2M3, DType::kFloat6E3M2, DType::kFloat4E2M1}},
      {"4-bit", {DType::kInt4, DType::kUint4, DType::kInt2, DType::kUint2}}};
  std::set<DType> left = dtypes;
  std::string text;
  const auto add = [&](std::string_view name) { text += (text.empty() ? "" : ", ") + std::string(name); };
  for (const auto& [name, group] : kGroups) {
    if (!std::includes(left.begin(), left.end(), group.begin(), group.end())) continue;
    add(name);
    for (DType t : group) left.erase(t);
  }
  for (DType t : left) add(dtype_name(t));
  return text;
}

/// What its sums are taken in: nothing where it has none.
const char* accumulation(const OpDef& def, const Found& found) {
  if (def.fusion == FusionKind::kPointwise || def.fusion == FusionKind::kMovement) return "";
  const bool has_floats = found.reference.contains(DType::kFloat32);
  if (!has_floats) return found.reference.empty() ? "" : "exact";
  return found.cpu.empty() && found.cuda.empty() ? "float64" : "float64; kernels float32";
}

void print_row(const OpDef& def) {
  if (!def.evaluate) {
    std::printf("| %s | %d | becomes standard nodes on import | | | | | %s |\n", def.name.c_str(), def.since,
                def.doc.c_str());
    return;
  }
  const Found found = def.samples ? find_out(def) : Found{};
  std::string bound = "";
  if (found.cpu.contains(DType::kFloat32)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0e", found.bound);
    bound = text;
  }
  std::string doc = def.doc;
  for (size_t at = 0; (at = doc.find('|', at)) != std::string::npos; at += 2) doc.insert(at, "\\");
  std::printf("| %s | %d | %s | %s | %s | %s | %s | %s |\n", def.name.c_str(), def.since,
              names(found.reference).c_str(), names(found.cpu).c_str(), names(found.cuda).c_str(),
              accumulation(def, found), bound.c_str(), doc.c_str());
}

}  // namespace

void print_operator_docs() {
  std::printf(
      "# Operators\n\n"
      "Generated by `wootz_operator_docs > docs/operators.md` from the operator files; do not edit.\n\n"
      "*Since* is the first opset of the operator; every older spelling from opset 1 on is brought into the "
      "newest\n"
      "semantics on import. *Types* are the element types of the first input that the reference takes. "
      "*CPU* and *CUDA*\n"
      "are the types for which that backend has a kernel, found on small samples (CUDA: for sm_90a); other "
      "steps "
      "run by the\n"
      "reference, and `wootz check` names them. *Sums* says what is accumulated in: references in float64 "
      "(integers exactly)\n"
      "with one rounding at the end, kernels in float32 (float64 for float64, int32 for 8-bit integers). "
      "*Bound* is the\n"
      "error, relative to the output's largest magnitude, that a float32 kernel of the CPU is held to on "
      "these "
      "samples before\n"
      "it may run.\n");
  std::string domain = "-";
  for (const auto& [key, def] : OpRegistry::global().all()) {
    if (key.first == "wootz") continue;
    if (key.first != domain) {
      domain = key.first;
      std::printf(
          "\n## %s\n\n| operator | since | types | CPU | CUDA | sums | bound | meaning |\n| --- | --- | --- "
          "| --- | "
          "--- | --- | --- | --- |\n",
          domain.empty() ? "ai.onnx" : domain.c_str());
    }
    print_row(def);
  }
}

}  // namespace wootz

int main() {
  wootz::print_operator_docs();
  return 0;
}
