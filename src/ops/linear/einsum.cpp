// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/einsum.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"
#include "ops/registry.h"
#include "ops/sample_data.h"
#include "ops/strided_copy.h"

namespace wootz::op_einsum {
namespace {

struct EinsumAttributes {
  std::string equation;
  template <class V>
  void reflect(V& v) {
    v("equation", equation);
  }
};

/// Letters by their codes; the dims of an ellipsis are labels from kEllipsis on, counted from the last one.
constexpr int kEllipsis = 1000;
using Labels = std::vector<int>;
struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

/// Labels of one term; an ellipsis stands for `dots` dims.
Labels parse_term(std::string_view term, int64_t dots) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      if (term.substr(i, 3) != "...")
        throw Error(ErrorKind::kInvalidModel, "equation: expected '...', found '" + std::string(term) + "'");
      for (int64_t d = dots; d-- > 0;) labels.push_back(kEllipsis + static_cast<int>(d));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else {
      throw Error(ErrorKind::kInvalidModel,
                  "equation: expected letters, ',', '->' and '...', found '" + std::string(1, term[i]) + "'");
    }
  }
  return labels;
}

Equation parse(const std::string& text, const std::vector<int64_t>& ranks) {
  std::string s;
  for (char ch : text)
    if (ch != ' ') s += ch;
  const size_t arrow = s.find("->");
  const std::string left = s.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char ch : left)
    if (ch == ',')
      terms.emplace_back();
    else
      terms.back() += ch;
  if (terms.size() != ranks.size())
    throw Error(ErrorKind::kInvalidModel, "equation '" + text + "': expected " +
                                              std::to_string(ranks.size()) + " operands, found " +
                                              std::to_string(terms.size()));
  Equation e;
  int64_t most_dots = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_dots = terms[i].find('.') != std::string::npos;
    const int64_t letters = static_cast<int64_t>(terms[i].size()) - (has_dots ? 3 : 0),
                  dots = has_dots ? ranks[i] - letters : 0;
    if (dots < 0 || (!has_dots && letters != ranks[i]))
      throw Error(ErrorKind::kInvalidModel, "equation '" + text + "': term '" + terms[i] +
                                                "' does not fit an operand of rank " +
                                                std::to_string(ranks[i]));
    most_dots = std::max(most_dots, dots);
    e.operands.push_back(parse_term(terms[i], dots));
  }
  if (arrow != std::string::npos) {
    e.output = parse_term(std::string_view(s).substr(arrow + 2), most_dots);
    return e;
  }
  // Implicit form: the ellipsis, then the letters that occur once, in alphabetical order.
  std::map<int, int> count;
  for (const Labels& labels : e.operands)
    for (int l : labels) ++count[l];
  for (int64_t d = most_dots; d-- > 0;) e.output.push_back(kEllipsis + static_cast<int>(d));
  for (const auto& [label, n] : count)
    if (label < kEllipsis && n == 1) e.output.push_back(label);
  return e;
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<EinsumAttributes>();
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has_rank(i)) return c.set_output(0, c.dtype(0));
    ranks.push_back(c.rank(i));
    c.check_same_dtype(0, i);
  }
  const Equation e = parse(a.equation, ranks);
  std::map<int, Dim> dims;
  for (size_t i = 0; i < e.operands.size(); ++i)
    for (size_t d = 0; d < e.operands[i].size(); ++d) {
      const Dim dim = c.shape(i)[d];
      auto [it, is_new] = dims.emplace(e.operands[i][d], dim);
      if (is_new) continue;
      // Ellipsis dims broadcast; letters do too where one of them is 1, as in NumPy.
      it->second = c.broadcast({it->second}, {dim})[0];
    }
  Shape out;
  for (int l : e.output) {
    c.check(dims.contains(l), "equation '" + a.equation + "': the output has a label that no operand has");
    out.push_back(dims[l]);
  }
  c.set_output(0, c.dtype(0), out);
}

