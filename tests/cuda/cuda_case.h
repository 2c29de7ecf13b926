// SPDX-License-Identifier: Apache-2.0
// A region with data for CUDA tactics: compiled for every architecture, and where a GPU is here, run on it
// and held against the region's references. One suite serves both.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "backends/cuda/cuda_target.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "device/device_backend.h"
#include "tests/backends/strided_case.h"

namespace wootz {

/// The backend of a device or architecture ("cuda:0", "cuda:sm_80"), from a registry of the tests' own.
inline const Backend& cuda_backend(const std::string& device) {
  static BackendRegistry registry;
  static const bool filled = (register_all_backends(registry), true);
  return *find_backend(registry, filled ? device : "");
}

inline bool has_nvrtc() {
  std::string reason;
  return cuda::Nvrtc::try_get(reason) != nullptr;
}
inline bool has_gpu() {
  std::string reason;
  return cuda::Driver::try_get(reason) != nullptr;
}

/// Architectures to compile for: all, or those that WOOTZ_TEST_ARCHS names ("sm_80,sm_90a").
inline std::vector<std::string> test_archs() {
  const char* asked = std::getenv("WOOTZ_TEST_ARCHS");
  std::vector<std::string> archs;
  for (const std::string_view name : kCudaArchNames)
    if (!asked || std::string_view(asked).find(name) != std::string_view::npos) archs.emplace_back(name);
  return archs;
}

class CudaCase {
 public:
  CudaCase() : body_(std::make_shared<Graph>()) {}

  /// The next input, named "0", "1", ...; an undefined tensor: left out.
  CudaCase& input(Tensor tensor, Storage storage = Storage::kRowMajor, bool constant = false) {
    Shape shape;
    for (int64_t d : tensor.dims()) shape.emplace_back(d);
    const std::string name = std::to_string(inputs_.size());
    values_[name] = tensor.is_defined() ? body_->add_input(name, Type::tensor(tensor.dtype(), shape))
                                        : body_->add_input(name, Type());
    inputs_.push_back({std::move(tensor), storage, constant});
    return *this;
  }
  CudaCase& constant(Tensor tensor) { return input(std::move(tensor), Storage::kRowMajor, true); }
  /// A constant inside the body, as regions have scalars.
  CudaCase& scalar(const std::string& name, float value) {
    values_[name] = body_->add_constant(name, Tensor::scalar_float(value));
    return *this;
  }
  /// A node of the body; names of inputs ("" for none) and of its results.
  CudaCase& node(std::string op, std::vector<std::string> in, std::vector<std::string> out,
                 Attributes attributes = {}, std::string domain = "") {
    std::vector<Value*> values;
    for (const std::string& name : in) values.push_back(name.empty() ? nullptr : values_.at(name));
    Node* n = body_->add_node(std::move(domain), std::move(op), values);
    n->attributes = std::move(attributes);
    for (const std::string& name : out) values_[name] = n->add_output(name, Type());
    return *this;
  }
  CudaCase& result(const std::string& name, Storage storage = Storage::kRowMajor) {
    body_->add_output(values_.at(name));
    storages_.push_back(storage);
    return *this;
  }
  /// Allowed: relative to the expected element, plus absolute.
  CudaCase& tolerance(double relative, double absolute = 0) {
    relative_ = relative, absolute_ = absolute;
    return *this;
  }

  /// That share of the elements (and one more) may lie one step away: whole numbers rounded from values on
  /// the border.
  CudaCase& ties(double share) {
    ties_ = share;
    return *this;
  }

  /// Float32 products may round to TF32.
  CudaCase& permit_tf32() {
    tf32_ = true;
    return *this;
  }

  /// Compiles less: the first configuration for sm_90a alone, unless WOOTZ_TEST_ARCHS is set. For further
  /// cases of a source that another case compiles everywhere.
  CudaCase& brief() {
    brief_ = !std::getenv("WOOTZ_TEST_ARCHS");
    return *this;
  }

  /// A configuration chosen at another shape: it must hold here too.
  CudaCase& tuned_elsewhere(const std::string& config) {
    elsewhere_.push_back(TacticConfig::parse(config));
    return *this;
  }

