// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/cuda/cuda_kernel.h"
#include "tests/cuda/cuda_case.h"
#include "tests/cuda/emulated.h"

namespace wootz {

const CudaTactics& hopper_tactics() {
  static CudaTactics tactics(CudaTarget::typical(CudaArch::parse("sm_90a")));
  static const bool filled = (register_all_cuda_tactics(tactics), true);
  return filled ? tactics : tactics;
}

EmulatedProblem& EmulatedProblem::input(Tensor tensor, Storage storage, bool constant) {
  Shape shape;
  for (int64_t d : tensor.dims()) shape.emplace_back(d);
  const std::string name = std::to_string(inputs_.size());
  Value* value = body_->add_input(name, tensor.is_defined() ? Type::tensor(tensor.dtype(), shape) : Type());
  if (tensor.is_defined() && constant) value->contents = std::nullopt;
  values_[name] = value;
  inputs_.push_back({std::move(tensor), storage, constant});
  return *this;
}

EmulatedProblem& EmulatedProblem::node(std::string op, std::vector<std::string> in,
                                       std::vector<std::string> out, Attributes attributes,
                                       std::string domain) {
  std::vector<Value*> values;
  for (const std::string& name : in) values.push_back(name.empty() ? nullptr : values_.at(name));
  Node* n = body_->add_node(std::move(domain), std::move(op), values);
  n->attributes = std::move(attributes);
  if (!n->subgraphs().empty()) throw Error(ErrorKind::kUnsupported, "a node with a body of its own");
  for (const std::string& name : out) values_[name] = n->add_output(name, Type());
  return *this;
}

EmulatedProblem& EmulatedProblem::result(const std::string& name, Storage storage) {
  body_->add_output(values_.at(name));
  storages_.push_back(storage);
  return *this;
}

EmulatedProblem& EmulatedProblem::sample(const OpDef& def, const Sample& sample) {
  std::vector<std::string> in, out;
  for (const Datum& datum : sample.inputs) {
    if (datum.kind == Datum::Kind::kNone) {
      in.emplace_back();
      continue;
    }
    if (datum.kind != Datum::Kind::kTensor) throw Error(ErrorKind::kUnsupported, "not a tensor");
    in.push_back(std::to_string(inputs_.size()));
    const bool is_short = datum.tensor.rank() <= 1 && datum.tensor.size() <= 64;
    const bool constant = is_short && (!is_float(datum.tensor.dtype()) || datum.tensor.rank() == 0 ||
                                       (def.name == "Resize" || def.name == "Upsample"));
    input(datum.tensor, Storage::kRowMajor, constant);
  }
  for (int i = 0; i < sample.output_count; ++i) out.push_back("y" + std::to_string(i));
  node(def.name, in, out, sample.attributes, def.domain);
  for (const std::string& name : out) result(name);
  return *this;
}

void EmulatedProblem::prepare() {
  std::vector<Datum> data;
  for (const Input& in : inputs_) data.push_back(in.tensor.is_defined() ? Datum(in.tensor) : Datum());
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].constant && inputs_[i].tensor.is_defined())
      body_->inputs()[i]->constant = std::make_shared<const Tensor>(inputs_[i].tensor);  // for inference
  infer_graph(*body_);
  for (Value* v : body_->inputs()) v->constant = nullptr;
  expected_ = evaluate_graph(*body_, data);
  Node* region = outer_.add_node("wootz", "Region", {});
  region->attributes.set("body", body_);
  problem_.region = region;
  for (const Input& in : inputs_) {
    TensorDesc desc;
    if (in.tensor.is_defined()) {
      desc = {in.tensor.dtype(), in.tensor.dims(), strides_for(in.storage, in.tensor.dims()), nullptr};
      if (in.constant) desc.constant = std::make_shared<const Tensor>(in.tensor);
    }
    problem_.inputs.push_back(desc);
  }
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (expected_[i].kind != Datum::Kind::kTensor) throw Error(ErrorKind::kUnsupported, "not a tensor");
    const Tensor& t = expected_[i].tensor;
    problem_.outputs.push_back({t.dtype(), t.dims(), strides_for(storages_[i], t.dims()), nullptr});
  }
}

