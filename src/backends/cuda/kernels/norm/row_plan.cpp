// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/norm/row_plan.h"

#include <algorithm>

#include "backends/cuda/kernels/norm/row_operator.h"

namespace wootz {
namespace {

constexpr int64_t kMostHeld = 32;  // elements of a row that one thread keeps
constexpr int64_t kMostThreads = 512;
/// With more rows than run at once, registers for more blocks are worth more than parameters that wait.
constexpr int64_t kMostEarlyRows = 4096;

int64_t power_of_two_above(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

class Planner {
 public:
  Planner(const MainView& view, RowOperator op, const TacticConfig& config)
      : view_(view), op_(std::move(op)), config_(config) {}

  LaunchPlan plan() {
    LaunchPlan plan;
    split();
    if (kept_.size() * length_ == 0) return plan;
    index_ = kept_.fits_32_bits() && reduced_.fits_32_bits() && kept_.size() * length_ < (int64_t{1} << 31)
                 ? "u32"
                 : "i64";
    choose();
    KernelWriter writer(view_.problem());
    writer.header("reduction/folds.cuh");
    writer.before() +=
        std::string("using A = ") + (view_.input(0).dtype == DType::kFloat64 ? "double" : "float") + ";\n";
    head(writer);
    if (held_ > 0) {
      load_held(writer);
      load_parameters(writer);
    }
    phases(writer);
    results(writer);
    row_outputs(writer);
    plan.launches.push_back(
        std::move(writer).finish("rows", static_cast<uint64_t>((kept_.size() + per_block_ - 1) / per_block_),
                                 static_cast<uint32_t>(threads_ * per_block_)));
    return plan;
  }

 private:
  // Operands of the walks: result, data, tail operands, parameters.
  size_t tail_at(size_t k) const { return 2 + k; }
  size_t parameter_at(size_t k) const { return 2 + op_.tail_strides.size() + k; }

  void split() {
    std::vector<Dims> all = {op_.result_strides, op_.data_strides};
    all.insert(all.end(), op_.tail_strides.begin(), op_.tail_strides.end());
    for (const auto& p : op_.parameters) all.push_back(p.strides);
    Dims kept, reduced;
    std::vector<Dims> kept_strides(all.size()), reduced_strides(all.size());
    for (size_t d = 0; d < op_.dims.size(); ++d) {
      (op_.reduced[d] ? reduced : kept).push_back(op_.dims[d]);
      for (size_t k = 0; k < all.size(); ++k)
        (op_.reduced[d] ? reduced_strides : kept_strides)[k].push_back(all[k][d]);
    }
    // A row's statistics lie in the logical order of the kept dims.
    Dims logical = contiguous_strides(kept);
    kept_strides.push_back(logical);
    length_ = element_count(reduced);
    kept_ = Walk::make(kept, std::move(kept_strides), 0);
    // Places count in logical order where they matter: one axis, or dims that the walk keeps in order.
    reduced_ = Walk::make(reduced, std::move(reduced_strides), 1);
  }

  bool divides(int64_t width) const {
    if (length_ % width != 0) return false;
    for (size_t k : {size_t(0), size_t(1)})
      for (int64_t s : kept_.strides[k])
        if (s % width != 0) return false;
    return true;
  }

  void choose() {
    const int64_t rows = kept_.size();
    const bool line =
        reduced_.dims.size() == 1 && reduced_.inner_stride(0) == 1 && reduced_.inner_stride(1) == 1;
    const int64_t asked = config_.get("threads", 0);
    if (line) {
      const size_t bytes = std::max(dtype_size(view_.input(0).dtype), dtype_size(view_.result().dtype));
      width_ = 16 / static_cast<int64_t>(bytes);
      while (width_ > 1 && !divides(width_)) width_ /= 2;
      const int64_t groups = (length_ + width_ - 1) / width_;
      threads_ = asked ? asked
                 : length_ <= 32 * kMostHeld
                     ? std::min<int64_t>(32, power_of_two_above(groups))
                     : std::clamp<int64_t>(power_of_two_above((length_ + 15) / 16), 64, kMostThreads);
      if (config_.get("even") && length_ <= 32 * kMostHeld) {
        int64_t lanes = 32;
        while (groups % lanes != 0) lanes /= 2;
        if (groups / lanes * width_ <= kMostHeld) threads_ = lanes;
      }
      held_ = (groups + threads_ - 1) / threads_;
      if (held_ * width_ > kMostHeld) held_ = 0;
    }
    if (held_ == 0) {
      width_ = 1;
      const bool columns =
          kept_.strides[1].back() == 1 && kept_.inner() >= 8 && reduced_.inner_stride(1) != 1;
      threads_ = columns ? 1 : length_ < 512 ? 32 : length_ >= 16384 && rows < 264 ? 1024 : 256;
    }
    const int64_t most = threads_ >= 256 ? 1 : 256 / threads_;
    per_block_ =
        threads_ > 32 ? 1 : std::clamp<int64_t>(rows / 132, std::max<int64_t>(1, 32 / threads_), most);
  }

  void head(KernelWriter& writer) {
    const int64_t rows = kept_.size();
    writer.early() += "constexpr int kThreads = " + std::to_string(threads_) +
                      ", kWidth = " + std::to_string(width_) +
                      ";\nconst u32 lane = threadIdx.x % kThreads;\n";
    if (held_ > 0) writer.early() += "constexpr int kHeld = " + std::to_string(held_) + ";\n";
    writer << "const " << index_ << " row = static_cast<" << index_ << ">(blockIdx.x) * " << per_block_
           << " + threadIdx.x / kThreads;\nconst bool live = row < " << rows << "u;\n"
           << coordinates_text("row", kept_.dims, "k", index_);
    x_ = writer.input(view_.input_index(0)), y_ = writer.output(op_result_index());
    writer << "const " << memory_type(view_.input(0).dtype) << "* from = " << x_ << " + (" << kept_offset(1)
           << ");\n"
           << memory_type(view_.result().dtype) << "* to = " << y_ << " + (" << kept_offset(0) << ");\n"
           << "const bool aligned = wz::is_aligned(" << x_ << ") && wz::is_aligned(" << y_ << ");\n";
    if (view_.keeps_main()) {
      const std::string second = writer.output(1);
      writer << memory_type(view_.tail_result().dtype) << "* to_second = " << second << " + ("
             << kept_offset(0) << ");\nconst bool second_aligned = wz::is_aligned(" << second << ");\n";
    }
    operands(writer);
  }
  size_t op_result_index() const {
    return view_.has_tail() && !view_.keeps_main() ? 0 : view_.output_index(0);
  }
  std::string kept_offset(size_t operand) const {
    return offset_text(kept_.strides[operand], kept_.dims, "k");
  }

  /// Base pointers of tail operands and parameters for this row.
  void operands(KernelWriter& writer) {
    const auto add = [&](size_t input, size_t at, const std::string& name) {
      const std::string p = writer.input(input);
      writer << "const " << memory_type(view_.problem().inputs[input].dtype) << "* " << name << " = " << p
             << " + (" << kept_offset(at) << ");\n";
    };
    const auto tails = view_.tail_operands();
    for (size_t k = 0; k < tails.size(); ++k) add(tails[k].input, tail_at(k), "tail_at" + std::to_string(k));
    for (size_t k = 0; k < op_.parameters.size(); ++k)
      add(op_.parameters[k].input, parameter_at(k), "parameter" + std::to_string(k));
  }

  void load_held(KernelWriter& writer) {
    const std::string type(memory_type(view_.input(0).dtype));
    writer << "A held[kHeld][kWidth];\n#pragma unroll\nfor (int h = 0; h < kHeld; ++h) {\nconst u32 e0 = (h "
              "* kThreads + lane) * "
              "kWidth;\n"
           << "if (!live || e0 >= " << length_ << "u) break;\nwz::Vector<" << type << ", kWidth> in;\n"
           << "wz::load_vector(in, from + e0, aligned);\n#pragma unroll\n"
           << "for (int j = 0; j < kWidth; ++j) held[h][j] = static_cast<A>(wz::load(in.at[j]));\n}\n";
  }

  /// Whether every row has the same constant parameters, side by side.
  bool is_early(size_t k) const {
    const size_t at = parameter_at(k);
    const bool same =
        std::all_of(kept_.strides[at].begin(), kept_.strides[at].end(), [](int64_t s) { return s == 0; });
    return held_ > 0 && kept_.size() <= kMostEarlyRows && same && reduced_.dims.size() == 1 &&
           reduced_.inner_stride(at) == 1 && view_.problem().inputs[op_.parameters[k].input].constant;
  }

  /// Scales and biases arrive while the kernel waits for the one before it.
  void load_parameters(KernelWriter& writer) const {
    for (size_t k = 0; k < op_.parameters.size(); ++k) {
      if (!is_early(k)) continue;
      const size_t input = op_.parameters[k].input;
      const std::string from = writer.input(input), name = early_name(k);
      writer.early() += "wz::Vector<" + std::string(memory_type(view_.problem().inputs[input].dtype)) +
                        ", kWidth> " + name +
                        "[kHeld];\n#pragma unroll\nfor (int h = 0; h < kHeld; ++h) {\n"
                        "const u32 e0 = (h * kThreads + lane) * kWidth;\nif (e0 < " +
                        std::to_string(length_) + "u) wz::load_vector(" + name + "[h], " + from +
                        " + e0, wz::is_aligned(" + from + "));\n}\n";
    }
  }
  static std::string early_name(size_t k) { return "early_p" + std::to_string(k); }

  void open_elements(KernelWriter& writer) const {
    if (held_ > 0) {
      writer << "#pragma unroll\nfor (int h = 0; h < kHeld; ++h) {\nconst u32 e0 = (h * kThreads + lane) * "
                "kWidth;\n"
             << "if (!live || e0 >= " << length_ << "u) break;\n";
    } else {
      writer << "if (live)\n#pragma unroll 4\nfor (" << index_ << " e = lane; e < " << length_
             << "u; e += kThreads) {\n"
             << coordinates_text("e", reduced_.dims, "r", index_)
             << "const A v = static_cast<A>(wz::load(from["
             << offset_text(reduced_.strides[1], reduced_.dims, "r") << "]));\n";
    }
  }

  void phases(KernelWriter& writer) const {
    for (size_t i = 0; i < op_.phases.size(); ++i) {
      const RowPhase& phase = op_.phases[i];
      const std::string fold = "Fold" + std::to_string(i), acc = "acc" + std::to_string(i);
      writer << "using " << fold << " = " << phase.fold << ";\n"
             << fold << "::Acc " << acc << " = " << fold << "::start();\n";
      open_elements(writer);
      if (held_ > 0) {
        writer << "#pragma unroll\nfor (int j = 0; j < kWidth; ++j) {\nconst u32 e = e0 + j;\nA& v = "
                  "held[h][j];\n";
        if (!phase.replace.empty())
          writer << "v = " << phase.replace << ";\n" << fold << "::step(" << acc << ", v, e);\n}\n}\n";
        else
          writer << fold << "::step(" << acc << ", " << phase.element << ", e);\n}\n}\n";
      } else {
        writer << fold << "::step(" << acc << ", " << phase.element << ", e);\n}\n";
      }
      std::string statistic = phase.statistic;
      const size_t at = statistic.find("acc");
      statistic.replace(at, 3, acc);
      writer << acc << " = wz::join_threads<" << fold << ", kThreads>(" << acc << ");\n" << statistic << "\n";
    }
  }

  /// An operand's elements for one group of neighbours: a vector where they are neighbours too.
  std::string operand_element(KernelWriter& writer, size_t at, size_t input, const std::string& base,
                              const std::string& name) const {
    const int64_t stride = reduced_.dims.size() == 1 ? reduced_.inner_stride(at) : -1;
    const DType dtype = view_.problem().inputs[input].dtype;
    if (held_ == 0) return base + "[" + offset_text(reduced_.strides[at], reduced_.dims, "r") + "]";
    if (stride == 0) return base + "[0]";
    if (stride != 1) return base + "[(e0 + j) * " + index_ + "(" + std::to_string(stride) + ")]";
    writer << "wz::Vector<" << memory_type(dtype) << ", kWidth> " << name << ";\nwz::load_vector(" << name
           << ", " << base << " + e0, wz::is_aligned(" << base << "));\n";
    return name + ".at[j]";
  }

  void results(KernelWriter& writer) const {
    open_elements(writer);
    std::vector<std::string> parameters, tail_elements;
    for (size_t k = 0; k < op_.parameters.size(); ++k)
      parameters.push_back(is_early(k) ? early_name(k) + "[h].at[j]"
                                       : operand_element(writer, parameter_at(k), op_.parameters[k].input,
                                                         "parameter" + std::to_string(k),
                                                         "in_p" + std::to_string(k)));
    const auto tails = view_.tail_operands();
    for (size_t k = 0; k < tails.size(); ++k)
      tail_elements.push_back(operand_element(writer, tail_at(k), tails[k].input,
                                              "tail_at" + std::to_string(k), "in_t" + std::to_string(k)));
    const std::string type(memory_type(view_.result().dtype));
    if (held_ > 0 && view_.keeps_main())
      writer << "wz::Vector<" << memory_type(view_.tail_result().dtype) << ", kWidth> second;\n";
    if (held_ > 0)
      writer << "wz::Vector<" << type
             << ", kWidth> out;\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) {\n"
             << "const u32 e = e0 + j;\nconst A v = held[h][j];\n";
    for (size_t k = 0; k < parameters.size(); ++k)
      writer << "const A p" << static_cast<int64_t>(k) << " = static_cast<A>(wz::load(" << parameters[k]
             << "));\n";
    writer << "(void)e;\nconst " << register_type(view_.main_dtype()) << " value = static_cast<"
           << register_type(view_.main_dtype()) << ">("
           << (held_ > 0 && !op_.held_result.empty() ? op_.held_result : op_.result) << ");\n";
    store(writer, tail_elements);
  }

  /// Stores `value` behind the tail; where the value itself is kept, it and what the tail makes of it as it
  /// is in memory.
  void store(KernelWriter& writer, const std::vector<std::string>& tail_elements) const {
    const auto tail = [&](const std::string& value) {
      std::string result;
      writer << view_.tail_text(writer, value, result,
                                [&](KernelWriter&, size_t k) { return tail_elements[k]; });
      return result;
    };
    const std::string at = "[" + offset_text(reduced_.strides[0], reduced_.dims, "r") + "]";
    const DType main = view_.main_dtype();
    // Quantizations see 16 bits as the model has them.
    const bool rounds = dtype_size(view_.tail_result().dtype) == 1 && dtype_size(main) == 2;
    if (view_.keeps_main() || rounds)
      writer << "const " << memory_type(main) << " kept = " << store_text(main, "value") << ";\n";
    if (!view_.keeps_main()) {
      const std::string stored = store_text(view_.result().dtype, tail(rounds ? load_text("kept") : "value"));
      if (held_ > 0)
        writer << "out.at[j] = " << stored << ";\n}\nwz::store_vector(to + e0, out, aligned);\n}\n";
      else
        writer << "to" << at << " = " << stored << ";\n}\n";
      return;
    }
    const std::string second = store_text(view_.tail_result().dtype, tail(load_text("kept")));
    if (held_ > 0)
      writer << "out.at[j] = kept, second.at[j] = " << second
             << ";\n}\nwz::store_vector(to + e0, out, aligned);\n"
                "wz::store_vector(to_second + e0, second, second_aligned);\n}\n";
    else
      writer << "to" << at << " = kept, to_second" << at << " = " << second << ";\n}\n";
  }

  void row_outputs(KernelWriter& writer) const {
    for (const auto& [output, expression] : op_.row_outputs) {
      const DType dtype = view_.problem().outputs[output].dtype;
      writer << "if (live && lane == 0) " << writer.output(output) << "["
             << offset_text(kept_.strides.back(), kept_.dims, "k") << "] = "
             << store_text(dtype,
                           "static_cast<" + std::string(register_type(dtype)) + ">(" + expression + ")")
             << ";\n";
    }
  }

  const MainView& view_;
  RowOperator op_;
  const TacticConfig& config_;
  Walk kept_, reduced_;
  int64_t length_ = 1, width_ = 1, threads_ = 32, held_ = 0, per_block_ = 1;
  std::string index_ = "u32", x_, y_;
};

}  // namespace

LaunchPlan plan_rows(const Problem& problem, const TacticConfig& config,
                     std::initializer_list<std::string_view> ops) {
  const auto view = MainView::of(problem, ops, true);
  if (!view) return LaunchPlan::refuse("not one operator over rows with a pointwise tail");
  if (!view->output(0) || !view->has_input(0)) return LaunchPlan::refuse("no data or no result");
  for (size_t i = 1; i < view->output_count(); ++i)
    if (view->output(i) && !view->output(i)->is_row_major())
      return LaunchPlan::refuse("statistics that are not dense");
  if (view->keeps_main() && (view->tail_result().dims != view->result().dims ||
                             view->tail_result().strides != view->result().strides))
    return LaunchPlan::refuse("a second result that lies otherwise than the first");
  std::string refusal;
  std::optional<RowOperator> op = read_row_operator(*view, refusal);
  if (!op) return LaunchPlan::refuse(refusal);
  return Planner(*view, std::move(*op), config).plan();
}

}  // namespace wootz
