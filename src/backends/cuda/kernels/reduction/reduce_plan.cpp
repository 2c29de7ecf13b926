// SPDX-License-Identifier: Apache-2.0
// Three ways: a group of threads for each row where the reduced elements are neighbours, columns side by side
// where the kept ones are, and two steps where there are few rows of many elements.
#include "backends/cuda/kernels/reduction/reduce_plan.h"

#include <algorithm>

#include "backends/cuda/codegen/main_view.h"
#include "ops/reduction/reduce.h"

namespace wootz {
namespace {

constexpr int64_t kBlock = 256;
constexpr int64_t kSplitLength = 8192;  // elements that one block of a split row takes at least

int64_t power_of_two_above(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

class Planner {
 public:
  Planner(const MainView& view, const TacticConfig& config) : view_(view), config_(config) {}

  LaunchPlan plan() {
    if (const std::string why = read(); !why.empty()) return LaunchPlan::refuse(why);
    LaunchPlan plan;
    const int64_t rows = kept_.size();
    if (view_.result().size() == 0) return plan;
    index_ = kept_.fits_32_bits() && reduced_.fits_32_bits() && rows * length_ < (int64_t{1} << 31) ? "u32"
                                                                                                    : "i64";
    const bool columns = kept_.strides[1].back() == 1 && kept_.inner() >= 8 &&
                         !(reduced_.inner_stride(0) == 1 && reduced_.inner() >= 32);
    if (columns)
      column_kernels(plan);
    else if (rows < 264 && length_ >= 2 * kSplitLength)
      split(plan);
    else
      plan.launches.push_back(row_kernel(0, 0));
    return plan;
  }

 private:
  std::string read() {
    const TensorDesc& x = view_.input(0);
    const std::string& op = view_.node().op;
    is_arg_ = op == "ArgMax" || op == "ArgMin";
    if (memory_type(x.dtype).empty()) return "data of dtype " + std::string(dtype_name(x.dtype));
    if (!read_axes()) return "axes that only the run tells";
    const int64_t p = view_.node().attributes.get<int64_t>("p", 2);
    if (op == "GlobalLpPool" && p != 1 && p != 2) return "a norm other than 1 and 2";
    const bool logs = op == "ReduceLogSum" || op == "ReduceLogSumExp";
    acc_ = x.dtype == DType::kFloat64 || (!is_float(x.dtype) && logs) ? "double"
           : is_float(x.dtype)                                        ? "float"
           : x.dtype == DType::kUint64                                ? "u64"
                                                                      : "i64";
    if (!is_float(x.dtype) && (op == "ReduceL2")) acc_ = x.dtype == DType::kUint64 ? "u64" : "i64";
    split_dims();
    if (length_ == 0 && (is_arg_ || !is_float(x.dtype))) return "nothing to reduce";
    fold_ = fold(op);
    return "";
  }

  std::string fold(const std::string& op) const {
    const std::string a = "<" + acc_ + ">";
    if (is_arg_) {
      const bool last = view_.node().attributes.get<int64_t>("select_last_index", 0) != 0;
      return "wz::ArgFold<" + acc_ + (op == "ArgMax" ? ", true, " : ", false, ") +
             (last ? "true>" : "false>");
    }
    if (op == "ReduceMax" || op == "GlobalMaxPool") return "wz::MaxFold" + a;
    if (op == "ReduceMin") return "wz::MinFold" + a;
    if (op == "ReduceProd") return "wz::ProdFold" + a;
    const bool one = op == "GlobalLpPool" && view_.node().attributes.get<int64_t>("p", 2) == 1;
    if (op == "ReduceL1" || one) return "wz::AbsFold" + a;
    if (op == "GlobalLpPool") return "wz::SquareFold" + a;
    if (op == "ReduceL2" || op == "ReduceSumSquare") return "wz::SquareFold" + a;
    if (op == "ReduceLogSumExp") return "wz::LogSumExpFold" + a;
    return "wz::SumFold" + a;
  }

  bool read_axes() {
    const auto rank = static_cast<int64_t>(view_.input(0).dims.size());
    const std::string& op = view_.node().op;
    keepdims_ = view_.node().attributes.get<int64_t>("keepdims", 1) != 0;
    mask_.assign(static_cast<size_t>(rank), false);
    if (op == "GlobalAveragePool" || op == "GlobalMaxPool" || op == "GlobalLpPool") {
      std::fill(mask_.begin() + 2, mask_.end(), true);
      keepdims_ = true;
    } else if (is_arg_) {
      const int64_t a = view_.node().attributes.get<int64_t>("axis", 0);
      if (rank > 0) mask_[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
    } else {
      const auto a = read_attributes<ReduceAttributes>(view_.node().attributes);
      const auto axes = view_.ints(1);
      if (view_.has_input(1) && !axes) return false;
      if ((!axes || axes->empty()) && !a.noop_with_empty_axes) mask_.assign(mask_.size(), true);
      if (axes)
        for (int64_t axis : *axes) mask_[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    return true;
  }

  /// kept_: operands result, data, then the tail's; reduced_: the data alone.
  void split_dims() {
    const Dims& dims = view_.input(0).dims;
    const Dims own = view_.strides(0);
    Dims kept, reduced, x_kept, x_reduced;
    std::vector<Dims> all = {view_.result().strides};
    for (const auto& operand : view_.tail_operands()) all.push_back(operand.strides);
    std::vector<Dims> strides(all.size());
    size_t r = 0;  // place among the result's dims
    for (size_t d = 0; d < dims.size(); ++d) {
      if (mask_[d]) {
        reduced.push_back(dims[d]), x_reduced.push_back(own[d]);
        r += keepdims_;
        continue;
      }
      kept.push_back(dims[d]), x_kept.push_back(own[d]);
      for (size_t k = 0; k < all.size(); ++k) strides[k].push_back(all[k][r]);
      ++r;
    }
    strides.insert(strides.begin() + 1, x_kept);
    kept_ = Walk::make(kept, std::move(strides), 1);
    length_ = element_count(reduced);
    // Places of ArgMax count in logical order; there is one axis then.
    reduced_ = Walk::make(reduced, {x_reduced}, 0);
  }

  KernelWriter start_kernel() const {
    KernelWriter writer(view_.problem());
    writer.header("reduction/folds.cuh");
    writer.before() += "using Fold = " + fold_ + ";\nusing A = " + acc_ + ";\n";
    return writer;
  }

  std::string element(const std::string& memory) const { return "static_cast<A>(wz::load(" + memory + "))"; }

  /// Threads for one row of `length` elements read `width` at a time.
  int64_t threads_for(int64_t length, int64_t width, int64_t rows) const {
    if (const int64_t asked = config_.get("threads", 0)) return asked;
    const int64_t most = rows >= 2048 ? 32 : kBlock;
    const int64_t wanted = power_of_two_above((length + 2 * width - 1) / (2 * width));
    return std::clamp<int64_t>(wanted, 4, length >= 4096 ? kBlock : most);
  }

  int64_t width() const {
    if (reduced_.dims.size() != 1 || reduced_.inner_stride(0) != 1) return 1;
    int64_t width = 16 / static_cast<int64_t>(dtype_size(view_.input(0).dtype));
    const auto fits = [&] {
      if (length_ % width != 0) return false;
      for (int64_t s : kept_.strides[1])
        if (s % width != 0) return false;
      return true;
    };
    while (width > 1 && !fits()) width /= 2;
    return width;
  }

  /// splits = 0: whole rows, finished here. Otherwise each row's part goes to the workspace as an
  /// accumulator.
  PlannedLaunch row_kernel(int64_t splits, int64_t part_length) {
    const int64_t rows = kept_.size(), w = width();
    const int64_t threads = splits ? kBlock : threads_for(length_, w, rows);
    const int64_t per_block = threads > 32 ? 1 : kBlock / threads;
    KernelWriter writer = start_kernel();
    const std::string x = writer.input(view_.input_index(0));
    writer << "constexpr int kThreads = " << threads << ", kWidth = " << w << ";\n"
           << "const " << index_ << " job = static_cast<" << index_ << ">(blockIdx.x) * " << per_block
           << " + threadIdx.x / kThreads;\nconst u32 lane = threadIdx.x % kThreads;\n";
    if (splits)
      writer << "const " << index_ << " row = job / " << splits << "u, begin = job % " << splits << "u * "
             << part_length << "u, end = begin + " << part_length << "u < " << length_ << "u ? begin + "
             << part_length << "u : " << length_ << "u;\n";
    else
      writer << "const " << index_ << " row = job, begin = 0, end = " << length_ << "u;\n";
    writer << "Fold::Acc acc = Fold::start();\n";
    writer << coordinates_text("row", kept_.dims, "k", index_);
    writer << "if (row < " << rows << "u) {\n"
           << "const " << memory_type(view_.input(0).dtype) << "* from = " << x << " + ("
           << offset_text(kept_.strides[1], kept_.dims, "k") << ");\nconst bool aligned = wz::is_aligned("
           << x << ");\n";
    writer << "#pragma unroll 4\nfor (" << index_
           << " e = begin + lane * kWidth; e < end; e += kThreads * kWidth) {\n";
    if (w > 1) {
      writer << "wz::Vector<" << memory_type(view_.input(0).dtype)
             << ", kWidth> v;\nwz::load_vector(v, from + e, aligned);\n"
             << "#pragma unroll\nfor (int j = 0; j < kWidth; ++j) Fold::step(acc, " << element("v.at[j]")
             << ", e + j);\n";
    } else {
      writer << coordinates_text("e", reduced_.dims, "r", index_) << "Fold::step(acc, "
             << element("from[" + offset_text(reduced_.strides[0], reduced_.dims, "r") + "]") << ", e);\n";
    }
    writer << "}\n}\nacc = wz::join_threads<Fold, kThreads>(acc);\n";
    writer << "if (lane != 0 || row >= " << rows << "u) return;\n";
    if (splits)
      writer << writer.workspace("Fold::Acc", 0) << "[job] = acc;\n";
    else
      finish(writer);
    const int64_t jobs = rows * std::max<int64_t>(splits, 1);
    return std::move(writer).finish("reduce_rows", static_cast<uint64_t>((jobs + per_block - 1) / per_block),
                                    static_cast<uint32_t>(threads > 32 ? threads : kBlock));
  }

  void split(LaunchPlan& plan) {
    const int64_t rows = kept_.size(), w = width();
    const int64_t wanted = std::clamp<int64_t>(528 / rows, 2, length_ / kSplitLength);
    int64_t part = (length_ + wanted - 1) / wanted;
    part = (part + w - 1) / w * w;
    const int64_t splits = (length_ + part - 1) / part;
    plan.workspace_bytes = static_cast<size_t>(rows * splits * 16);
    plan.launches.push_back(row_kernel(splits, part));
    KernelWriter writer = start_kernel();
    const std::string parts = writer.workspace("Fold::Acc", 0);
    writer << "const u32 row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;\n"
           << "Fold::Acc acc = Fold::start();\nif (row < " << rows << "u) for (u32 e = lane; e < " << splits
           << "u; e += 32) Fold::join(acc, " << parts << "[row * " << splits << "u + e]);\n"
           << "acc = wz::join_threads<Fold, 32>(acc);\nif (lane != 0 || row >= " << rows << "u) return;\n"
           << coordinates_text("row", kept_.dims, "k", "u32");
    finish(writer);
    plan.launches.push_back(
        std::move(writer).finish("reduce_parts", static_cast<uint64_t>((rows + 7) / 8), kBlock));
  }

  /// How columns are walked: `width` neighbours a thread, nx threads side by side, ny on the same columns,
  /// and where that leaves multiprocessors idle, `splits` parts of the reduced elements that a second kernel
  /// joins.
  struct Columns {
    int64_t width = 1, nx = kBlock, ny = 1, splits = 1, part = 0, groups = 0;
  };
  Columns choose_columns() const {
    Columns c;
    c.width = std::min<int64_t>(16 / static_cast<int64_t>(dtype_size(view_.input(0).dtype)), 8);
    const auto fits = [&] {
      if (kept_.inner() % c.width != 0) return false;
      for (size_t d = 0; d + 1 < kept_.dims.size(); ++d)
        if (kept_.strides[1][d] % c.width != 0) return false;
      for (int64_t s : reduced_.strides[0])
        if (s % c.width != 0) return false;
      return true;
    };
    while (c.width > 1 && !fits()) c.width /= 2;
    if (is_arg_) c.width = std::min<int64_t>(c.width, 4);
    while (c.width > 1 && kept_.size() / c.width < 132 * 64 && length_ < 256) c.width /= 2;
    c.groups = kept_.size() / c.width;
    while (c.ny < 32 && c.ny * 2 <= length_ && c.groups * c.ny < 132 * 1024) c.ny *= 2;
    c.nx = kBlock / c.ny;
    const int64_t blocks = (c.groups + c.nx - 1) / c.nx;
    if (blocks < 66)
      c.splits = std::clamp<int64_t>(132 / blocks, 1, std::max<int64_t>(length_ / (8 * c.ny), 1));
    c.part = (length_ + c.splits - 1) / c.splits;
    c.splits = c.part ? (length_ + c.part - 1) / c.part : 1;
    return c;
  }

  void column_kernels(LaunchPlan& plan) {
    const Columns c = choose_columns();
    const DType dtype = view_.input(0).dtype;
    Dims dims = kept_.dims;
    dims.back() /= c.width;
    Dims from = kept_.strides[1];
    from.back() *= c.width;
    const int64_t blocks = (c.groups + c.nx - 1) / c.nx, rows = kept_.size();
    KernelWriter writer = start_kernel();
    const std::string x = writer.input(view_.input_index(0)), type(memory_type(dtype));
    writer << "constexpr int kX = " << c.nx << ", kY = " << c.ny << ", kWidth = " << c.width << ";\n"
           << "const u32 tx = threadIdx.x % kX, ty = threadIdx.x / kX, split = blockIdx.x / " << blocks
           << "u;\n"
           << "const " << index_ << " group = static_cast<" << index_ << ">(blockIdx.x % " << blocks
           << "u) * kX + tx;\nconst " << index_ << " begin = split * " << c.part << "u, end = begin + "
           << c.part << "u < " << length_ << "u ? begin + " << c.part << "u : " << length_ << "u;\n"
           << coordinates_text("group", dims, "g", index_) << "const bool aligned = wz::is_aligned(" << x
           << ");\n"
           << "Fold::Acc acc[kWidth];\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) acc[j] = "
              "Fold::start();\n"
           << "if (group < " << c.groups << "u) {\nconst " << type << "* from = " << x << " + ("
           << offset_text(from, dims, "g") << ");\n#pragma unroll 4\nfor (" << index_
           << " e = begin + ty; e < end; e += kY) {\n"
           << coordinates_text("e", reduced_.dims, "r", index_) << "wz::Vector<" << type << ", kWidth> v;\n"
           << "wz::load_vector(v, from + (" << offset_text(reduced_.strides[0], reduced_.dims, "r")
           << "), aligned);\n"
           << "#pragma unroll\nfor (int j = 0; j < kWidth; ++j) Fold::step(acc[j], " << element("v.at[j]")
           << ", e);\n}\n}\n";
    if (c.ny > 1)
      writer << "__shared__ Fold::Acc parts[kY][kX];\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) {\n"
             << "if (j > 0) __syncthreads();\nparts[ty][tx] = acc[j];\n__syncthreads();\n"
             << "if (ty == 0) {\nfor (int k = 1; k < kY; ++k) Fold::join(acc[j], parts[k][tx]);\n}\n}\n"
             << "if (ty != 0) return;\n";
    writer << "if (group >= " << c.groups
           << "u) return;\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) {\n"
           << "const " << index_ << " row = group * kWidth + j;\n";
    if (c.splits > 1) {
      plan.workspace_bytes = static_cast<size_t>(rows * c.splits * 16);
      writer << writer.workspace("Fold::Acc", 0) << "[split * " << rows << "u + row] = acc[j];\n";
    } else {
      writer << coordinates_text("row", kept_.dims, "k", index_);
      finish(writer, "acc[j]");
    }
    writer << "}\n";
    plan.launches.push_back(
        std::move(writer).finish("reduce_columns", static_cast<uint64_t>(blocks * c.splits), kBlock));
    if (c.splits > 1) plan.launches.push_back(join_columns(c.splits));
  }

  PlannedLaunch join_columns(int64_t splits) {
    const int64_t rows = kept_.size();
    KernelWriter writer = start_kernel();
    const std::string parts = writer.workspace("Fold::Acc", 0);
    writer << "const u32 row = blockIdx.x * 64 + threadIdx.x;\nif (row >= " << rows
           << "u) return;\nFold::Acc acc = Fold::start();\n#pragma unroll 8\nfor (u32 s = 0; s < " << splits
           << "u; ++s) Fold::join(acc, " << parts << "[s * " << rows << "u + row]);\n"
           << coordinates_text("row", kept_.dims, "k", "u32");
    finish(writer);
    return std::move(writer).finish("reduce_parts", static_cast<uint64_t>((rows + 63) / 64), 64);
  }

  /// Result of the row with coordinates k0, k1 ...: the operator's last step, the tail, the store.
  void finish(KernelWriter& writer, const std::string& acc = "acc") {
    const std::string& op = view_.node().op;
    const DType main = view_.main_dtype();
    const std::string reg(register_type(main));
    std::string value = acc;
    if (is_arg_)
      value = "static_cast<i64>(" + acc + ".at)";
    else if (op == "ReduceMean" || op == "GlobalAveragePool")
      value = acc + " / static_cast<A>(" + std::to_string(length_) + ")";
    else if (op == "ReduceL2" || (op == "GlobalLpPool" && view_.node().attributes.get<int64_t>("p", 2) == 2))
      value = is_float(main) ? "wz::sqrt(" + acc + ")" : "wz::sqrt(static_cast<double>(" + acc + "))";
    else if (op == "ReduceLogSum")
      value = "wz::log(" + acc + ")";
    else if (op == "ReduceLogSumExp")
      value = "Fold::finish(" + acc + ")";
    const bool real_to_integer =
        !is_float(main) && !is_arg_ && (op == "ReduceL2" || op.starts_with("ReduceLog"));
    writer << "const " << reg << " value = "
           << (real_to_integer ? "wz::cast<" + reg + ">(" + value + ")"
                               : "static_cast<" + reg + ">(" + value + ")")
           << ";\n";
    std::string result;
    const auto operands = view_.tail_operands();
    writer << view_.tail_text(writer, "value", result, [&](KernelWriter& w, size_t k) {
      return w.input(operands[k].input) + "[" + offset_text(kept_.strides[2 + k], kept_.dims, "k") + "]";
    });
    writer << writer.output(0) << "[" << offset_text(kept_.strides[0], kept_.dims, "k")
           << "] = " << store_text(view_.result().dtype, result) << ";\n";
  }

  const MainView& view_;
  const TacticConfig& config_;
  bool is_arg_ = false, keepdims_ = true;
  std::vector<bool> mask_;
  Walk kept_, reduced_;
  int64_t length_ = 1;
  std::string acc_, fold_, index_ = "u32";
};

}  // namespace

LaunchPlan plan_reduce(const Problem& problem, const TacticConfig& config) {
  const auto view =
      MainView::of(problem, {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                             "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
                             "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "ArgMax", "ArgMin"});
  if (!view) return LaunchPlan::refuse("not one reduction with a pointwise tail");
  if (problem.outputs.size() != 1 || !view->output(0)) return LaunchPlan::refuse("no result");
  if (!view->has_input(0)) return LaunchPlan::refuse("no data");
  return Planner(*view, config).plan();
}

}  // namespace wootz