template <class T>
struct Labelled {
  Labels labels;
  Dims dims;
  std::vector<T> data;
  int64_t dim(int label) const {
    for (size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == label) return dims[i];
    return 1;
  }
  bool has(int label) const { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
};

/// Whether the labels are each there once, and those of `to` (which may have more: dims of 1) all of them.
bool is_permutation(const Labels& labels, const Labels& to) {
  return std::all_of(labels.begin(), labels.end(), [&](int l) {
    return std::count(labels.begin(), labels.end(), l) == 1 && std::count(to.begin(), to.end(), l) == 1;
  });
}

/// Sums over the labels that `to` lacks, takes diagonals of repeated ones, orders the rest as `to` (labels
/// absent here become dims of 1).
template <class T>
Labelled<T> rearranged(const Labelled<T>& x, const Labels& to) {
  Labelled<T> y;
  y.labels = to;
  for (int l : to) y.dims.push_back(x.dim(l));
  Labels loop = to;
  Dims loop_dims = y.dims;
  for (int l : x.labels)
    if (std::find(loop.begin(), loop.end(), l) == loop.end()) {
      loop.push_back(l);
      loop_dims.push_back(x.dim(l));
    }
  const Dims own = contiguous_strides(x.dims);
  Dims from(loop.size(), 0), into(loop.size(), 0);
  for (size_t i = 0; i < loop.size(); ++i)
    for (size_t d = 0; d < x.labels.size(); ++d)
      if (x.labels[d] == loop[i]) from[i] += own[d];
  if (is_permutation(x.labels, to)) {
    y.data.resize(x.data.size());
    Dims strides;
    for (size_t i = 0; i < to.size(); ++i) strides.push_back(from[i]);
    copy_strided(std::is_same_v<T, double> ? DType::kFloat64 : DType::kUint64, y.dims, x.data.data(), strides,
                 y.data.data(), contiguous_strides(y.dims));
    return y;
  }
  const Dims target = contiguous_strides(y.dims);
  std::copy(target.begin(), target.end(), into.begin());
  y.data.assign(static_cast<size_t>(element_count(y.dims)), T(0));
  Odometer at(loop_dims, {from, into});
  for (int64_t i = element_count(loop_dims); i > 0; --i, at.next())
    y.data[static_cast<size_t>(at.offset(1))] += x.data[static_cast<size_t>(at.offset(0))];
  return y;
}

/// The product of two operands as one batched matrix product; keeps the labels in `kept`.
template <class T>
Labelled<T> contract(const Labelled<T>& a, const Labelled<T>& b, const Labels& kept) {
  Labels batch, rows, columns, depth;
  const auto keeps = [&](int l) { return std::find(kept.begin(), kept.end(), l) != kept.end(); };
  for (int l : a.labels)
    if (!b.has(l))
      rows.push_back(l);
    else if (keeps(l))
      batch.push_back(l);
    else
      depth.push_back(l);
  for (int l : b.labels)
    if (!a.has(l)) columns.push_back(l);
  // A dim of 1 against a longer one is repeated by hand: both sides of a matrix product need the same length.
  const auto widened = [](Labelled<T> x, const Labelled<T>& other) {
    for (size_t i = 0; i < x.labels.size(); ++i) {
      const int64_t n = other.has(x.labels[i]) ? other.dim(x.labels[i]) : x.dims[i];
      if (x.dims[i] != 1 || n == 1) continue;
      Labelled<T> wide = x;
      wide.dims[i] = n;
      wide.data.assign(static_cast<size_t>(element_count(wide.dims)), T(0));
      Odometer at(wide.dims, {broadcast_strides(x.dims, wide.dims, "operand")});
      for (T& v : wide.data) {
        v = x.data[static_cast<size_t>(at.offset(0))];
        at.next();
      }
      x = std::move(wide);
    }
    return x;
  };
  const auto joined = [](std::initializer_list<const Labels*> parts) {
    Labels all;
    for (const Labels* p : parts) all.insert(all.end(), p->begin(), p->end());
    return all;
  };
  const Labelled<T> left = rearranged(widened(a, b), joined({&batch, &rows, &depth}));
  const Labelled<T> right = rearranged(widened(b, a), joined({&batch, &depth, &columns}));
  const auto count = [](const Labelled<T>& x, const Labels& labels) {
    int64_t n = 1;
    for (int l : labels) n *= x.dim(l);
    return n;
  };
  const int64_t batches = count(left, batch), m = count(left, rows), n = count(right, columns),
                k = count(left, depth);
  Labelled<T> y;
  y.labels = joined({&batch, &rows, &columns});
  for (int l : y.labels) y.dims.push_back(left.has(l) ? left.dim(l) : right.dim(l));
  y.data.assign(static_cast<size_t>(batches * m * n), T(0));
  for (int64_t i = 0; i < batches; ++i)
    multiply(left.data.data() + i * m * k, right.data.data() + i * k * n, m, n, k, y.data.data() + i * m * n);
  return y;
}

template <class T>
Labelled<T> einsum(const Equation& e, std::vector<Labelled<T>> operands) {
  // Each operand first loses what only it has; then they are contracted from left to right.
  const auto needed = [&](size_t from) {
    Labels labels = e.output;
    for (size_t i = from; i < e.operands.size(); ++i)
      labels.insert(labels.end(), e.operands[i].begin(), e.operands[i].end());
    return labels;
  };
  const auto unique_of = [](const Labels& labels, const Labels& within) {
    Labels unique;
    for (int l : labels)
      if (std::find(within.begin(), within.end(), l) != within.end() &&
          std::find(unique.begin(), unique.end(), l) == unique.end())
        unique.push_back(l);
    return unique;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    Labels others = e.output;
    for (size_t j = 0; j < operands.size(); ++j)
      if (j != i) others.insert(others.end(), e.operands[j].begin(), e.operands[j].end());
    const Labels keep = unique_of(operands[i].labels, others);
    if (keep != operands[i].labels) operands[i] = rearranged(operands[i], keep);
  }
  Labelled<T> result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = contract(result, operands[i], needed(i + 1));
  return rearranged(result, e.output);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<EinsumAttributes>();
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < c.input_count(); ++i) ranks.push_back(c.input(i).rank());
  const Equation e = parse(a.equation, ranks);
  std::map<int, int64_t> sizes;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    std::map<int, int64_t> own;
    for (size_t d = 0; d < e.operands[i].size(); ++d) {
      const int64_t n = c.input(i).dims()[d], here = own.emplace(e.operands[i][d], n).first->second;
      int64_t& size = sizes.emplace(e.operands[i][d], n).first->second;
      c.check(here == n && (size == n || size == 1 || n == 1),
              "equation '" + a.equation + "': expected one size for a label, found " +
                  std::to_string(here == n ? size : here) + " and " + std::to_string(n));
      if (size == 1) size = n;
    }
  }
  Dims dims;
  for (int l : e.output) {
    c.check(sizes.contains(l), "equation '" + a.equation + "': the output has a label that no operand has");
    dims.push_back(sizes.at(l));
  }
  Tensor& y = c.output(0, c.input(0).dtype(), dims);
  if (is_float(y.dtype())) {
    std::vector<Labelled<double>> operands;
    for (size_t i = 0; i < ranks.size(); ++i)
      operands.push_back({e.operands[i], c.input(i).dims(), c.input(i).to_doubles()});
    return store_doubles(einsum(e, std::move(operands)).data, y);
  }
  std::vector<Labelled<uint64_t>> operands;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::vector<int64_t> words = c.input(i).to_int64s();
    operands.push_back({e.operands[i], c.input(i).dims(), {words.begin(), words.end()}});
  }
  const std::vector<uint64_t> result = einsum(e, std::move(operands)).data;
  visit_storage(y.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      for (size_t i = 0; i < result.size(); ++i) y.as<T>()[i] = static_cast<T>(result[i]);
  });
}

