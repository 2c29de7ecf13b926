// SPDX-License-Identifier: Apache-2.0
// A region built by hand, and every tactic of the CPU backend held against its reference.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/cpu_features.h"
#include "device/region.h"
#include "ir/element.h"
#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz::test {

enum class Order { kRowMajor, kChannelsLast };

inline Dims strides_of(const Dims& dims, Order order) {
  if (order == Order::kRowMajor || dims.size() < 3) return contiguous_strides(dims);
  Dims moved = {dims[0]};
  moved.insert(moved.end(), dims.begin() + 2, dims.end());
  moved.push_back(dims[1]);
  const Dims s = contiguous_strides(moved);
  Dims strides = {s[0], 1};
  strides.insert(strides.end(), s.begin() + 1, s.end() - 1);
  return strides;
}

inline Shape shape_of(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

class RegionCase {
 public:
  explicit RegionCase(std::string kind = "contraction")
      : body_(std::make_shared<Graph>(outer_.shared_symbols())), kind_(std::move(kind)) {}

  /// A region input filled with values in [-scale, scale).
  Value* input(Dims dims, Order order = Order::kRowMajor, bool constant = false, float scale = 1,
               DType dtype = DType::kFloat32) {
    Tensor t = Tensor::zeros(dtype, dims);
    std::uniform_real_distribution<float> uniform(-scale, scale);
    visit_numeric(dtype, [&](auto zero) {
      for (int64_t i = 0; i < t.size(); ++i) {
        if constexpr (std::is_integral_v<decltype(zero)>)
          t.as<decltype(zero)>()[i] = static_cast<decltype(zero)>(random_());
        else
          t.as<decltype(zero)>()[i] = decltype(zero)(uniform(random_));
      }
    });
    return input(std::move(t), order, constant);
  }
  Value* input(Tensor t, Order order = Order::kRowMajor, bool constant = false) {
    TensorDesc d{t.dtype(), t.dims(), strides_of(t.dims(), order), nullptr};
    if (constant) d.constant = std::make_shared<const Tensor>(t);
    Value* v =
        body_->add_input("i" + std::to_string(values_.size()), Type::tensor(t.dtype(), shape_of(t.dims())));
    values_.push_back(std::move(t));
    problem_.inputs.push_back(std::move(d));
    return v;
  }
  Value* constant(Dims dims, float scale = 1, DType dtype = DType::kFloat32) {
    return input(std::move(dims), Order::kRowMajor, true, scale, dtype);
  }
  /// A scalar inside the body.
  Value* immediate(float v) { return body_->add_constant(body_->unique_name("s"), Tensor::scalar_float(v)); }

  Value* add(const std::string& op, std::vector<Value*> inputs, Attributes attributes = {},
             const std::string& domain = "") {
    Node* node = body_->add_node(domain, op, std::move(inputs));
    node->attributes = std::move(attributes);
    Value* out = node->add_output("v" + std::to_string(node->id()), Type{});
    infer_node(*node);
    return out;
  }

  /// Ends the region with `result` as its output.
  void finish(Value* result, Order order = Order::kRowMajor) {
    body_->add_output(result);
    std::vector<Value*> outer_inputs;
    for (const Value* v : body_->inputs()) outer_inputs.push_back(outer_.add_input(v->name, v->type));
    Node* region = outer_.add_node(kRegionDomain, kRegionOp, outer_inputs);
    region->attributes.set("body", body_);
    region->attributes.set("kind", kind_);
    region->add_output("out", result->type);
    problem_.region = region;
    std::vector<Datum> data(values_.begin(), values_.end());
    expected_ = evaluate_graph(*body_, data)[0].tensor;
    problem_.outputs = {{expected_.dtype(), expected_.dims(), strides_of(expected_.dims(), order), nullptr}};
  }

  Problem& problem() { return problem_; }

  /// Runs every tactic in every configuration on 1 and 2 threads and every instruction set; returns who
  /// served.
  std::set<std::string> check(double tolerance = 2e-6) {
    static const CpuBackend backend;
    std::set<std::string> served;
    for (const Tactic* tactic : backend.tactics()) {
      refusals_[std::string(tactic->id())] = "";
      for (int threads : {1, 2}) {
        problem_.threads = threads;
        if (auto why = tactic->refusal(problem_)) {
          refusals_[std::string(tactic->id())] = *why;
          continue;
        }
        for (const TacticConfig& config : configs(*tactic)) run(backend, *tactic, config, tolerance);
        served.insert(std::string(tactic->id()));
      }
    }
    return served;
  }
  const std::string& refusal(const std::string& id) { return refusals_[id]; }

  /// The row-major result of one tactic in its first configuration; constants and row-major inputs alone.
  Tensor run_one(const std::string& id) {
    static const CpuBackend backend;
    Tensor y = Tensor::zeros(problem_.outputs[0].dtype, problem_.outputs[0].dims);
    for (const Tactic* tactic : backend.tactics()) {
      if (tactic->id() != id) continue;
      const TacticConfig config = tactic->configs(problem_).front();
      const auto kernel = tactic->make_kernel(problem_, config, tactic->pack(problem_, config));
      std::vector<void*> inputs;
      for (size_t i = 0; i < values_.size(); ++i)
        inputs.push_back(problem_.inputs[i].constant ? nullptr : values_[i].data());
      void* outputs[] = {y.data()};
      const auto stream = backend.make_stream(problem_.threads);
      std::vector<char> workspace(kernel->workspace_bytes());
      kernel->launch({inputs.data(), outputs, workspace.data(), stream.get()});
      return y;
    }
    ADD_FAILURE() << "no tactic " << id;
    return y;
  }

 private:
  /// The tactic's own configurations, each on every instruction set of this machine.
  std::vector<TacticConfig> configs(const Tactic& tactic) const {
    std::vector<TacticConfig> all;
    for (const TacticConfig& c : tactic.configs(problem_)) {
      if (c.get("isa", -1) < 0) {
        all.push_back(c);
        continue;
      }
      for (Isa isa : available_isas()) {
        TacticConfig other = c;
        for (auto& [name, value] : other.values)
          if (name == "isa") value = static_cast<int64_t>(isa);
        all.push_back(other);
      }
    }
    return all;
  }

  void run(const CpuBackend& backend, const Tactic& tactic, const TacticConfig& config, double tolerance) {
    SCOPED_TRACE(std::string(tactic.id()) + " [" + config.to_string() +
                 "] threads=" + std::to_string(problem_.threads));
    const auto kernel = tactic.make_kernel(problem_, config, tactic.pack(problem_, config));
    std::vector<std::vector<char>> storage;
    std::vector<void*> inputs;
    for (size_t i = 0; i < values_.size(); ++i) {
      const TensorDesc& d = problem_.inputs[i];
      storage.push_back(strided(values_[i], d));
      inputs.push_back(d.constant ? nullptr : storage.back().data());
    }
    const TensorDesc& d = problem_.outputs[0];
    std::vector<char> out(extent(d) * dtype_size(d.dtype), static_cast<char>(0xff));
    void* outputs[] = {out.data()};
    const auto stream = backend.make_stream(problem_.threads);
    const size_t guard = 256;
    auto* workspace = static_cast<unsigned char*>(backend.allocate(kernel->workspace_bytes() + guard));
    std::memset(workspace, 0xff, kernel->workspace_bytes() + guard);
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second run finds a used workspace
      kernel->launch({inputs.data(), outputs, workspace, stream.get()});
      compare(out, d, tolerance + tactic.extra_error());
    }
    for (size_t i = 0; i < guard; ++i)
      ASSERT_EQ(workspace[kernel->workspace_bytes() + i], 0xff) << "workspace overrun";
    backend.release(workspace);
  }

  static size_t extent(const TensorDesc& d) {
    if (d.size() == 0) return 0;
    int64_t last = 0;
    for (size_t i = 0; i < d.dims.size(); ++i) last += (d.dims[i] - 1) * d.strides[i];
    return static_cast<size_t>(last) + 1;
  }
  template <class F>
  static void each(const TensorDesc& d, F f) {
    for (int64_t flat = 0; flat < d.size(); ++flat) {
      int64_t rest = flat, at = 0;
      for (size_t axis = d.dims.size(); axis-- > 0; rest /= d.dims[axis])
        at += rest % d.dims[axis] * d.strides[axis];
      f(static_cast<size_t>(flat), static_cast<size_t>(at));
    }
  }
  static std::vector<char> strided(const Tensor& t, const TensorDesc& d) {
    const size_t bytes = dtype_size(d.dtype);
    std::vector<char> data(extent(d) * bytes);
    each(d, [&](size_t flat, size_t at) {
      std::memcpy(data.data() + at * bytes, static_cast<const char*>(t.data()) + flat * bytes, bytes);
    });
    return data;
  }
  void compare(const std::vector<char>& out, const TensorDesc& d, double tolerance) const {
    Tensor got = Tensor::zeros(d.dtype, d.dims);
    const size_t bytes = dtype_size(d.dtype);
    each(d, [&](size_t flat, size_t at) {
      std::memcpy(static_cast<char*>(got.data()) + flat * bytes, out.data() + at * bytes, bytes);
    });
    const std::vector<double> want = expected_.to_doubles(), have = got.to_doubles();
    double scale = 1e-30, worst = 0;
    size_t where = 0;
    for (double w : want) scale = std::max(scale, std::fabs(w));
    for (size_t i = 0; i < want.size(); ++i) {
      const double error = std::fabs(want[i] - have[i]) / scale;
      if (!(error <= worst)) worst = error, where = i;
      if (std::isnan(error)) break;
    }
    EXPECT_LE(worst, tolerance) << "at flat element " << where << ": expected "
                                << (want.empty() ? 0 : want[where]) << ", found "
                                << (have.empty() ? 0 : have[where]);
  }

  Graph outer_;
  std::shared_ptr<Graph> body_;
  std::string kind_;
  Problem problem_;
  std::vector<Tensor> values_;
  Tensor expected_;
  std::map<std::string, std::string> refusals_;
  std::mt19937 random_{7};
};

}  // namespace wootz::test
