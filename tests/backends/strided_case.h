// SPDX-License-Identifier: Apache-2.0
// A region with data, run by tactics and held against its references.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/pointwise/vector_target.h"
#include "device/reference_tactic.h"
#include "ir/element.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {

enum class Storage { kRowMajor, kChannelsLast, kReversed, kPadded };

/// Element strides of dims stored so; kPadded leaves gaps after the last dimension, kReversed has the first
/// one fastest.
inline Dims strides_for(Storage storage, const Dims& dims) {
  std::vector<size_t> order(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) order[d] = d;
  if (storage == Storage::kChannelsLast && dims.size() > 2) {
    order.erase(order.begin() + 1);
    order.push_back(1);
  }
  if (storage == Storage::kReversed) order = std::vector<size_t>(order.rbegin(), order.rend());
  Dims strides(dims.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= std::max<int64_t>(dims[order[i]], 1);
    if (storage == Storage::kPadded && i + 1 == order.size()) next += 3;
  }
  return strides;
}

/// A strided array with bytes around and between its elements that nobody may touch.
class StridedBuffer {
 public:
  StridedBuffer(DType dtype, Dims dims, Dims strides)
      : dtype_(dtype), dims_(std::move(dims)), strides_(std::move(strides)) {
    int64_t span = element_count(dims_) > 0 ? 1 : 0;
    for (size_t d = 0; d < dims_.size(); ++d) span += (dims_[d] - 1) * strides_[d];
    bytes_ = Tensor::zeros(DType::kUint8, {std::max<int64_t>(span, 0) * size() + 2 * kGuard});
    std::memset(bytes_.data(), 0xAB, bytes_.size_bytes());
  }
  void* data() { return bytes_.as<char>() + kGuard; }
  /// All of it: kGuard bytes, the array, kGuard bytes.
  Tensor& storage() { return bytes_; }
  static constexpr int64_t kGuard = 64;

  void fill(const Tensor& from) {
    each([&](int64_t flat, int64_t offset) {
      std::memcpy(static_cast<char*>(data()) + offset * size(), from.as<char>() + flat * size(),
                  static_cast<size_t>(size()));
    });
  }
  Tensor gather() {
    Tensor to = Tensor::zeros(dtype_, dims_);
    each([&](int64_t flat, int64_t offset) {
      std::memcpy(to.as<char>() + flat * size(), static_cast<char*>(data()) + offset * size(),
                  static_cast<size_t>(size()));
    });
    return to;
  }
  bool gaps_are_untouched() {
    std::vector<char> owned(bytes_.size_bytes(), 0);
    each([&](int64_t, int64_t offset) {
      std::memset(owned.data() + kGuard + offset * size(), 1, static_cast<size_t>(size()));
    });
    for (size_t i = 0; i < owned.size(); ++i)
      if (!owned[i] && bytes_.as<uint8_t>()[i] != 0xAB) return false;
    return true;
  }

 private:
  int64_t size() const { return static_cast<int64_t>(dtype_size(dtype_)); }
  template <class F>
  void each(F&& f) {
    const int64_t count = element_count(dims_);
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat, offset = 0;
      for (size_t d = dims_.size(); d-- > 0;) offset += rest % dims_[d] * strides_[d], rest /= dims_[d];
      f(flat, offset);
    }
  }

  DType dtype_;
  Dims dims_, strides_;
  Tensor bytes_;
};

class StridedCase {
 public:
  StridedCase() : body_(std::make_shared<Graph>()) {}

