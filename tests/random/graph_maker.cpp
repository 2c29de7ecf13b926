// SPDX-License-Identifier: Apache-2.0
#include "tests/random/graph_maker.h"

#include <cmath>
#include <new>
#include <set>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::random_graphs {
namespace {

constexpr int64_t kMaxElements = 4096;
constexpr double kLargest = 1e3;  // what overflows on the way differs between float32 and double

const std::vector<const char*>& pointwise_ops() {
  static const std::vector<const char*> ops = {
      "Relu", "Neg", "Abs",       "Sigmoid",  "Tanh", "Add",   "Mul",  "Sub",       "Max",
      "Min",  "Erf", "HardSwish", "Softplus", "Sqrt", "Where", "Clip", "LeakyRelu", "Exp"};
  return ops;
}

/// What a value holds in the one run that the maker knows.
struct Known {
  Value* value;
  Datum datum;
};

bool is_tame(const Datum& datum) {
  if (datum.kind != Datum::Kind::kTensor) return true;
  if (datum.tensor.size() > kMaxElements) return false;
  if (!is_float(datum.tensor.dtype()) || datum.tensor.dtype() == DType::kFloat8E8M0) return true;
  for (double x : datum.tensor.to_doubles())
    if (!(std::fabs(x) <= kLargest)) return false;
  return true;
}

class Maker {
 public:
  Maker(const MakerOptions& options, std::map<std::string, int64_t>& reached)
      : options_(options), reached_(reached), random_(options.seed * 0x9e3779b97f4a7c15ull + 1) {
    made_.graph = std::make_unique<Graph>();
    for (const auto& [key, def] : OpRegistry::global().all())
      if (def.samples && def.infer && def.evaluate && def.domain != "wootz" &&
          (!options.has_peer || (def.domain != "com.microsoft" && def.since <= 23)))
        ops_.push_back(&def);
  }

