// SPDX-License-Identifier: Apache-2.0
// The errors of an engine's values, step by step: each region against the references on its own inputs, and
// each value that the model has too against the model's.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/engine_data.h"
#include "runtime/step_observer.h"

namespace wootz {

struct ValueError {
  size_t step = 0;
  double own = -1, inherited = -1, total = -1;  // as in wootz/verify.h
  double bound = 0;
  std::string failure;
};

class ValueErrors : public StepObserver {
 public:
  /// `dims` of the graph's inputs in the run that is observed.
  ValueErrors(const EngineData& engine, std::span<const Dims> dims);

  bool wants(size_t) const override { return true; }
  void see(size_t step, std::vector<Datum> inputs, std::vector<Datum> outputs) override;
  /// The model's value of this name; one that the engine lacks, or has in another form, is passed over.
  void compare(const std::string& name, const Datum& model);

  /// The engine's value of this name; null where it has none.
  const Tensor* found(const std::string& name) const {
    const auto it = seen_.find(name);
    return it == seen_.end() ? nullptr : &it->second.found;
  }

  /// By the name of the value.
  const std::map<std::string, ValueError>& errors() const { return errors_; }
  /// References that refused what the engine took.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Seen {
    Tensor found;             // whole
    std::vector<int64_t> at;  // where the reference was asked
    Tensor want;              // what it said; undefined: it was not asked
  };
  void judge(size_t step, const std::vector<Datum>& inputs, const std::vector<Datum>& outputs);

  const EngineData& engine_;
  Bindings bindings_;
  std::vector<const Node*> nodes_;  // by step
  std::map<std::string, Seen> seen_;
  std::map<std::string, ValueError> errors_;
  std::vector<std::string> notes_;
};

}  // namespace wootz