  /// A way of a tactic with what it packed, perhaps for another case's shape.
  struct Chosen {
    TacticConfig config;
    Packed packed;
  };
  /// Runs ways that were chosen elsewhere where there is a GPU, else compiles them for sm_90a.
  void expect_chosen(const std::string& tactic_id, const std::vector<Chosen>& ways) {
    prepare();
    const Backend& backend = cuda_backend(has_gpu() ? "cuda:0" : "cuda:sm_90a");
    const Tactic* tactic = find(backend, tactic_id);
    for (const Chosen& way : ways) {
      SCOPED_TRACE(tactic_id + " " + way.config.to_string());
      if (!has_gpu())
        EXPECT_NO_THROW(tactic->make_kernel(problem_, way.config, way.packed));
      else
        run_if_emulated(backend, *tactic, way);
    }
  }

  /// The tactic serves the region on at least one architecture, and on every one that it serves all its
  /// configurations compile (the first one only on architectures other than sm_80 and sm_90a, to save
  /// time). Where a GPU is here and served, each configuration's results are those of the references.
  void expect(const std::string& tactic_id) {
    prepare();
    if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here: nothing can be compiled";
    int served = 0;
    for (const std::string& arch : test_archs())
      if (!brief_ || arch == "sm_90a") served += compile_for(arch, tactic_id);
    EXPECT_TRUE(served > 0 || std::getenv("WOOTZ_TEST_ARCHS"))
        << tactic_id << " serves it nowhere: " << last_refusal_;
    if (has_gpu()) run_on_gpu(tactic_id);
  }
  /// The tactic serves the region on the GPU that is here, and all its ways are right.
  void expect_here(const std::string& tactic_id) {
    prepare();
    EXPECT_EQ(refusal("0", tactic_id).value_or(""), "");
    run_on_gpu(tactic_id);
  }
  /// Why the tactic refuses on an architecture; nothing when it serves.
  std::optional<std::string> refusal(const std::string& arch, const std::string& tactic_id) {
    prepare();
    return find(cuda_backend("cuda:" + arch), tactic_id)->refusal(problem_);
  }
  Problem& problem() {
    prepare();
    return problem_;
  }

 private:
  struct Input {
    Tensor tensor;
    Storage storage;
    bool constant;
  };

  static const Tactic* find(const Backend& backend, const std::string& id) {
    for (const Tactic* t : backend.tactics())
      if (t->id() == id) return t;
    throw Error(ErrorKind::kInternal, "no tactic " + id);
  }

  std::vector<TacticConfig> configs_of(const Tactic& tactic) const {
    std::vector<TacticConfig> list = tactic.configs(problem_);
    list.insert(list.begin(), elsewhere_.begin(), elsewhere_.end());
    return list;
  }

  void prepare() {
    if (!expected_.empty()) return;
    infer_graph(*body_);
    std::vector<Datum> data;
    for (const Input& in : inputs_) data.push_back(in.tensor.is_defined() ? Datum(in.tensor) : Datum());
    expected_ = evaluate_graph(*body_, data);
    region_ = outer_.add_node("wootz", "Region", {});
    region_->attributes.set("body", body_);
    if (tf32_) region_->attributes.set("tf32", int64_t{1});
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

  bool compile_for(const std::string& arch, const std::string& tactic_id) {
    const Tactic* tactic = find(cuda_backend("cuda:" + arch), tactic_id);
    if (auto reason = tactic->refusal(problem_)) {
      last_refusal_ = *reason;
      return false;
    }
    std::vector<TacticConfig> configs = configs_of(*tactic);
    EXPECT_FALSE(configs.empty()) << tactic_id << " offers no configuration for " << arch;
    const bool all = !brief_ && (arch == "sm_80" || arch == "sm_90a");
    if (!all && configs.size() > 1) configs.resize(1);
    std::vector<std::string> failures(configs.size());
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next++; i < configs.size(); i = next++) {
        try {
          tactic->make_kernel(problem_, configs[i], tactic->pack(problem_, configs[i]));
        } catch (const Error& e) {
          failures[i] = e.message();
        }
      }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(work);
    work();
    for (std::thread& t : threads) t.join();
    for (size_t i = 0; i < configs.size(); ++i)
      EXPECT_EQ(failures[i], "") << tactic_id << " " << configs[i].to_string() << " for " << arch;
    return true;
  }

