// SPDX-License-Identifier: Apache-2.0
#include "engine/content_hash.h"

#include "base/hash.h"
#include "engine/graph_json.h"

namespace wootz {

std::string content_hash(const EngineData& engine) {
  BlobList blobs;
  Json plan{{"graph", json_from_graph(*engine.graph, blobs)},
            {"backend", engine.backend.substr(0, engine.backend.find(':'))},
            {"threads", engine.threads},
            {"steps", Json::array()},
            {"stacking", Json::array()}};
  for (const StepRecord& s : engine.steps) {
    Json step{static_cast<int>(s.sharing.kind), s.sharing.input};
    for (const TacticChoice& c : s.choices) {
      step.push_back({c.tactic_id, c.version, c.config.to_string()});
      for (const Tensor& t : c.packed) step.push_back(blobs.add(t));
    }
    for (const auto& body : s.bodies) step.push_back(body ? content_hash(*body) : "");
    plan["steps"].push_back(std::move(step));
  }
  for (const Value* v : engine.stacking) plan["stacking"].push_back(v->name);
  Hasher hasher;
  hasher.update(plan.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const Tensor& t : blobs.tensors()) {
    hasher.update(std::string(dtype_name(t.dtype())));
    if (t.dtype() == DType::kString)
      for (const std::string& s : t.span<std::string>()) hasher.update(s);
    else
      hasher.update(std::string_view(static_cast<const char*>(t.data()), t.size_bytes()));
  }
  return hasher.digest().hex();
}

}  // namespace wootz