  MadeGraph make() {
    const int wanted = 1 + below(10);
    if (!options_.op.empty()) add_chosen();
    for (int tries = 0; made_nodes_ < wanted && tries < 10 * wanted; ++tries) {
      const int what = below(100);
      if (what < 40)
        add_pointwise();
      else if (what < 46)
        add_branch();
      else if (what < 50)
        add_loop();
      else if (options_.op.empty())
        add_sampled(*ops_[static_cast<size_t>(below(static_cast<int>(ops_.size())))]);
      else
        add_chosen();
    }
    finish();
    return std::move(made_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& any(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

  void add_chosen() {
    for (const OpDef* def : ops_)
      if (def->name == options_.op) return add_sampled(*def);
  }

  // Operands.

  Value* new_input(Datum datum) {
    const std::string name = "x" + std::to_string(made_.inputs.size());
    Value* value = made_.graph->add_input(name, type_of(datum));
    made_.inputs.push_back(datum);
    known_.push_back({value, std::move(datum)});
    return value;
  }

  static Type type_of(const Datum& datum) {
    switch (datum.kind) {
      case Datum::Kind::kSequence:
      case Datum::Kind::kOptional: {
        Type element =
            datum.elements.empty() ? Type::tensor(datum.element_dtype) : type_of(datum.elements[0]);
        if (datum.kind == Datum::Kind::kOptional) return Type::optional(element);
        if (element.is_tensor()) element.shape.reset();
        return Type::sequence(element);
      }
      case Datum::Kind::kMap: return Type::map(datum.tensor.dtype(), type_of(datum.elements.at(0)));
      default: break;
    }
    return Type::tensor(datum.tensor.dtype(), Shape(datum.tensor.dims().begin(), datum.tensor.dims().end()));
  }

  /// A value of the graph with these dims and this type, or null.
  Value* find_like(const Tensor& tensor) {
    std::vector<Value*> fitting;
    for (const Known& k : known_)
      if (k.datum.kind == Datum::Kind::kTensor && k.datum.tensor.dtype() == tensor.dtype() &&
          k.datum.tensor.dims() == tensor.dims())
        fitting.push_back(k.value);
    return fitting.empty() ? nullptr : any(fitting);
  }

  /// Any value with enough elements, cut and reshaped to these dims; null where there is none.
  Value* cut_like(const Tensor& tensor) {
    std::vector<const Known*> fitting;
    for (const Known& k : known_)
      if (k.datum.kind == Datum::Kind::kTensor && k.datum.tensor.dtype() == tensor.dtype() &&
          k.datum.tensor.size() >= tensor.size() && tensor.size() > 0)
        fitting.push_back(&k);
    if (fitting.empty()) return nullptr;
    Value* value = any(fitting)->value;
    value = add_node("", "Reshape", {value, constant(Tensor::int64s(Ints{-1}))}, {}, 1);
    if (value)
      value = add_node(
          "", "Slice",
          {value, constant(Tensor::int64s(Ints{0})), constant(Tensor::int64s(Ints{tensor.size()}))}, {}, 1);
    return value ? add_node("", "Reshape", {value, constant(Tensor::int64s(tensor.dims()))}, {}, 1) : nullptr;
  }

  Value* constant(Tensor tensor) {
    Value* value = made_.graph->add_constant("c" + std::to_string(names_++), tensor);
    constants_.emplace(value, Datum(std::move(tensor)));
    return value;
  }

  Value* operand(const Datum& datum, size_t index) {
    if (datum.kind == Datum::Kind::kNone) return nullptr;
    if (datum.kind != Datum::Kind::kTensor) return new_input(datum);
    const Tensor& tensor = datum.tensor;
    const bool is_data = is_float(tensor.dtype()) || tensor.dtype() == DType::kBool;
    if (is_data) {
      if (chance(60))
        if (Value* value = find_like(tensor)) return value;
      if (chance(40))
        if (Value* value = cut_like(tensor)) return value;
    }
    return index > 0 && chance(is_data ? 40 : 80) ? constant(tensor) : new_input(datum);
  }

  // Nodes.

  const Datum* datum_of(const Value* value) const {
    if (const auto it = constants_.find(value); it != constants_.end()) return &it->second;
    for (const Known& k : known_)
      if (k.value == value) return &k.datum;
    return nullptr;
  }

  /// The node's first output; null, and no trace, where inference or the reference refuses the node or its
  /// results are wild.
  Value* add_node(const std::string& domain, const std::string& op, std::vector<Value*> inputs,
                  Attributes attributes, int outputs) {
    std::vector<const Datum*> data;
    for (const Value* input : inputs) data.push_back(input ? datum_of(input) : nullptr);
    Node* node = made_.graph->add_node(domain, op, std::move(inputs));
    node->attributes = std::move(attributes);
    node->name = op + std::to_string(names_++);
    node->origins = {node->name};
    for (auto& [name, attribute] : node->attributes)
      if (auto* body = std::get_if<GraphPtr>(&attribute))
        *body = (*body)->clone(made_.graph->shared_symbols(), made_.graph.get());
    for (int i = 0; i < outputs; ++i) node->add_output("v" + std::to_string(names_++), Type{});
    try {
      infer_node(*node);
      const std::function<const Datum*(const Value*)> captured = [&](const Value* v) { return datum_of(v); };
      std::vector<Datum> results = evaluate_node(*node, data, &captured);
      for (const Datum& result : results)
        if (!is_tame(result)) throw Error(ErrorKind::kInvalidModel, "wild");
      Value* first = node->output(0);
      for (size_t i = 0; i < results.size(); ++i)
        if (node->output(i)) known_.push_back({node->output(i), std::move(results[i])});
      ++made_nodes_;
      ++reached_[(domain.empty() ? "" : domain + ".") + op];
      return first;
    } catch (const Error&) {
      made_.graph->erase(node);
      return nullptr;
    }
  }

  void add_pointwise() {
    std::vector<Value*> reals;
    for (const Known& k : known_)
      if (k.datum.kind == Datum::Kind::kTensor && k.datum.tensor.dtype() == DType::kFloat32)
        reals.push_back(k.value);
    Value* x = reals.empty() || chance(15) ? new_input(Datum(random_tensor(random_dims()))) : any(reals);
    const std::string op = any(pointwise_ops());
    const OpDef* def = OpRegistry::global().find("", op);
    std::vector<Value*> inputs{x};
    if (op == "Where") {
      Tensor mask = Tensor::zeros(DType::kBool, datum_of(x)->tensor.dims());
      for (int64_t i = 0; i < mask.size(); ++i) mask.as<bool>()[i] = chance(50);
      inputs = {chance(50) ? constant(mask) : new_input(Datum(mask)), x, second_operand(x, reals)};
    } else if (op == "Clip") {
      inputs = {x, constant(Tensor::scalar_float(-0.5f)), constant(Tensor::scalar_float(0.75f))};
    } else if (def->max_inputs != 1) {
      inputs.push_back(second_operand(x, reals));
      if (chance(50)) std::swap(inputs[0], inputs[1]);
    }
    add_node("", op, std::move(inputs), {}, 1);
  }

  /// x itself, another value, or a constant or input that broadcasts with x.
  Value* second_operand(Value* x, const std::vector<Value*>& reals) {
    if (chance(15)) return x;
    if (chance(35) && !reals.empty()) return any(reals);
    Dims dims = datum_of(x)->tensor.dims();
    for (int64_t& d : dims)
      if (chance(40)) d = 1;
    while (!dims.empty() && chance(20)) dims.erase(dims.begin());
    Tensor tensor = random_tensor(dims);
    return chance(50) ? constant(tensor) : new_input(Datum(tensor));
  }

  Dims random_dims() {
    static const std::vector<int64_t> kSizes = {0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17};
    Dims dims(static_cast<size_t>(below(5)));
    for (int64_t& d : dims) d = chance(4) ? 0 : any(kSizes);
    while (element_count(dims) > kMaxElements) dims.pop_back();
    return dims;
  }

  Tensor random_tensor(Dims dims, DType dtype = DType::kFloat32) {
    Tensor tensor = Tensor::zeros(dtype, std::move(dims));
    std::vector<double> values;
    for (int64_t i = 0; i < tensor.size(); ++i) values.push_back((below(4001) - 2000) / 1000.0);
    store_doubles(values, tensor);
    return tensor;
  }

  /// y = cond ? f(x) : g(x), with both branches reading x from outside.
  void add_branch() {
    Value* x = float_value();
    if (!x) return;
    Attributes attributes;
    for (const char* name : {"then_branch", "else_branch"}) {
      auto body = std::make_shared<Graph>(made_.graph->shared_symbols(), made_.graph.get());
      Value* value = x;
      for (int i = 0, n = 1 + below(3); i < n; ++i) value = add_body_node(*body, value, x);
      body->add_output(value);
      attributes.set(name, GraphPtr(std::move(body)));
    }
    Tensor cond = Tensor::zeros(DType::kBool, {});
    *cond.as<bool>() = chance(50);
    add_node("", "If", {chance(30) ? constant(cond) : new_input(Datum(cond))}, std::move(attributes), 1);
  }

  /// A few rounds of s = f(s, x), and each round's s stacked.
  void add_loop() {
    Value* x = float_value();
    if (!x) return;
    auto body = std::make_shared<Graph>(made_.graph->shared_symbols(), made_.graph.get());
    body->add_input("i" + std::to_string(names_++), Type::tensor(DType::kInt64, Shape{}));
    Value* go = body->add_input("go" + std::to_string(names_++), Type::tensor(DType::kBool, Shape{}));
    Value* state = body->add_input("s" + std::to_string(names_++), x->type);
    Node* keep = body->add_node("Identity", {go});
    body->add_output(keep->add_output("g" + std::to_string(names_++), Type{}));
    Value* next = add_body_node(*body, state, x);
    body->add_output(next);
    Node* copy = body->add_node("Identity", {next});
    body->add_output(copy->add_output("t" + std::to_string(names_++), Type{}));
    Attributes attributes;
    attributes.set("body", GraphPtr(std::move(body)));
    Value* count = constant(Tensor::scalar_int64(below(4)));
    add_node("", "Loop", {count, nullptr, x}, std::move(attributes), 2);
  }

  Value* add_body_node(Graph& body, Value* value, Value* other) {
    static const std::vector<const char*> kUnary = {"Tanh", "Relu", "Neg", "Sigmoid"},
                                          kBinary = {"Add", "Sub", "Max"};
    Node* node =
        chance(50) ? body.add_node(any(kUnary), {value}) : body.add_node(any(kBinary), {value, other});
    return node->add_output("b" + std::to_string(names_++), Type{});
  }

  Value* float_value() {
    std::vector<Value*> reals;
    for (const Known& k : known_)
      if (k.datum.kind == Datum::Kind::kTensor && k.datum.tensor.dtype() == DType::kFloat32)
        reals.push_back(k.value);
    return reals.empty() ? new_input(Datum(random_tensor(random_dims()))) : any(reals);
  }

  // An operator's sample, changed.

  void add_sampled(const OpDef& def) {
    std::vector<Sample> samples = def.samples();
    if (samples.empty()) return;
    for (int tries = 0; tries < 4; ++tries) {
      Sample sample = any(samples);
      if (tries < 3) {
        if (chance(50)) change_dims(sample);
        if (chance(30)) change_dtype(sample);
        if (chance(25)) change_attribute(sample);
        change_values(sample);
      }
      if (!reference_takes(def, sample)) continue;
      const size_t before = made_.graph->node_count();
      std::vector<Value*> inputs;
      for (size_t i = 0; i < sample.inputs.size(); ++i) inputs.push_back(operand(sample.inputs[i], i));
      if (add_node(def.domain, def.name, std::move(inputs), sample.attributes, sample.output_count)) return;
      if (made_.graph->node_count() > before + 20) return;
    }
  }

  bool reference_takes(const OpDef& def, const Sample& sample) {
    Graph graph;
    std::vector<Value*> values;
    std::vector<const Datum*> data;
    int64_t elements = 0;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Datum& datum = sample.inputs[i];
      const bool none = datum.kind == Datum::Kind::kNone;
      values.push_back(none ? nullptr : graph.add_input("x" + std::to_string(i), type_of(datum)));
      data.push_back(none ? nullptr : &datum);
      if (datum.kind == Datum::Kind::kTensor) elements += datum.tensor.size();
    }
    if (elements > 4 * kMaxElements) return false;
    Node* node = graph.add_node(def.domain, def.name, values);
    node->attributes = sample.attributes;
    for (auto& [name, attribute] : node->attributes)
      if (auto* body = std::get_if<GraphPtr>(&attribute))
        *body = (*body)->clone(graph.shared_symbols(), &graph);
    for (int i = 0; i < sample.output_count; ++i) node->add_output("y" + std::to_string(i), Type{});
    try {
      infer_node(*node);
      for (const Value* output : node->outputs())
        if (output->type.has_static_shape()) {
          double size = 1;
          for (const Dim& d : *output->type.shape) size *= static_cast<double>(d.value());
          if (size > kMaxElements) return false;
        }
      evaluate_node(*node, data);
      return true;
    } catch (const Error&) {
      return false;
    } catch (const std::bad_alloc&) {  // sizes that are data may be any number
      return false;
    }
  }

  /// One length becomes another everywhere, or in one place.
  void change_dims(Sample& sample) {
    static const std::vector<int64_t> kSizes = {0, 1, 1, 2, 3, 4, 5, 6, 8, 9, 16, 17, 33};
    std::vector<int64_t> lengths;
    for (const Datum& d : sample.inputs)
      if (d.kind == Datum::Kind::kTensor)
        lengths.insert(lengths.end(), d.tensor.dims().begin(), d.tensor.dims().end());
    if (lengths.empty()) return;
    const int64_t from = any(lengths), to = any(kSizes);
    const bool everywhere = chance(70);
    for (Datum& d : sample.inputs) {
      if (d.kind != Datum::Kind::kTensor) continue;
      Dims dims = d.tensor.dims();
      for (int64_t& length : dims)
        if (length == from && (everywhere || chance(50))) length = to;
      if (dims != d.tensor.dims() && element_count(dims) <= kMaxElements) d = Datum(repeated(d.tensor, dims));
    }
  }

  /// The elements of a tensor, again and again, in other dims.
  static Tensor repeated(const Tensor& from, const Dims& dims) {
    Tensor to = Tensor::zeros(from.dtype(), dims);
    if (from.size() == 0) return to;
    visit_storage(from.dtype(), [&](auto kind) {
      using T = decltype(kind);
      for (int64_t i = 0; i < to.size(); ++i) to.as<T>()[i] = from.as<T>()[i % from.size()];
    });
    return to;
  }

  void change_dtype(Sample& sample) {
    static const std::vector<DType> kTypes = {
        DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,     DType::kInt64,
        DType::kInt32,   DType::kInt16,   DType::kInt8,    DType::kUint8,        DType::kUint16,
        DType::kUint32,  DType::kUint64,  DType::kBool,    DType::kFloat8E4M3FN, DType::kInt4};
    if (sample.inputs.empty() || sample.inputs[0].kind != Datum::Kind::kTensor) return;
    const DType from = sample.inputs[0].tensor.dtype(), to = any(kTypes);
    if (from == DType::kString || from == DType::kComplex64 || from == DType::kComplex128) return;
    for (Datum& d : sample.inputs) {
      if (d.kind != Datum::Kind::kTensor || d.tensor.dtype() != from) continue;
      Tensor tensor = Tensor::zeros(to, d.tensor.dims());
      store_doubles(d.tensor.to_doubles(), tensor);
      d = Datum(std::move(tensor));
    }
  }

  /// 0 or 1 by the specification; other numbers mean nothing.
  static bool is_flag(std::string_view name) {
    static const std::set<std::string_view> kFlags = {"align_corners",
                                                      "antialias",
                                                      "ceil_mode",
                                                      "count_include_pad",
                                                      "do_rotary",
                                                      "exclude_outside",
                                                      "exclusive",
                                                      "fmod",
                                                      "input_forget",
                                                      "interleaved",
                                                      "inverse",
                                                      "is_causal",
                                                      "keepdims",
                                                      "largest",
                                                      "linear_before_reset",
                                                      "noop_with_empty_axes",
                                                      "onesided",
                                                      "reverse",
                                                      "saturate",
                                                      "select_last_index",
                                                      "sorted",
                                                      "storage_order",
                                                      "training_mode",
                                                      "transA",
                                                      "transB",
                                                      "upper",
                                                      "allowzero"};
    return kFlags.contains(name);
  }

  void change_attribute(Sample& sample) {
    if (sample.attributes.size() == 0) return;
    auto it = sample.attributes.begin();
    std::advance(it, below(static_cast<int>(sample.attributes.size())));
    if (auto* number = std::get_if<int64_t>(&it->second))
      *number = is_flag(it->first) ? below(2) : below(6) - 2;
    else if (auto* list = std::get_if<Ints>(&it->second); list && !list->empty())
      (*list)[static_cast<size_t>(below(static_cast<int>(list->size())))] = below(6) - 2;
    else if (auto* real = std::get_if<float>(&it->second))
      *real = static_cast<float>(below(41) - 20) / 10.0f;
  }

  /// Other numbers, now and then a special one.
  void change_values(Sample& sample) {
    for (Datum& d : sample.inputs) {
      if (d.kind != Datum::Kind::kTensor) continue;
      const DType t = d.tensor.dtype();
      if ((t != DType::kFloat32 && t != DType::kFloat64 && t != DType::kFloat16) || d.tensor.size() == 0 ||
          chance(40))
        continue;
      std::vector<double> values = d.tensor.to_doubles();
      for (double& v : values) v = v * (0.5 + below(1000) / 1000.0);
      if (chance(20))
        values[static_cast<size_t>(below(static_cast<int>(values.size())))] = chance(50) ? 0 : -0.0;
      Tensor changed = Tensor::zeros(t, d.tensor.dims());
      store_doubles(values, changed);
      d = Datum(std::move(changed));
    }
  }

  /// Outputs: whatever nobody reads, and some of the rest.
  void finish() {
    Graph& graph = *made_.graph;
    for (const auto& node : graph.nodes())
      for (Value* output : node->outputs())
        if (output && output->type.kind != Type::Kind::kUnknown && (output->uses().empty() || chance(10)))
          graph.add_output(output);
    if (graph.outputs().empty() && !graph.inputs().empty()) {
      Node* copy = graph.add_node("Identity", {graph.inputs()[0]});
      copy->origins = {"copy"};
      graph.add_output(copy->add_output("copy", Type{}));
      infer_node(*copy);
    }
    graph.erase_unused_values();
  }

  const MakerOptions& options_;
  std::map<std::string, int64_t>& reached_;
  std::mt19937_64 random_;
  std::vector<const OpDef*> ops_;
  MadeGraph made_;
  std::vector<Known> known_;
  std::map<const Value*, Datum> constants_;
  int names_ = 0, made_nodes_ = 0;
};

void forget_types(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (Value* output : node->outputs())
      if (output) {
        output->contents.reset();
        output->type = Type{};
      }
    for (Graph* body : node->subgraphs()) forget_types(*body);
  }
}

}  // namespace

MadeGraph make_graph(const MakerOptions& options, std::map<std::string, int64_t>& reached) {
  return Maker(options, reached).make();
}

std::unique_ptr<Graph> with_symbolic_dims(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  std::map<const Value*, Value*> twins;
  for (const Value* input : graph.inputs()) {
    Type type = input->type;
    if (type.has_rank())
      for (size_t k = 0; k < type.shape->size(); ++k)
        // A symbol that is 0 where another is 1 broadcasts to neither's maximum.
        if (!(*type.shape)[k].is(0))
          (*type.shape)[k] = copy->symbols().input(input->name + "_" + std::to_string(k));
    twins[input] = copy->add_input(input->name, std::move(type));
  }
  const auto twin = [&](Value* value) -> Value* {
    if (!value) return nullptr;
    if (const auto it = twins.find(value); it != twins.end()) return it->second;
    if (value->constant) return twins[value] = copy->add_constant(value->name, *value->constant);
    return twins[value] = copy->add_value(value->name, Type{});
  };
  for (const auto& node : graph.nodes()) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(twin(input));
    Node* made = copy->add_node(node->domain, node->op, std::move(inputs));
    made->name = node->name;
    made->origins = node->origins;
    made->attributes = node->attributes;
    for (auto& [name, attribute] : made->attributes)
      if (auto* body = std::get_if<GraphPtr>(&attribute))
        *body = (*body)->clone(copy->shared_symbols(), copy.get(), twin);
    for (size_t i = 0; i < node->outputs().size(); ++i)
      if (node->output(i)) made->adopt_output(i, twin(node->output(i)));
    for (Graph* body : made->subgraphs()) forget_types(*body);
  }
  for (Value* output : graph.outputs()) copy->add_output(twin(output));
  infer_graph(*copy);
  return copy;
}

}  // namespace wootz::random_graphs
