// SPDX-License-Identifier: Apache-2.0
// wootz_node_tests FOLDER [name part]: runs the ONNX backend tests that dump_node_tests.py wrote, by the
// references, and compares. Exit status 1 when a case fails that is not in the list of ignored ones.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/onnx/import.h"
#include "ops/evaluate.h"
#include "tests/conformance/ignored_node_tests.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::kIo, path.string() + ": cannot be read");
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

std::optional<Datum> read_value(const fs::path& stem);

std::vector<Datum> read_values(const fs::path& folder, const std::string& prefix) {
  std::vector<Datum> values;
  while (auto value = read_value(folder / (prefix + std::to_string(values.size()))))
    values.push_back(std::move(*value));
  return values;
}

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

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

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

/// An optional input of the model is given as its tensor or sequence where the graph declares no optional.
void unwrap_optionals(const Graph& graph, std::vector<Datum>& inputs) {
  for (size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i)
    if (inputs[i].kind == Datum::Kind::kOptional && graph.inputs()[i]->type.kind != Type::Kind::kOptional &&
        inputs[i].elements.size() == 1)
      inputs[i] = Datum(inputs[i].elements[0]);
}

std::string run_case(const fs::path& folder) {
  Tolerance tolerance;
  std::ifstream(folder / "tolerance.txt") >> tolerance.relative >> tolerance.absolute;
  ImportOptions options;
  options.content_hash = false;
  const ImportedModel model = import_onnx_file(folder / "model.onnx", options);
  for (int k = 0; fs::exists(folder / ("set_" + std::to_string(k))); ++k) {
    const fs::path set = folder / ("set_" + std::to_string(k));
    std::vector<Datum> inputs = read_values(set, "input_");
    const std::vector<Datum> expected = read_values(set, "output_");
    unwrap_optionals(*model.graph, inputs);
    const std::vector<Datum> found = evaluate_graph(*model.graph, inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i >= found.size()) return "expected output " + std::to_string(i) + ", found none";
      if (std::string what = compare(found[i], expected[i], tolerance); !what.empty())
        return "output " + std::to_string(i) + ": " + what;
    }
  }
  return "";
}

struct Summary {
  int passed = 0, ignored = 0;
  std::vector<std::pair<std::string, std::string>> failed, unsupported;
};

void run_one(const fs::path& folder, const std::string& name, Summary& summary) {
  std::string what;
  bool unsupported = false;
  try {
    what = run_case(folder);
  } catch (const Error& error) {
    what = std::string(error_kind_name(error.kind())) + ": " + error.message();
    unsupported = error.kind() == ErrorKind::kUnsupported;
  } catch (const std::exception& error) {
    what = std::string("exception: ") + error.what();
  }
  if (what.empty())
    ++summary.passed;
  else if (ignored_reason(name))
    ++summary.ignored;
  else
    (unsupported ? summary.unsupported : summary.failed).emplace_back(name, what);
}

}  // namespace

int run_node_tests(const fs::path& root, const std::string& part) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().filename() == "model.onnx") folders.push_back(entry.path().parent_path());
  std::sort(folders.begin(), folders.end());
  Summary summary;
  for (const fs::path& folder : folders) {
    const std::string name = fs::relative(folder, root).string();
    if (name.find(part) != std::string::npos) run_one(folder, name, summary);
  }
  for (const auto& [name, what] : summary.unsupported)
    std::printf("unsupported  %s: %s\n", name.c_str(), what.c_str());
  for (const auto& [name, what] : summary.failed)
    std::printf("failed       %s: %s\n", name.c_str(), what.c_str());
  std::printf("%d passed, %zu failed, %zu unsupported, %d ignored (ignored_node_tests.h says why)\n",
              summary.passed, summary.failed.size(), summary.unsupported.size(), summary.ignored);
  return summary.failed.empty() && summary.unsupported.empty() && summary.passed > 0 ? 0 : 1;
}

}  // namespace wootz

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: wootz_node_tests FOLDER [part of the name]\n");
    return 2;
  }
  return wootz::run_node_tests(argv[1], argc > 2 ? argv[2] : "");
}