  /// The next input, named "0", "1", ...; an undefined tensor: left out.
  StridedCase& input(Tensor tensor, Storage storage = Storage::kRowMajor, bool constant = false) {
    Shape shape;
    for (int64_t d : tensor.dims()) shape.emplace_back(d);
    const std::string name = std::to_string(inputs_.size());
    values_[name] = tensor.is_defined() ? body_->add_input(name, Type::tensor(tensor.dtype(), shape))
                                        : body_->add_input(name, Type());
    inputs_.push_back({std::move(tensor), storage, constant});
    return *this;
  }
  StridedCase& constant(Tensor tensor) { return input(std::move(tensor), Storage::kRowMajor, true); }
  /// A node of the body; names of inputs ("" for none) and of its results.
  StridedCase& node(std::string op, std::vector<std::string> in, std::vector<std::string> out,
                    Attributes attributes = {}, std::string domain = "") {
    std::vector<Value*> values;
    for (const std::string& name : in) values.push_back(name.empty() ? nullptr : values_.at(name));
    Node* n = body_->add_node(std::move(domain), std::move(op), values);
    n->attributes = std::move(attributes);
    for (const std::string& name : out) values_[name] = n->add_output(name, Type());
    return *this;
  }
  StridedCase& result(const std::string& name, Storage storage = Storage::kRowMajor) {
    body_->add_output(values_.at(name));
    storages_.push_back(storage);
    return *this;
  }
  StridedCase& tolerance(double relative, double absolute = 0) {
    relative_ = relative, absolute_ = absolute;
    return *this;
  }

  /// The tactic computes the region on one and on two threads as the references do.
  void expect(const std::string& tactic_id) {
    prepare();
    const Tactic* tactic = find(tactic_id);
    ASSERT_NE(tactic, nullptr) << "no tactic " << tactic_id;
    for (int threads : {1, 2}) {
      problem_.threads = threads;
      const std::optional<std::string> refusal = tactic->refusal(problem_);
      ASSERT_FALSE(refusal) << tactic_id << " refuses: " << *refusal;
      for (const TacticConfig& config : tactic->configs(problem_)) {
        SCOPED_TRACE(tactic_id + " " + config.to_string() + " threads=" + std::to_string(threads));
        run(*tactic, config, threads);
        for (VectorTarget lesser : {VectorTarget::kAvx2, VectorTarget::kSse4}) {
          const VectorTarget best = vector_target();
          if (threads > 1 || !set_vector_target(lesser)) continue;
          SCOPED_TRACE("instruction set " + std::to_string(static_cast<int>(lesser)));
          run(*tactic, config, threads);
          set_vector_target(best);
        }
      }
    }
  }
  /// Other data in an input, against which the expected results do not count any more.
  StridedCase& replace_input(size_t i, Tensor tensor) {
    prepare();
    inputs_[i].tensor = std::move(tensor);
    return *this;
  }
  std::optional<std::string> refusal(const std::string& tactic_id) {
    prepare();
    return find(tactic_id)->refusal(problem_);
  }

 private:
  struct Input {
    Tensor tensor;
    Storage storage;
    bool constant;
  };

  static const Tactic* find(const std::string& id) {
    static CpuTactics tactics;
    static const bool filled =
        (register_all_cpu_tactics(tactics), tactics.add(make_reference_tactic("reference.node")), true);
    for (const auto& tactic : tactics.all())
      if (filled && tactic->id() == id) return tactic.get();
    return nullptr;
  }

  void prepare() {
    if (!expected_.empty()) return;
    infer_graph(*body_);
    std::vector<Datum> data;
    for (const Input& in : inputs_) data.push_back(in.tensor.is_defined() ? Datum(in.tensor) : Datum());
    expected_ = evaluate_graph(*body_, data);
    region_ = outer_.add_node("wootz", "Region", {});
    region_->attributes.set("body", body_);
    problem_.region = region_;
    for (const Input& in : inputs_) {
      TensorDesc desc;
      if (in.tensor.is_defined()) {
        desc = {in.tensor.dtype(), in.tensor.dims(), strides_for(in.storage, in.tensor.dims()), nullptr};
        if (in.constant) desc.constant = std::make_shared<const Tensor>(in.tensor);
      }
      problem_.inputs.push_back(desc);
    }
    for (size_t i = 0; i < expected_.size(); ++i) {
      const Tensor& t = expected_[i].tensor;
      problem_.outputs.push_back({t.dtype(), t.dims(), strides_for(storages_[i], t.dims()), nullptr});
    }
  }