  void run_on_gpu(const std::string& tactic_id) {
    const Backend& backend = cuda_backend("cuda:0");
    const Tactic* tactic = find(backend, tactic_id);
    if (tactic->refusal(problem_)) return;
    for (const TacticConfig& config : configs_of(*tactic)) {
      SCOPED_TRACE(tactic_id + " " + config.to_string());
      run_if_emulated(backend, *tactic, {config, tactic->pack(problem_, config)});
    }
  }

  void run_if_emulated(const Backend& backend, const Tactic& tactic, const Chosen& way) {
    try {
      run(backend, tactic, way);
    } catch (const Error& e) {
      // The stand-in for a GPU compiles C++, not PTX, and has no clusters.
      const bool stand_in = std::getenv("WOOTZ_CUDA_DRIVER") != nullptr;
      if (!stand_in || (e.message().find("asm") == std::string::npos &&
                        e.message().find("clusters are not emulated") == std::string::npos))
        throw;
      std::printf("not emulated: %s %s\n", std::string(tactic.id()).c_str(), way.config.to_string().c_str());
    }
  }

  void run(const Backend& backend, const Tactic& tactic, const Chosen& way) {
    const std::unique_ptr<Kernel> kernel = tactic.make_kernel(problem_, way.config, way.packed);
    const std::unique_ptr<Stream> stream = backend.make_stream(1);
    stream->begin_run();
    std::vector<std::pair<StridedBuffer, char*>> buffers;
    buffers.reserve(problem_.inputs.size() + problem_.outputs.size());
    const auto place = [&](const TensorDesc& desc, const Tensor* from) -> void* {
      buffers.emplace_back(StridedBuffer(desc.dtype, desc.dims, desc.strides), nullptr);
      auto& [buffer, device] = buffers.back();
      if (from) buffer.fill(*from);
      device = static_cast<char*>(backend.allocate(buffer.storage().size_bytes()));
      backend.copy(device, buffer.storage().data(), buffer.storage().size_bytes(), *stream);
      return device + StridedBuffer::kGuard;
    };
    std::vector<void*> in, out;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const TensorDesc& desc = problem_.inputs[i];
      in.push_back(desc.constant || desc.dtype == DType::kUndefined ? nullptr
                                                                    : place(desc, &inputs_[i].tensor));
    }
    const size_t first_output = buffers.size();
    for (const TensorDesc& desc : problem_.outputs) out.push_back(place(desc, nullptr));
    void* workspace = backend.allocate(kernel->workspace_bytes() + 64);
    for (int repeat = 0; repeat < 2; ++repeat)  // a kernel's state must not leak into the next run
      kernel->launch({in.data(), out.data(), workspace, stream.get()});
    if (std::exception_ptr error = stream->take_error()) std::rethrow_exception(error);
    for (auto& [buffer, device] : buffers)
      backend.copy(buffer.storage().data(), device, buffer.storage().size_bytes(), *stream);
    stream->synchronize();
    for (size_t i = 0; i < out.size(); ++i) {
      StridedBuffer& buffer = buffers[first_output + i].first;
      EXPECT_TRUE(buffer.gaps_are_untouched()) << "result " << i;
      compare(buffer.gather(), expected_[i].tensor, i);
    }
    for (auto& [buffer, device] : buffers) backend.release(device);
    backend.release(workspace);
  }

  void compare(const Tensor& found, const Tensor& expected, size_t output) const {
    const std::vector<double> a = found.to_doubles(), b = expected.to_doubles();
    int shown = 0;
    double allowed = ties_ > 0 ? ties_ * static_cast<double>(a.size()) + 1 : 0;
    for (size_t i = 0; i < a.size() && shown < 5; ++i) {
      if (a[i] != b[i] && std::fabs(a[i] - b[i]) <= 1 && allowed >= 1) {
        --allowed;
        continue;
      }
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
  std::vector<TacticConfig> elsewhere_;
  Problem problem_;
  std::string last_refusal_;
  bool brief_ = false, tf32_ = false;
  double relative_ = 1e-6, absolute_ = 1e-6, ties_ = 0;
};

}  // namespace wootz