EmulatedProblem& EmulatedSuite::add(std::string label, std::string tactic_id) {
  Entry& entry = entries_.emplace_back();
  entry.label = std::move(label);
  entry.tactic_id = std::move(tactic_id);
  return entry.problem;
}

void EmulatedSuite::plan() {
  for (Entry& entry : entries_) {
    SCOPED_TRACE(entry.label);
    entry.problem.prepare();
    bool served = entry.tactic_id.empty();
    for (const auto& tactic : hopper_tactics().all()) {
      const auto* planner = dynamic_cast<const PlannedTactic*>(tactic.get());
      if (!planner || (!entry.tactic_id.empty() && planner->id() != entry.tactic_id)) continue;
      if (const auto refusal = planner->refusal(entry.problem.problem())) {
        EXPECT_TRUE(entry.tactic_id.empty()) << planner->id() << " refuses: " << *refusal;
        served = true;
        continue;
      }
      served = true;
      std::vector<TacticConfig> configs = planner->configs(entry.problem.problem());
      if (entry.tactic_id.empty()) configs.resize(1);
      for (const TacticConfig& config : configs)
        planned_.push_back({&entry,
                            entry.label + " by " + std::string(planner->id()) + " " + config.to_string(),
                            planner->plan(entry.problem.problem(), config),
                            {},
                            std::string(planner->id()),
                            config});
    }
    EXPECT_TRUE(served) << "no tactic " << entry.tactic_id;
  }
}

std::string EmulatedSuite::text() {
  std::string text(cuda_source("base/elements.cuh"));
  text += cuda_source("base/scalar.cuh");
  std::vector<std::string> headers;
  std::string kernels;
  std::map<std::string, size_t> numbers;  // equal kernels are compiled once
  for (Planned& planned : planned_) {
    for (const PlannedLaunch& launch : planned.plan.launches) {
      const auto [known, is_new] = numbers.emplace(launch.code, numbers.size());
      planned.kernels.push_back(known->second);
      if (launch.code.empty() || !is_new) continue;
      const std::string number = std::to_string(known->second);
      for (const std::string& header : launch.headers)
        if (std::find(headers.begin(), headers.end(), header) == headers.end()) {
          headers.push_back(header);
          text += cuda_source(header);
        }
      kernels += "namespace k" + number + " {\n" + launch.code + "}\nstatic void call" + number +
                 "(void** a) { k" + number + "::" + launch.function + "(";
      for (size_t i = 0; i < launch.operands.size(); ++i)
        kernels += (i ? ", a[" : "a[") + std::to_string(i) + "]";
      kernels += "); }\nextern \"C\" void run" + number +
                 "(void** a, u64 grid, u32 threads) { emulation::launch(call" + number +
                 ", a, grid, threads); }\n";
    }
  }
  return text + kernels;
}

/// Inputs filled, outputs poisoned; constants are inputs too.
struct EmulatedSuite::Buffers {
  explicit Buffers(const EmulatedProblem& p) {
    for (size_t i = 0; i < p.inputs_.size(); ++i) {
      TensorDesc desc = p.problem_.inputs[i];
      if (desc.constant) desc.strides = contiguous_strides(desc.dims);
      inputs.emplace_back();
      if (desc.dtype == DType::kUndefined) continue;
      inputs.back().emplace(desc.dtype, desc.dims, desc.strides);
      inputs.back()->fill(p.inputs_[i].tensor);
    }
    for (const TensorDesc& desc : p.problem_.outputs)
      outputs.emplace_back(desc.dtype, desc.dims, desc.strides);
  }
  std::vector<std::optional<StridedBuffer>> inputs;
  std::vector<StridedBuffer> outputs;
};

