// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/cuda/cuda_kernel.h"
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
                            {}});
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

void EmulatedSuite::execute(const Planned& planned, void* library) {
  EmulatedProblem& p = planned.entry->problem;
  std::vector<StridedBuffer> inputs, outputs;
  std::vector<void*> in, out;
  inputs.reserve(p.inputs_.size());
  outputs.reserve(p.expected_.size());
  for (size_t i = 0; i < p.inputs_.size(); ++i) {
    TensorDesc desc = p.problem_.inputs[i];
    if (desc.dtype == DType::kUndefined) {
      in.push_back(nullptr);
      continue;
    }
    if (desc.constant) desc.strides = contiguous_strides(desc.dims);
    inputs.emplace_back(desc.dtype, desc.dims, desc.strides);
    inputs.back().fill(p.inputs_[i].tensor);
    in.push_back(inputs.back().data());
  }
  for (const TensorDesc& desc : p.problem_.outputs) {
    outputs.emplace_back(desc.dtype, desc.dims, desc.strides);
    out.push_back(outputs.back().data());
  }
  std::vector<uint64_t> workspace(planned.plan.workspace_bytes / 8 + 10, 0xABABABABABABABABull);
  auto* work = reinterpret_cast<char*>(workspace.data());
  work += 64 - reinterpret_cast<uintptr_t>(work) % 64;
  for (int repeat = 0; repeat < 2; ++repeat) {  // a kernel's state must not leak into the next run
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
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i].gaps_are_untouched()) << "result " << i;
    const Tensor found = outputs[i].gather();
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

void EmulatedSuite::run(const std::string& name) {
  if (std::system("g++ --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no g++ here: generated kernels cannot be compiled";
  plan();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("wootz_emulated_" + name + "_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string source = folder / "kernels.cpp", library = folder / "kernels.so";
  std::ofstream(source) << "#include \"" << WOOTZ_TESTS << "/cuda/emulation.h\"\n" << text();
  const std::string command =
      "g++ -std=c++17 -O0 -w -fPIC -shared " + source + " -o " + library + " 2> " + source + ".log";
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
