// SPDX-License-Identifier: Apache-2.0
#include "quantize/calibration.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace wootz {
namespace {

[[noreturn]] void bad_calibration(const std::string& what) {
  throw Error(ErrorKind::kInvalidArgument, "calibration: " + what);
}

double number(const nlohmann::json& entry, const char* key, const std::string& name) {
  if (!entry.is_object() || !entry.contains(key) || !entry[key].is_number())
    bad_calibration("'" + name + "': expected a number '" + key + "', found " + entry.dump().substr(0, 60));
  return entry[key].get<double>();
}

}  // namespace

std::string Calibration::to_json() const {
  nlohmann::ordered_json j;
  j["about"] = "ranges of activations; change low and high, and give the file to quantize again";
  j["model"] = model;
  j["method"] = method;
  j["samples"] = samples;
  j["activations"] = is_signed ? "int8" : "uint8";
  j["tensors"] = nlohmann::ordered_json::object();
  for (const auto& [name, e] : tensors)
    j["tensors"][name] = {
        {"low", e.range.low}, {"high", e.range.high}, {"smallest", e.smallest}, {"largest", e.largest}};
  return j.dump(1) + "\n";
}

Calibration Calibration::from_json(const std::string& text) {
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("tensors") || !j["tensors"].is_object())
    bad_calibration("expected a JSON object with 'tensors', as `wootz quantize` writes it");
  Calibration c;
  const std::string type = j.value("activations", "uint8");
  if (type != "uint8" && type != "int8")
    bad_calibration("activations: expected uint8 or int8, found '" + type + "'");
  c.is_signed = type == "int8";
  c.model = j.value("model", "");
  c.method = j.value("method", "");
  c.samples = j.value("samples", size_t{0});
  for (const auto& [name, entry] : j["tensors"].items()) {
    Entry e;
    e.range = {number(entry, "low", name), number(entry, "high", name)};
    if (!(e.range.low <= 0) || !(e.range.high >= 0) || !std::isfinite(e.range.high - e.range.low))
      bad_calibration("'" + name + "': expected low <= 0 <= high, found " + entry.dump().substr(0, 80));
    e.smallest = entry.value("smallest", e.range.low);
    e.largest = entry.value("largest", e.range.high);
    c.tensors[name] = e;
  }
  return c;
}

}  // namespace wootz
