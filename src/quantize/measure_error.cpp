// SPDX-License-Identifier: Apache-2.0
#include "quantize/measure_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/allowed_cpus.h"
#include "base/error.h"
#include "compiler/baseline.h"
#include "compiler/quick_products.h"
#include "compiler/similarity.h"
#include "ops/evaluate.h"

namespace wootz {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Sums over samples of one output.
struct Sums {
  double max_abs = 0, largest = 0, signal = 0, noise = 0, product = 0, power = 0;
  int64_t rows = 0, same = 0;

  void add(const Tensor& want, const Tensor& got) {
    const std::vector<double> e = want.to_doubles(), f = got.to_doubles();
    for (size_t i = 0; i < e.size(); ++i) {
      max_abs = std::max(max_abs, std::fabs(e[i] - f[i]));
      largest = std::max(largest, std::fabs(e[i]));
      signal += e[i] * e[i];
      power += f[i] * f[i];
      product += e[i] * f[i];
      noise += (e[i] - f[i]) * (e[i] - f[i]);
    }
    const int64_t classes = want.rank() == 2 ? want.dims().back() : 0;
    if (classes < 2) return;
    for (auto a = e.begin(), b = f.begin(); a != e.end(); a += classes, b += classes, ++rows)
      same += std::max_element(a, a + classes) - a == std::max_element(b, b + classes) - b;
  }

  QuantizedOutput result(const std::string& name) const {
    return {name,
            max_abs,
            largest > 0 ? max_abs / largest : 0,
            noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity(),
            noise > 0 ? product / std::sqrt(signal * power) : 1,
            rows > 0 ? double(same) / double(rows) : kNaN};
  }
};

/// The errors of one sample's inner values.
class NodeErrors {
 public:
  NodeErrors(const Graph& quantized, ThreadPool& pool) : pool_(pool) {
    for (const auto& node : quantized.nodes()) {
      const Node* dq = node->input(0) ? node->input(0)->producer() : nullptr;
      const Node* q = dq && dq->is("DequantizeLinear") && dq->input(0) ? dq->input(0)->producer() : nullptr;
      if (!q || !q->is("QuantizeLinear") || !node->input(1) || !node->output(0)) continue;
      if (node->is("Conv") || node->is("MatMul") || node->is("Gemm")) {
        Site s{node.get(), q, dq, {}};
        for (size_t i = 1; i < node->inputs().size(); ++i) s.constants.push_back(rounded(node->input(i)));
        sites_[node->output(0)->name] = std::move(s);
        wanted_.insert(q->input(0)->name);
      }
    }
  }

  /// Of the float32 graph, in its order.
  void see_float(const std::string& name, const Datum& d) {
    if (wanted_.contains(name)) inputs_[name] = d;
    const auto it = sites_.find(name);
    if (it == sites_.end()) return;
    Site& s = it->second;
    const auto x = inputs_.find(s.quantize->input(0)->name);
    if (x == inputs_.end()) return;
    const Datum rounded_x =
        run(*s.dequantize,
            {run(*s.quantize, {x->second, rounded(s.quantize->input(1)), rounded(s.quantize->input(2))}),
             rounded(s.dequantize->input(1)), rounded(s.dequantize->input(2))});
    std::vector<Datum> operands{rounded_x};
    operands.insert(operands.end(), s.constants.begin(), s.constants.end());
    s.own = similarity_of(d, run(*s.node, operands)).sqnr_db;
    s.plain = d;
  }

  void see_quantized(const std::string& name, const Datum& d) {
    const auto it = sites_.find(name);
    if (it != sites_.end() && it->second.plain.kind == Datum::Kind::kTensor)
      it->second.whole = similarity_of(it->second.plain, d).sqnr_db;
  }

  void fill(std::vector<QuantizedNode>& nodes) const {
    for (QuantizedNode& n : nodes)
      for (const auto& [name, s] : sites_) {
        const std::string label = quantized_label(*s.node);
        if (n.quantized && n.name == label) n.own_sqnr_db = s.own, n.sqnr_db = s.whole;
      }
  }

 private:
  struct Site {
    const Node *node, *quantize, *dequantize;
    std::vector<Datum> constants;
    Datum plain = {};
    double own = kNaN, whole = kNaN;
  };

  Datum run(const Node& node, const std::vector<Datum>& operands) {
    std::vector<const Datum*> in;
    for (const Datum& d : operands) in.push_back(&d);
    std::vector<Datum> out(1);
    if (quick_product(node, in, out, pool_)) return out[0];
    return evaluate_node(node, in)[0];
  }

  /// A constant, or one behind a DequantizeLinear.
  Datum rounded(const Value* v) {
    if (!v) return {};
    if (v->is_constant()) return Datum(*v->constant);
    const Node& dq = *v->producer();
    std::vector<Datum> operands;
    for (const Value* input : dq.inputs()) operands.push_back(input ? Datum(*input->constant) : Datum());
    return run(dq, operands);
  }

  ThreadPool& pool_;
  std::map<std::string, Site> sites_;  // by the node's output
  std::set<std::string> wanted_;
  std::map<std::string, Datum> inputs_;
};

std::shared_ptr<const Graph> copy_of(const Graph& graph) {
  return graph.clone(std::make_shared<SymbolTable>(graph.symbols()), nullptr);
}

}  // namespace

std::vector<QuantizedOutput> measure_error(const ComparedGraphs& graphs, const CheckedSamples& samples,
                                           size_t most, int threads, std::vector<QuantizedNode>& nodes,
                                           const std::function<void(size_t)>& report) {
  const int count = threads > 0 ? threads : allowed_cpus();
  const auto pool = ThreadPool::shared(count);
  const Baseline plain(copy_of(graphs.model), count), rounded(copy_of(graphs.quantized), count);
  NodeErrors errors(graphs.quantized, *pool);
  const auto see_quantized = [&](const Value* v, const Datum& d) { errors.see_quantized(v->name, d); };
  std::map<std::string, Sums> sums;
  std::vector<Datum> inputs;
  for (size_t i = 0; i < most && samples.get(i, inputs); ++i) {
    if (i == 0 && graphs.prepared) {
      for (size_t k = 0; k < inputs.size(); ++k) errors.see_float(graphs.model.inputs()[k]->name, inputs[k]);
      Baseline(copy_of(*graphs.prepared), count).run(inputs, [&](const Value* v, const Datum& d) {
        errors.see_float(v->name, d);
      });
    }
    const std::vector<Datum> want = plain.run(inputs),
                             got = i == 0 ? rounded.run(inputs, see_quantized) : rounded.run(inputs);
    for (size_t k = 0; k < want.size(); ++k)
      if (want[k].kind == Datum::Kind::kTensor && is_float(want[k].tensor.dtype()) &&
          want[k].tensor.dims() == got[k].tensor.dims())
        sums[graphs.model.outputs()[k]->name].add(want[k].tensor, got[k].tensor);
    report(i);
  }
  errors.fill(nodes);
  std::vector<QuantizedOutput> outputs;
  for (const auto& [name, s] : sums) outputs.push_back(s.result(name));
  return outputs;
}

}  // namespace wootz
