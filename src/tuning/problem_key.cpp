// SPDX-License-Identifier: Apache-2.0
#include "tuning/problem_key.h"

#include <cmath>
#include <map>
#include <sstream>

#include "device/region.h"

namespace wootz {
namespace {

void print_ints(std::ostream& out, const Ints& v) {
  out << '[';
  for (size_t i = 0; i < v.size(); ++i) out << (i ? "," : "") << v[i];
  out << ']';
}

void print_attribute(std::ostream& out, const Attribute& a) {
  if (const auto* i = std::get_if<int64_t>(&a))
    out << *i;
  else if (const auto* f = std::get_if<float>(&a))
    out << *f;
  else if (const auto* s = std::get_if<std::string>(&a))
    out << *s;
  else if (const auto* v = std::get_if<Ints>(&a))
    print_ints(out, *v);
  else if (const auto* fs = std::get_if<Floats>(&a))
    for (float x : *fs) out << x << ',';
  else
    out << attribute_kind_name(a);
}

void print_desc(std::ostream& out, const TensorDesc& d) {
  out << dtype_name(d.dtype);
  print_ints(out, d.dims);
  if (d.constant)
    out << 'c';
  else if (d.is_channels_last() && !d.is_row_major())
    out << "nhwc";
  else if (!d.is_row_major())
    print_ints(out, d.strides);
}

void print_number(std::ostream& out, double x) { out << x; }

/// What a kernel may treat in a way of its own: 0, 1 and what is not finite. Of others the sign.
void print_number_kind(std::ostream& out, double x) {
  if (x == 0 || x == 1 || !std::isfinite(x))
    out << x;
  else
    out << (x < 0 ? "-n" : "n");
}

/// One, less than a vector, whole vectors, or vectors and a rest.
char size_kind(int64_t n) {
  constexpr int64_t kVector = 16;
  return n == 1 ? '1' : n % kVector == 0 ? 'v' : n < kVector ? 's' : 'r';
}

void print_desc_kind(std::ostream& out, const TensorDesc& d) {
  out << dtype_name(d.dtype) << '[';
  for (int64_t n : d.dims) out << size_kind(n);
  out << ']';
  if (d.constant)
    out << 'c';
  else if (d.is_channels_last() && !d.is_row_major())
    out << "nhwc";
  else if (!d.is_row_major())
    out << "strided";
}

std::string text_of(const Problem& problem, void (*number_text)(std::ostream&, double),
                    void (*desc_text)(std::ostream&, const TensorDesc&)) {
  const Graph& body = problem.body();
  std::ostringstream out;
  std::map<const Value*, int> numbers;
  const auto number = [&](const Value* v) {
    return numbers.emplace(v, static_cast<int>(numbers.size())).first->second;
  };
  for (const Value* v : body.inputs()) number(v);
  for (const auto& node : body.nodes()) {
    out << node->op << '(';
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* v = node->input(i);
      out << (i ? "," : "");
      if (!v)
        out << '-';
      else if (v->is_constant() && v->constant->size() == 1 && v->constant->dtype() != DType::kString)
        number_text(out, v->constant->to_doubles()[0]);
      else
        out << '%' << number(v);
    }
    out << ')';
    for (const auto& [name, a] : node->attributes) {
      out << ' ' << name << '=';
      print_attribute(out, a);
    }
    out << "->";
    for (const Value* v : node->outputs()) out << (v ? "%" + std::to_string(number(v)) : "-");
    out << "; ";
  }
  for (const TensorDesc& d : problem.inputs) out << "in ", desc_text(out, d), out << ' ';
  for (const TensorDesc& d : problem.outputs) out << "out ", desc_text(out, d), out << ' ';
  if (problem.region->attributes.contains("tf32")) out << "tf32 ";
  out << "threads " << problem.threads;
  return out.str();
}

}  // namespace

std::string problem_key(const Problem& problem) { return text_of(problem, print_number, print_desc); }

std::string formula_key(const Problem& problem) {
  return text_of(problem, print_number_kind, print_desc_kind);
}

}  // namespace wootz