/// A copy of a buffer that starts one element beyond a 16-byte border, as views may.
class ShiftedCopy {
 public:
  ShiftedCopy(StridedBuffer& buffer, size_t element)
      : buffer_(buffer), bytes_(buffer.storage().size_bytes() + 64) {
    place_ = bytes_.data() + (16 - reinterpret_cast<uintptr_t>(bytes_.data()) % 16) % 16 + element % 16;
    std::memcpy(place_, buffer.storage().data(), buffer.storage().size_bytes());
  }
  char* data() const { return place_ + StridedBuffer::kGuard; }
  void copy_back() const { std::memcpy(buffer_.storage().data(), place_, buffer_.storage().size_bytes()); }

 private:
  StridedBuffer& buffer_;
  std::vector<char> bytes_;
  char* place_;
};

/// Twice: a kernel's state must not leak into the next run, which finds its operands at any address.
void EmulatedSuite::execute(const Planned& planned, void* library) {
  const EmulatedProblem& p = planned.entry->problem;
  Buffers buffers(p);
  std::deque<ShiftedCopy> shifted;
  std::vector<char*> in(buffers.inputs.size()), out;
  for (size_t i = 0; i < in.size(); ++i)
    if (buffers.inputs[i]) in[i] = static_cast<char*>(buffers.inputs[i]->data());
  for (StridedBuffer& buffer : buffers.outputs) out.push_back(static_cast<char*>(buffer.data()));
  std::vector<uint64_t> workspace(planned.plan.workspace_bytes / 8 + 10, 0xABABABABABABABABull);
  auto* work = reinterpret_cast<char*>(workspace.data());
  work += 64 - reinterpret_cast<uintptr_t>(work) % 64;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (size_t l = 0; l < planned.plan.launches.size(); ++l) {
      const PlannedLaunch& launch = planned.plan.launches[l];
      if (launch.code.empty()) {
        std::memset(work + launch.clear_offset, 0, launch.clear_bytes);
        continue;
      }
      std::vector<void*> arguments;
      for (const PlannedOperand& operand : launch.operands)
        arguments.push_back(operand.kind == PlannedOperand::Kind::kInput    ? in[operand.index]
                            : operand.kind == PlannedOperand::Kind::kOutput ? out[operand.index]
                                                                            : work + operand.offset);
      using Run = void (*)(void**, unsigned long long, unsigned);
      const auto run =
          reinterpret_cast<Run>(dlsym(library, ("run" + std::to_string(planned.kernels[l])).c_str()));
      ASSERT_NE(run, nullptr);
      run(arguments.data(), launch.grid, launch.threads);
    }
    for (const ShiftedCopy& copy : shifted) copy.copy_back();
    compare(buffers, p);
    if (repeat == 1) break;
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i])
        in[i] = shifted.emplace_back(*buffers.inputs[i], dtype_size(p.problem_.inputs[i].dtype)).data();
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = shifted.emplace_back(buffers.outputs[i], dtype_size(p.problem_.outputs[i].dtype)).data();
  }
}

void EmulatedSuite::compare(Buffers& buffers, const EmulatedProblem& p) {
  for (size_t i = 0; i < buffers.outputs.size(); ++i) {
    EXPECT_TRUE(buffers.outputs[i].gaps_are_untouched()) << "result " << i;
    const Tensor found = buffers.outputs[i].gather();
    const std::vector<double> a = found.to_doubles(), b = p.expected_[i].tensor.to_doubles();
    double scale = 0;
    for (double v : b)
      if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
    const DType dtype = found.dtype();
    const double rounding = dtype == DType::kFloat16 ? 2e-3 : dtype == DType::kBFloat16 ? 1.6e-2 : 0;
    int shown = 0;
    for (size_t k = 0; k < a.size() && shown < 3; ++k) {
      const double allowed = is_float(dtype) ? p.relative_ * std::fabs(b[k]) + p.absolute_ +
                                                   rounding * (std::fabs(b[k]) + 0.3 * scale)
                                             : 0;
      const bool close = std::isnan(b[k])   ? std::isnan(a[k])
                         : std::isinf(b[k]) ? a[k] == b[k]
                                            : std::fabs(a[k] - b[k]) <= allowed;
      if (!close)
        ++shown, ADD_FAILURE() << "result " << i << " element " << k << ": expected " << b[k] << ", found "
                               << a[k];
    }
  }
}

