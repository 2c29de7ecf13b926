// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/pointwise/pointwise_plan.h"

#include <algorithm>

#include "backends/cuda/codegen/main_view.h"

namespace wootz {
namespace {

constexpr int64_t kMostVector = 16;  // neighbours of one thread

/// How a thread gets an operand's elements for its group of neighbours.
enum class Access : uint8_t { kImmediate, kVector, kRepeated, kGathered };

class Planner {
 public:
  Planner(const Problem& problem, const TacticConfig& config) : problem_(problem), config_(config) {}

  LaunchPlan plan() {
    std::optional<LoweredProgram> lowered = lower_pointwise(problem_.body());
    if (!lowered) return LaunchPlan::refuse("the region is not made of pointwise nodes with a scalar form");
    lowered_ = std::move(*lowered);
    if (const std::string why = read_operands(); !why.empty()) return LaunchPlan::refuse(why);
    LaunchPlan plan;
    if (problem_.outputs[0].size() == 0) return plan;
    choose_vector();
    plan.launches.push_back(write());
    return plan;
  }

 private:
  std::string read_operands() {
    if (problem_.outputs.empty() || lowered_.program.results.size() != problem_.outputs.size())
      return "no results";
    if (auto why = program_refusal(lowered_.program)) return *why;
    const Dims& dims = problem_.outputs[0].dims;
    std::vector<Dims> strides;
    for (const TensorDesc& output : problem_.outputs) {
      if (output.dims != dims) return "results of different shapes";
      strides.push_back(output.strides);
    }
    for (const Value* operand : lowered_.operands)
      inputs_.push_back(body_input_index(problem_.body(), operand));
    add_constant_immediates(problem_, inputs_, lowered_.program);
    access_.assign(inputs_.size(), Access::kGathered);
    for (const auto& immediate : lowered_.program.immediates)
      access_[static_cast<size_t>(immediate.first)] = Access::kImmediate;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      Dims own(dims.size(), 0);
      if (access_[k] != Access::kImmediate) {
        if (inputs_[k] < 0) return "an operand that is not an input";
        const TensorDesc& desc = problem_.inputs[static_cast<size_t>(inputs_[k])];
        const std::optional<Dims> broadcast = broadcast_to(desc.dims, device_strides(desc), dims);
        if (!broadcast) return "an operand does not broadcast to the results";
        own = *broadcast;
      }
      strides.push_back(own);
    }
    walk_ = Walk::make(dims, std::move(strides), 0);
    return walk_.dims.size() > 16 ? "more than 16 dimensions" : "";
  }

  size_t operand(size_t k) const { return problem_.outputs.size() + k; }  // in the walk
  const TensorDesc& input(size_t k) const { return problem_.inputs[static_cast<size_t>(inputs_[k])]; }

  /// Whether groups of `count` neighbours of this operand are 16-byte pieces, its base being aligned.
  bool is_vector(size_t at, int64_t count) const {
    const Dims& s = walk_.strides[at];
    if (s.back() != 1) return false;
    for (size_t d = 0; d + 1 < s.size(); ++d)
      if (s[d] % count != 0) return false;
    return true;
  }