double sum_of(const EinsumProduct& p, const Tensor& a, const Tensor& b, int64_t at) {
  int64_t a_at = 0, b_at = 0;
  for (size_t i = p.output.size(); i-- > 0; at /= p.output[i].size) {
    a_at += at % p.output[i].size * p.output[i].a;
    b_at += at % p.output[i].size * p.output[i].b;
  }
  Dims sizes, a_strides, b_strides;
  for (const EinsumProduct::Index& i : p.depth) {
    sizes.push_back(i.size);
    a_strides.push_back(i.a);
    b_strides.push_back(i.b);
  }
  Odometer walk(sizes, {a_strides, b_strides});
  double sum = 0;
  visit_float(a.dtype(), [&](auto t) {
    using T = decltype(t);
    for (int64_t n = element_count(sizes); n > 0; --n, walk.next())
      sum += static_cast<double>(a.as<T>()[a_at + walk.offset(0)]) *
             static_cast<double>(b.as<T>()[b_at + walk.offset(1)]);
  });
  return sum;
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const auto p = c.input_count() == 2 && is_float(c.input(0).dtype())
                     ? einsum_product(c.node(), c.input(0).dims(), c.input(1).dims())
                     : std::nullopt;
  if (p) {
    for (size_t i = 0; i < at.size(); ++i) result[i] = sum_of(*p, c.input(0), c.input(1), at[i]);
    return;
  }
  std::vector<const Datum*> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(&c.datum(i));
  const Datum whole = std::move(evaluate_node(c.node(), inputs)[0]);
  for (size_t i = 0; i < at.size(); ++i) result[i] = load_double(whole.tensor, at[i]);
}

double flops(const Node& node, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  // Two operands cost what their matrix product costs: sqrt(|a| |b| |y|) multiplications when no label is
  // summed alone.
  double product = static_cast<double>(element_count(outputs[0]));
  for (const Dims& d : inputs) product *= static_cast<double>(element_count(d));
  return inputs.size() == 2 && node.op == "Einsum" ? 2 * __builtin_sqrt(product) : product;
}

