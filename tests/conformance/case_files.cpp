// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/case_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "import/onnx/import.h"

namespace wootz::conformance {

namespace fs = std::filesystem;

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::kIo, path.string() + ": cannot be read");
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

namespace {
std::optional<Datum> read_value(const fs::path& stem);
}  // namespace

std::vector<Datum> read_values(const fs::path& folder, const std::string& prefix) {
  std::vector<Datum> values;
  while (auto value = read_value(folder / (prefix + std::to_string(values.size()))))
    values.push_back(std::move(*value));
  return values;
}

namespace {

/// What dump_node_tests.py wrote for one value; nothing when there is no such value.
std::optional<Datum> read_value(const fs::path& stem) {
  const auto with = [&](const char* extension) { return fs::path(stem.string() + extension); };
  if (fs::exists(with(".pb"))) return Datum(read_tensor_proto(read_bytes(with(".pb"))));
  for (const auto& [extension, kind] :
       {std::pair{".seq", Datum::Kind::kSequence}, std::pair{".opt", Datum::Kind::kOptional}}) {
    if (!fs::exists(with(extension))) continue;
    Datum datum;
    datum.kind = kind;
    datum.elements = read_values(with(extension), "");
    return datum;
  }
  return std::nullopt;
}

std::string compare_tensors(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  if (found.dtype() != expected.dtype())
    return "expected " + std::string(dtype_name(expected.dtype())) + ", found " +
           std::string(dtype_name(found.dtype()));
  if (found.dims() != expected.dims()) {
    std::ostringstream text;
    text << "expected dims [";
    for (int64_t dim : expected.dims()) text << dim << ",";
    text << "], found [";
    for (int64_t dim : found.dims()) text << dim << ",";
    return text.str() + "]";
  }
  if (!is_float(found.dtype()) && found.dtype() != DType::kString && dtype_size(found.dtype()) <= 8 &&
      found.dtype() != DType::kComplex64)
    return found.to_int64s() == expected.to_int64s() ? "" : "integers differ";
  if (found.dtype() == DType::kString) {
    for (int64_t i = 0; i < found.size(); ++i)
      if (found.as<std::string>()[i] != expected.as<std::string>()[i])
        return "expected '" + expected.as<std::string>()[i] + "', found '" + found.as<std::string>()[i] + "'";
    return "";
  }
  if (found.dtype() == DType::kComplex64 || found.dtype() == DType::kComplex128)
    return found.same_bits(expected) ? "" : "complex numbers differ";
  const std::vector<double> a = found.to_doubles(), b = expected.to_doubles();
  // Functions written out round each step, and expectations differ in order: a few units in the last place of
  // the narrow types, and float32 noise beside the largest element.
  const double unit = found.dtype() == DType::kFloat16    ? 4.0 / 2048
                      : found.dtype() == DType::kBFloat16 ? 4.0 / 256
                                                          : tolerance.relative;
  double largest = 0;
  for (double each : b)
    if (std::isfinite(each)) largest = std::max(largest, std::fabs(each));
  const double absolute = std::max(tolerance.absolute, 5e-7 * largest);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (std::fabs(a[i] - b[i]) <= absolute + std::max(tolerance.relative, unit) * std::fabs(b[i])) continue;
    std::ostringstream text;
    text << "element " << i << ": expected " << b[i] << ", found " << a[i];
    return text.str();
  }
  return "";
}

}  // namespace

Policy read_policy(const fs::path& folder) {
  Policy policy;
  std::ifstream file(folder / "policy.txt");
  std::string word;
  file >> word;
  policy.must_fail = word == "error";
  policy.may_fail = policy.must_fail || word == "value_or_error" || word == "safe";
  policy.repeated_rows = word == "repeated_rows";
  if (word == "marks")
    while (file >> word) policy.marks.push_back(word);
  return policy;
}

std::string compare_rows(const std::vector<Datum>& found) {
  for (const Datum& datum : found) {
    const size_t half = datum.tensor.size_bytes() / 2;
    if (std::memcmp(datum.tensor.data(), datum.tensor.as<char>() + half, half) != 0)
      return "expected equal rows for equal rows of the input";
  }
  return "";
}

Tolerance read_tolerance(const fs::path& folder) {
  Tolerance tolerance;
  std::ifstream(folder / "tolerance.txt") >> tolerance.relative >> tolerance.absolute;
  return tolerance;
}

std::string compare(const Datum& found, const Datum& expected, const Tolerance& tolerance) {
  const bool none =
      found.kind == Datum::Kind::kNone || (found.kind == Datum::Kind::kOptional && found.elements.empty());
  if (none && expected.kind == Datum::Kind::kOptional && expected.elements.empty()) return "";
  if (expected.kind == Datum::Kind::kOptional && found.kind != Datum::Kind::kOptional &&
      expected.elements.size() == 1)
    return compare(found, expected.elements[0], tolerance);
  if (found.kind != expected.kind) return "expected another kind of value";
  if (expected.kind == Datum::Kind::kTensor) return compare_tensors(found.tensor, expected.tensor, tolerance);
  if (found.elements.size() != expected.elements.size())
    return "expected " + std::to_string(expected.elements.size()) + " elements, found " +
           std::to_string(found.elements.size());
  for (size_t i = 0; i < found.elements.size(); ++i)
    if (std::string what = compare(found.elements[i], expected.elements[i], tolerance); !what.empty())
      return "element " + std::to_string(i) + ": " + what;
  return "";
}

void unwrap_optionals(const Graph& graph, std::vector<Datum>& inputs) {
  for (size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i)
    if (inputs[i].kind == Datum::Kind::kOptional && graph.inputs()[i]->type.kind != Type::Kind::kOptional &&
        inputs[i].elements.size() == 1)
      inputs[i] = Datum(inputs[i].elements[0]);
}

}  // namespace wootz::conformance