  void choose_vector() {
    size_t smallest = 8;
    for (const TensorDesc& output : problem_.outputs) smallest = std::min(smallest, dtype_size(output.dtype));
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (access_[k] != Access::kImmediate) smallest = std::min(smallest, dtype_size(input(k).dtype));
    vector_ =
        std::min<int64_t>(smallest == 1 ? kMostVector / 2 : 16 / static_cast<int64_t>(smallest), kMostVector);
    flat_ = true;  // all outputs dense: groups may cross rows
    for (size_t i = 0; i < problem_.outputs.size(); ++i) flat_ = flat_ && walk_.is_dense(i);
    const bool divides = walk_.inner() % vector_ == 0;
    if (walk_.dims.size() == 1 || divides) flat_ = flat_ && walk_.dims.size() == 1;
    if (!flat_)
      while (vector_ > 1 && (walk_.inner() % vector_ != 0 || !is_vector(0, vector_))) vector_ /= 2;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (access_[k] == Access::kImmediate) continue;
      const bool dense = flat_ ? walk_.is_dense(operand(k)) : is_vector(operand(k), vector_);
      const bool repeats = walk_.strides[operand(k)].back() == 0 && (!flat_ || walk_.dims.size() == 1);
      access_[k] = dense ? Access::kVector : repeats ? Access::kRepeated : Access::kGathered;
    }
    for (size_t i = 0; i < problem_.outputs.size(); ++i)
      out_vector_.push_back(flat_ ? walk_.is_dense(i) : is_vector(i, vector_));
  }

  PlannedLaunch write() {
    const int64_t size = walk_.size(), groups = (size + vector_ - 1) / vector_;
    const int64_t threads = groups >= 132 * 512 ? 256 : 128;
    int64_t unroll = config_.get("unroll", groups >= int64_t{132} * 2048 * 4 ? 2 : 1);
    if (groups < threads * unroll) unroll = 1;
    index_ = walk_.fits_32_bits() ? "u32" : "i64";
    KernelWriter writer(problem_);
    names(writer);
    writer << "constexpr int kVector = " << vector_ << ", kUnroll = " << unroll << ";\n";
    writer << "const bool aligned = " << aligned_text() << ";\n";
    writer << "const " << index_ << " first = static_cast<" << index_ << ">(blockIdx.x) * "
           << threads * unroll << " + threadIdx.x;\n";
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (access_[k] == Access::kVector)
        writer << "wz::Vector<" << memory_type(input(k).dtype) << ", kVector> a" << static_cast<int64_t>(k)
               << "[kUnroll];\n";
    open_loop(writer, threads, groups);
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (access_[k] == Access::kVector) load(writer, k, size);
    writer << "}\n";
    open_loop(writer, threads, groups);
    compute(writer, size);
    writer << "}\n";
    return std::move(writer).finish(
        "pointwise", static_cast<uint64_t>((groups + threads * unroll - 1) / (threads * unroll)),
        static_cast<uint32_t>(threads));
  }

  void names(KernelWriter& writer) {
    for (size_t k = 0; k < inputs_.size(); ++k)
      names_.push_back(access_[k] == Access::kImmediate ? "0"
                                                        : writer.input(static_cast<size_t>(inputs_[k])));
    for (size_t i = 0; i < problem_.outputs.size(); ++i) out_names_.push_back(writer.output(i));
  }

  std::string aligned_text() const {
    std::string text;
    const auto add = [&](const std::string& name) {
      text += std::string(text.empty() ? "" : " && ") + "wz::is_aligned(" + name + ")";
    };
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (access_[k] == Access::kVector) add(names_[k]);
    for (size_t i = 0; i < out_names_.size(); ++i)
      if (out_vector_[i]) add(out_names_[i]);
    return text.empty() ? "true" : text;
  }

  void open_loop(KernelWriter& writer, int64_t threads, int64_t groups) const {
    writer << "#pragma unroll\nfor (int u = 0; u < kUnroll; ++u) {\nconst " << index_
           << " group = first + u * " << threads << ";\nif (group >= " << groups << "u) break;\nconst "
           << index_ << " i = group * kVector;\n";
    if (!flat_) writer << coordinates_text("i", walk_.dims, "c", index_);
  }

  std::string at(size_t operand) const {
    if (flat_) return walk_.strides[operand].back() == 0 ? "0" : "i";
    return offset_text(walk_.strides[operand], walk_.dims, "c");
  }
  bool has_rest(int64_t size) const { return flat_ && size % vector_ != 0; }