std::vector<Sample> samples() {
  const auto eq = [](const char* text) { return sample_attributes({{"equation", string_attribute(text)}}); };
  const auto f = [](Dims d, int seed = 1) { return Datum(sample_floats(std::move(d), seed)); };
  std::vector<Sample> s;
  s.push_back({"matrix product", {f({3, 4}), f({4, 5}, 2)}, eq("ij,jk->ik")});
  s.push_back({"transposed, spaces", {f({3, 4})}, eq(" i j -> j i ")});
  s.push_back({"sum of all", {f({3, 4})}, eq("ij->")});
  s.push_back({"sum along one", {f({3, 4})}, eq("ij->i")});
  s.push_back({"diagonal", {f({3, 3})}, eq("ii->i")});
  s.push_back({"trace, implicit", {f({3, 3})}, eq("ii")});
  s.push_back({"implicit product", {f({3, 4}), f({4, 5}, 2)}, eq("ij,jk")});
  s.push_back({"batches by ellipsis", {f({2, 3, 4}), f({2, 4, 5}, 2)}, eq("...ij,...jk->...ik")});
  s.push_back({"broadcast ellipsis", {f({2, 1, 3, 4}), f({5, 4, 2}, 2)}, eq("...ij,...jk")});
  s.push_back({"attention scores", {f({1, 2, 3, 4}), f({1, 2, 5, 4}, 2)}, eq("bhqd,bhkd->bhqk")});
  s.push_back({"outer product", {f({3}), f({4}, 2)}, eq("i,j->ij")});
  s.push_back({"three operands", {f({2, 3}), f({3, 4}, 2), f({4, 2}, 3)}, eq("ij,jk,kl->il")});
  s.push_back({"elementwise", {f({2, 3}), f({2, 3}, 2)}, eq("ij,ij->ij")});
  s.push_back({"scalars", {f({}), f({}, 2)}, eq(",->")});
  s.push_back({"int32",
               {sample_values(DType::kInt32, {2, 3}, -9, 9), sample_values(DType::kInt32, {3, 2}, -9, 9, 2)},
               eq("ij,jk->ik")});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Einsum";
  d.doc =
      "Einstein summation: the product of the operands' elements summed over the labels that the output "
      "lacks (ONNX Einsum-12).";
  d.since = 12;
  d.min_inputs = 1;
  d.max_inputs = -1;
  d.attributes = attribute_specs<EinsumAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_einsum

namespace wootz {

std::optional<EinsumProduct> einsum_product(const Node& node, std::span<const int64_t> a,
                                            std::span<const int64_t> b) {
  using op_einsum::Labels;
  const auto attributes = read_attributes<op_einsum::EinsumAttributes>(node.attributes);
  const op_einsum::Equation e =
      op_einsum::parse(attributes.equation, {static_cast<int64_t>(a.size()), static_cast<int64_t>(b.size())});
  std::map<int, EinsumProduct::Index> indices;
  const auto add = [&](const Labels& labels, std::span<const int64_t> dims,
                       int64_t EinsumProduct::Index::*which) {
    const Dims strides = contiguous_strides(Dims(dims.begin(), dims.end()));
    for (size_t i = 0; i < labels.size(); ++i) {
      auto [known, is_new] = indices.emplace(labels[i], EinsumProduct::Index{dims[i], 0, 0, 0});
      if (known->second.size != dims[i] || known->second.*which != 0) return false;
      known->second.*which = strides[i];
    }
    return std::set<int>(labels.begin(), labels.end()).size() == labels.size();
  };
  if (!add(e.operands[0], a, &EinsumProduct::Index::a) || !add(e.operands[1], b, &EinsumProduct::Index::b))
    return std::nullopt;
  EinsumProduct p;
  for (int l : e.output) {
    if (!indices.contains(l)) return std::nullopt;
    p.dims.push_back(indices.at(l).size);
  }
  if (element_count(p.dims) == 0 || !add(e.output, p.dims, &EinsumProduct::Index::y)) return std::nullopt;
  for (int l : e.output) p.output.push_back(indices.at(l));
  for (const auto& [label, i] : indices) {
    const auto is_in = [l = label](const Labels& labels) {
      return std::find(labels.begin(), labels.end(), l) != labels.end();
    };
    const bool in_a = is_in(e.operands[0]), in_b = is_in(e.operands[1]), kept = is_in(e.output);
    if (in_a != in_b && !kept) return std::nullopt;  // summed alone
    (in_a && in_b ? kept ? p.batch : p.depth : in_a ? p.rows : p.columns).push_back(i);
  }
  return p;
}

}  // namespace wootz