/// Kernels are compiled on all cores, then run one after another.
void EmulatedSuite::run_on_device() {
  const Backend& backend = cuda_backend("cuda:0");
  std::map<std::string_view, const Tactic*> tactics;
  for (const Tactic* t : backend.tactics()) tactics[t->id()] = t;
  std::vector<std::unique_ptr<Kernel>> kernels(planned_.size());
  std::vector<std::string> failures(planned_.size());
  std::atomic<size_t> next{0};
  const auto compile = [&] {
    for (size_t i = next++; i < planned_.size(); i = next++) {
      try {
        const Tactic* tactic = tactics.at(planned_[i].tactic_id);
        const Problem& problem = planned_[i].entry->problem.problem();
        if (!tactic->refusal(problem)) kernels[i] = tactic->make_kernel(problem, planned_[i].config, {});
      } catch (const Error& e) {
        failures[i] = e.message();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(compile);
  compile();
  for (std::thread& t : threads) t.join();
  const std::unique_ptr<Stream> stream = backend.make_stream(1);
  for (size_t i = 0; i < planned_.size(); ++i) {
    SCOPED_TRACE(planned_[i].label + " on the GPU");
    EXPECT_EQ(failures[i], "");
    if (!kernels[i]) continue;
    const EmulatedProblem& p = planned_[i].entry->problem;
    Buffers buffers(p);
    std::vector<char*> places;
    const auto place = [&](StridedBuffer& buffer) -> void* {
      places.push_back(static_cast<char*>(backend.allocate(buffer.storage().size_bytes())));
      backend.copy(places.back(), buffer.storage().data(), buffer.storage().size_bytes(), *stream);
      return places.back() + StridedBuffer::kGuard;
    };
    std::vector<void*> in, out;
    for (size_t k = 0; k < buffers.inputs.size(); ++k)
      in.push_back(buffers.inputs[k] && !p.problem_.inputs[k].constant ? place(*buffers.inputs[k]) : nullptr);
    const size_t first = places.size();
    for (StridedBuffer& buffer : buffers.outputs) out.push_back(place(buffer));
    void* workspace = backend.allocate(kernels[i]->workspace_bytes() + 64);
    stream->begin_run();
    for (int repeat = 0; repeat < 2; ++repeat)
      kernels[i]->launch({in.data(), out.data(), workspace, stream.get()});
    for (size_t k = 0; k < buffers.outputs.size(); ++k)
      backend.copy(buffers.outputs[k].storage().data(), places[first + k],
                   buffers.outputs[k].storage().size_bytes(), *stream);
    stream->synchronize();
    if (std::exception_ptr error = stream->take_error()) std::rethrow_exception(error);
    compare(buffers, p);
    for (char* p_device : places) backend.release(p_device);
    backend.release(workspace);
  }
}

void EmulatedSuite::run(const std::string& name) {
  plan();
  if (has_gpu()) return run_on_device();
  if (std::system("g++ --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no g++ here: generated kernels cannot be compiled";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("wootz_emulated_" + name + "_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string source = folder / "kernels.cpp", library = folder / "kernels.so";
  std::ofstream(source) << "#include \"" << WOOTZ_TESTS << "/cuda/emulation.h\"\n" << text();
  const std::string command = "g++ -std=c++17 " + std::string(name == "attention" ? "-O1" : "-O0") +
                              " -w -march=native -fPIC -shared " + source + " -o " + library + " 2> " +
                              source + ".log";
  const bool compiled = std::system(command.c_str()) == 0;
  if (!compiled) {
    std::ifstream log(source + ".log");
    std::string line, all;
    for (int i = 0; i < 30 && std::getline(log, line); ++i) all += line + "\n";
    FAIL() << "g++ refuses " << source << ":\n" << all;
  }
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  for (const Planned& planned : planned_) {
    SCOPED_TRACE(planned.label);
    execute(planned, handle);
  }
  dlclose(handle);
  if (!std::getenv("WOOTZ_KEEP_EMULATED")) std::filesystem::remove_all(folder);
}

}  // namespace wootz
