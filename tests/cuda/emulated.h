// SPDX-License-Identifier: Apache-2.0
// Generated CUDA kernels run on this machine: all plans of a suite become one translation unit for g++ with
// emulation.h in the place of device.cuh, and their results are held against the references.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/codegen/planned_tactic.h"
#include "backends/cuda/cuda_tactics.h"
#include "tests/backends/strided_case.h"

namespace wootz {

/// A region with data and the results of its references.
class EmulatedProblem {
 public:
  EmulatedProblem() : body_(std::make_shared<Graph>()) {}
  EmulatedProblem(const EmulatedProblem&) = delete;

  /// The next input, named "0", "1", ...; an undefined tensor: left out.
  EmulatedProblem& input(Tensor tensor, Storage storage = Storage::kRowMajor, bool constant = false);
  EmulatedProblem& constant(Tensor tensor) { return input(std::move(tensor), Storage::kRowMajor, true); }
  EmulatedProblem& node(std::string op, std::vector<std::string> in, std::vector<std::string> out,
                        Attributes attributes = {}, std::string domain = "");
  EmulatedProblem& result(const std::string& name, Storage storage = Storage::kRowMajor);
  EmulatedProblem& tolerance(double relative, double absolute) {
    relative_ = relative, absolute_ = absolute;
    return *this;
  }
  /// A node with the sample's inputs: short integer tensors are constants, as exporters write them.
  EmulatedProblem& sample(const OpDef& def, const Sample& sample);

  /// Infers and computes what is expected. Throws Error where the references refuse.
  void prepare();
  const Problem& problem() const { return problem_; }

 private:
  friend class EmulatedSuite;
  struct Input {
    Tensor tensor;
    Storage storage;
    bool constant;
  };
  std::shared_ptr<Graph> body_;
  Graph outer_;
  std::map<std::string, Value*> values_;
  std::vector<Input> inputs_;
  std::vector<Storage> storages_;
  std::vector<Datum> expected_;
  Problem problem_;
  double relative_ = 2e-6, absolute_ = 2e-6;
};

class EmulatedSuite {
 public:
  /// A problem that `tactic_id` must serve (empty: any planned tactic, perhaps none).
  EmulatedProblem& add(std::string label, std::string tactic_id);
  /// Compiles everything, emulates it and compares; where a GPU is here, runs it there too. Failures are
  /// gtest failures with the labels.
  void run(const std::string& name);

 private:
  struct Entry {
    std::string label, tactic_id;
    EmulatedProblem problem;
  };
  struct Planned {
    Entry* entry;
    std::string label;
    LaunchPlan plan;
    std::vector<size_t> kernels;  // numbers of the launches' functions
    std::string tactic_id;
    TacticConfig config;
  };
  struct Buffers;
  void plan();
  std::string text();
  void execute(const Planned& planned, void* library);
  void run_on_device();
  static void compare(Buffers& buffers, const EmulatedProblem& problem);

  std::deque<Entry> entries_;
  std::vector<Planned> planned_;
};

/// The CUDA tactics for a Hopper card that need not be here.
const CudaTactics& hopper_tactics();

}  // namespace wootz
