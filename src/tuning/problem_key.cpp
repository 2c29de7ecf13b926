// SPDX-License-Identifier: Apache-2.0
#include "tuning/problem_key.h"

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

}  // namespace

std::string problem_key(const Problem& problem) {
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
        out << v->constant->to_doubles()[0];
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
  for (const TensorDesc& d : problem.inputs) out << "in ", print_desc(out, d), out << ' ';
  for (const TensorDesc& d : problem.outputs) out << "out ", print_desc(out, d), out << ' ';
  if (problem.region->attributes.contains("tf32")) out << "tf32 ";
  out << "threads " << problem.threads;
  return out.str();
}

}  // namespace wootz