  void load(KernelWriter& writer, size_t k, int64_t size) const {
    const std::string to = "a" + std::to_string(k) + "[u]", from = names_[k] + " + (" + at(operand(k)) + ")";
    if (has_rest(size))
      writer << "if (i + kVector > " << size << "u) wz::load_first(" << to << ", " << from
             << ", static_cast<int>(" << size << "u - i));\nelse ";
    writer << "wz::load_vector(" << to << ", " << from << ", aligned);\n";
  }

  void compute(KernelWriter& writer, int64_t size) const {
    std::vector<std::string> elements;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const std::string number = std::to_string(k);
      if (access_[k] == Access::kRepeated)
        writer << "const " << register_type(input(k).dtype) << " s" << number << " = wz::load(" << names_[k]
               << "[" << at(operand(k)) << "]);\n";
      elements.push_back(access_[k] == Access::kImmediate  ? "0"
                         : access_[k] == Access::kVector   ? "wz::load(a" + number + "[u].at[j])"
                         : access_[k] == Access::kRepeated ? "s" + number
                                                           : "g" + number);
    }
    for (size_t i = 0; i < out_names_.size(); ++i)
      writer << "wz::Vector<" << memory_type(problem_.outputs[i].dtype) << ", kVector> r"
             << static_cast<int64_t>(i) << ";\n";
    writer << "#pragma unroll\nfor (int j = 0; j < kVector; ++j) {\n";
    if (has_rest(size)) writer << "if (i + j >= " << size << "u) break;\n";
    gather(writer);
    const ProgramText text = program_text(lowered_.program, elements);
    writer << text.statements;
    for (size_t i = 0; i < out_names_.size(); ++i) {
      const std::string value = store_text(problem_.outputs[i].dtype, text.results[i]);
      if (out_vector_[i])
        writer << "r" << static_cast<int64_t>(i) << ".at[j] = " << value << ";\n";
      else
        writer << out_names_[i] << "[" << at(i) << " + j * " << index_ << "(" << walk_.inner_stride(i)
               << ")] = " << value << ";\n";
    }
    writer << "}\n";
    for (size_t i = 0; i < out_names_.size(); ++i)
      if (out_vector_[i]) store(writer, i, size);
  }

  /// Operands of any other strides, element by element.
  void gather(KernelWriter& writer) const {
    bool any = false;
    for (Access a : access_) any = any || a == Access::kGathered;
    if (any && flat_)
      writer << "const " << index_ << " e = i + j;\n" << coordinates_text("e", walk_.dims, "c", index_);
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (access_[k] != Access::kGathered) continue;
      writer << "const " << register_type(input(k).dtype) << " g" << static_cast<int64_t>(k) << " = wz::load("
             << names_[k] << "[" << offset_text(walk_.strides[operand(k)], walk_.dims, "c");
      if (!flat_) writer << " + j * " << index_ << "(" << walk_.inner_stride(operand(k)) << ")";
      writer << "]);\n";
    }
  }

  void store(KernelWriter& writer, size_t i, int64_t size) const {
    const std::string to = out_names_[i] + " + (" + at(i) + ")", from = "r" + std::to_string(i);
    if (has_rest(size))
      writer << "if (i + kVector > " << size << "u) wz::store_first(" << to << ", " << from
             << ", static_cast<int>(" << size << "u - i));\nelse ";
    writer << "wz::store_vector(" << to << ", " << from << ", aligned);\n";
  }

  const Problem& problem_;
  const TacticConfig& config_;
  LoweredProgram lowered_;
  Walk walk_;  // outputs, then operands
  std::vector<int> inputs_;
  std::vector<Access> access_;
  std::vector<bool> out_vector_;
  std::vector<std::string> names_, out_names_;
  int64_t vector_ = 1;
  bool flat_ = false;
  std::string index_ = "u32";
};

}  // namespace

LaunchPlan plan_pointwise(const Problem& problem, const TacticConfig& config) {
  return Planner(problem, config).plan();
}

}  // namespace wootz
