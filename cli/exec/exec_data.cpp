// SPDX-License-Identifier: Apache-2.0
#include "cli/exec/exec_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/npz.h"
#include "cli/options.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

std::string dims_text(const Dims& dims) {
  std::string s;
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "x" : "") + std::to_string(dims[i]);
  return s.empty() ? "scalar" : s;
}

void read_raw(const std::string& path, const std::string& name, Tensor& tensor) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::kIo, "cannot read '" + path + "' for '" + name + "'");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() != tensor.size_bytes())
    throw Error(ErrorKind::kInvalidArgument,
                "'" + path + "': '" + name + "' " + std::string(dtype_name(tensor.dtype())) + " " +
                    dims_text(tensor.dims()) + " expected " + std::to_string(tensor.size_bytes()) +
                    " bytes, found " + std::to_string(bytes.size()));
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
}

/// Data for the named tensors of `known` (whose dtypes and dims raw files are read by).
void load(const std::vector<std::pair<std::string, std::string>>& files, NamedData& known, const char* flag) {
  const auto at = [&](const std::string& name) -> Datum& {
    if (const auto it = known.find(name); it != known.end()) return it->second;
    std::string names;
    for (const auto& [n, d] : known) names += (names.empty() ? "" : ", ") + n;
    throw Error(ErrorKind::kInvalidArgument,
                std::string("--") + flag + ": expected one of " + names + ", found '" + name + "'");
  };
  for (const auto& [name, path] : files)
    if (name.empty())
      for (auto& [inner, tensor] : read_npz(path)) at(inner) = Datum(std::move(tensor));
    else
      read_raw(path, name, at(name).tensor);
}

double loss_of(const Tensor& expected, const Tensor& found, const ExecOptions& o) {
  const std::vector<double> e = expected.to_doubles(), f = found.to_doubles();
  double sum = 0, largest = 0, product = 0, ee = 0, ff = 0;
  size_t outside = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    const double d = std::fabs(e[i] - f[i]);
    sum += o.accuracy == "l2" ? d * d : d;
    largest = std::isnan(d) ? d : std::max(largest, d);
    outside += !(d <= o.atol + o.rtol * std::fabs(e[i]));
    product += e[i] * f[i], ee += e[i] * e[i], ff += f[i] * f[i];
  }
  const double count = std::max<double>(1, double(e.size()));
  if (o.accuracy == "l0") return double(outside);
  if (o.accuracy == "lInf") return largest;
  if (o.accuracy == "cos") return ee == 0 && ff == 0 ? 0 : 1 - product / std::sqrt(ee * ff);
  return o.accuracy == "l2" ? std::sqrt(sum / count) : sum / count;
}

std::string file_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':' || c == '\0'; }, '_');
  return name;
}

}  // namespace

NamedData exec_inputs(const Engine& engine, const ExecOptions& o) {
  Options shapes;
  for (const auto& [name, dims] : o.shapes) shapes.shapes.push_back(name + ":" + dims_text(dims));
  NamedData inputs = random_inputs(engine, shapes);
  load(o.load_inputs, inputs, "loadInputs");
  return inputs;
}

bool matches_reference(const NamedData& outputs, const ExecOptions& o) {
  NamedData expected;
  for (const auto& [name, datum] : outputs)
    expected[name] = Datum(Tensor::zeros(datum.tensor.dtype(), datum.tensor.dims()));
  load(o.reference_outputs, expected, "loadRefOutputs");
  bool all = true;
  for (const auto& [name, path] : o.reference_outputs)
    for (const auto& [output, datum] : outputs) {
      if (!name.empty() && name != output) continue;
      const Tensor& want = expected.at(output).tensor;
      if (want.dims() != datum.tensor.dims())
        throw Error(ErrorKind::kInvalidArgument, "--loadRefOutputs: '" + output + "' expected " +
                                                     dims_text(datum.tensor.dims()) + ", found " +
                                                     dims_text(want.dims()));
      const double loss = loss_of(want, datum.tensor, o),
                   limit = o.accuracy == "l0" ? 0 : o.accuracy_threshold;
      const bool passed = loss <= limit;
      all = all && passed;
      std::printf("Accuracy of %s: %s loss = %.6g (at most %.6g): %s\n", output.c_str(), o.accuracy.c_str(),
                  loss, limit, passed ? "PASSED" : "FAILED");
    }
  return all;
}

void dump_raw_bindings(const NamedData& inputs, const NamedData& outputs) {
  const auto dump = [](const NamedData& data, const char* kind) {
    for (const auto& [name, datum] : data) {
      const Tensor& t = datum.tensor;
      if (!t.is_defined() || t.dtype() == DType::kString) continue;
      const std::string path = file_name(name) + "." + kind + "." + dims_text(t.dims()) + "." +
                               std::string(dtype_name(t.dtype())) + ".raw";
      write_text_file(path, {static_cast<const char*>(t.data()), t.size_bytes()});
      std::printf("%s: %zu bytes\n", path.c_str(), t.size_bytes());
    }
  };
  dump(inputs, "input");
  dump(outputs, "output");
}

void export_outputs(const std::string& path, const NamedData& outputs) {
  auto j = nlohmann::json::array();
  for (const auto& [name, datum] : outputs)
    if (datum.tensor.is_defined() && datum.tensor.dtype() != DType::kString)
      j.push_back({{"name", name},
                   {"dimensions", dims_text(datum.tensor.dims())},
                   {"values", datum.tensor.to_doubles()}});
  write_text_file(path, j.dump());
}

void print_outputs(const NamedData& outputs) {
  for (const auto& [name, datum] : outputs) {
    if (!datum.tensor.is_defined() || datum.tensor.dtype() == DType::kString) continue;
    std::printf("%s: (%s)\n", name.c_str(), dims_text(datum.tensor.dims()).c_str());
    for (double x : datum.tensor.to_doubles()) std::printf("%g ", x);
    std::printf("\n");
  }
}

}  // namespace wootz::cli