  void run(const Tactic& tactic, const TacticConfig& config, int threads) {
    std::vector<StridedBuffer> inputs, outputs;
    std::vector<void*> in, out;
    inputs.reserve(inputs_.size());
    outputs.reserve(expected_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const TensorDesc& desc = problem_.inputs[i];
      if (desc.constant || desc.dtype == DType::kUndefined) {
        in.push_back(nullptr);
        continue;
      }
      inputs.emplace_back(desc.dtype, desc.dims, desc.strides);
      inputs.back().fill(inputs_[i].tensor);
      in.push_back(inputs.back().data());
    }
    for (const TensorDesc& desc : problem_.outputs) {
      outputs.emplace_back(desc.dtype, desc.dims, desc.strides);
      out.push_back(outputs.back().data());
    }
    const Packed packed = tactic.pack(problem_, config);
    const std::unique_ptr<Kernel> kernel = tactic.make_kernel(problem_, config, packed);
    const Tensor workspace =
        Tensor::zeros(DType::kUint8, {static_cast<int64_t>(kernel->workspace_bytes()) + 64});
    CpuStream stream(threads);
    for (int repeat = 0; repeat < 2; ++repeat)  // a kernel's state must not leak into the next run
      kernel->launch({in.data(), out.data(), const_cast<void*>(workspace.data()), &stream});
    if (std::exception_ptr error = stream.take_error()) std::rethrow_exception(error);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(outputs[i].gaps_are_untouched()) << "result " << i;
      compare(outputs[i].gather(), expected_[i].tensor, i);
    }
  }

  void compare(const Tensor& found, const Tensor& expected, size_t output) const {
    const std::vector<double> a = found.to_doubles(), b = expected.to_doubles();
    int shown = 0;
    for (size_t i = 0; i < a.size() && shown < 5; ++i) {
      const bool close = std::isnan(b[i]) ? std::isnan(a[i])
                         : std::isinf(b[i])
                             ? a[i] == b[i]
                             : std::fabs(a[i] - b[i]) <= relative_ * std::fabs(b[i]) + absolute_;
      if (!close)
        ++shown, ADD_FAILURE() << "result " << output << " element " << i << ": expected " << b[i]
                               << ", found " << a[i];
    }
  }

  std::shared_ptr<Graph> body_;
  Graph outer_;
  Node* region_ = nullptr;
  std::map<std::string, Value*> values_;
  std::vector<Input> inputs_;
  std::vector<Storage> storages_;
  std::vector<Datum> expected_;
  Problem problem_;
  double relative_ = 1e-6, absolute_ = 1e-6;
};

/// Random numbers of any dtype; floats in [-scale, scale], integers in [-scale, scale] or [0, scale].
inline Tensor random_tensor(DType dtype, Dims dims, int seed = 1, double scale = 2) {
  Tensor t = Tensor::zeros(dtype, std::move(dims));
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> uniform(-1, 1);
  visit_numeric(dtype, [&](auto element) {
    using T = decltype(element);
    for (int64_t i = 0; i < t.size(); ++i) {
      const double x = uniform(generator) * scale;
      if constexpr (std::is_same_v<T, bool>)
        t.as<T>()[i] = x > 0;
      else if constexpr (std::is_integral_v<T>)
        t.as<T>()[i] = static_cast<T>(std::is_signed_v<T> ? std::llround(x) : std::llround(std::fabs(x)));
      else if constexpr (std::is_floating_point_v<T>)
        t.as<T>()[i] = static_cast<T>(x);
      else if constexpr (std::is_constructible_v<T, double>)
        t.as<T>()[i] = T(x);
    }
  });
  return t;
}

/// Values that break careless kernels, among ordinary ones.
inline Tensor extreme_tensor(Dims dims, int seed = 1) {
  Tensor t = random_tensor(DType::kFloat32, std::move(dims), seed);
  const float odd[] = {0.0f,
                       -0.0f,
                       1e-42f,
                       -1e-42f,
                       3e38f,
                       -3e38f,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(),
                       1e-20f,
                       87.0f,
                       -104.0f};
  for (int64_t i = 0; i < t.size(); i += 3)
    t.as<float>()[i] = odd[static_cast<size_t>(i / 3) % std::size(odd)];
  return t;
}

template <class... Pairs>
Attributes attributes_of(Pairs&&... pairs) {
  Attributes a;
  (a.set(pairs.first, Attribute(pairs.second)), ...);
  return a;
}
using AttributePair = std::pair<std::string, Attribute>;

}  // namespace wootz
