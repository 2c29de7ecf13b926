// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/norm/row_operator.h"

#include "ops/nn/norm.h"
#include "ops/nn/softmax.h"

namespace wootz {
namespace {

const char* kSum = "wz::SumFold<A>";
const char* kSquare = "wz::SquareFold<A>";

class Reader {
 public:
  explicit Reader(const MainView& view) : view_(view) {}

  std::optional<RowOperator> read(std::string& refusal) {
    const TensorDesc& x = view_.input(0);
    op_.dims = x.dims;
    op_.data_strides = view_.strides(0);
    op_.result_strides = view_.result().strides;
    for (const auto& operand : view_.tail_operands()) op_.tail_strides.push_back(operand.strides);
    op_.reduced.assign(x.dims.size(), false);
    if (!is_float(x.dtype))
      refusal_ = "data of dtype " + std::string(dtype_name(x.dtype));
    else if (x.dims.empty())
      refusal_ = "a scalar";
    else if (view_.result().dims != x.dims)
      refusal_ = "a tail that broadcasts the result";
    else
      read_node();
    refusal = refusal_;
    if (!refusal_.empty()) return std::nullopt;
    return std::move(op_);
  }

 private:
  int64_t rank() const { return static_cast<int64_t>(view_.input(0).dims.size()); }
  int64_t axis(int64_t a) const { return a < 0 ? a + rank() : a; }
  void reduce_from(int64_t first) {
    for (int64_t d = first; d < rank(); ++d) op_.reduced[static_cast<size_t>(d)] = true;
  }
  int64_t length() const {
    int64_t n = 1;
    for (size_t d = 0; d < op_.dims.size(); ++d)
      if (op_.reduced[d]) n *= op_.dims[d];
    return n;
  }
  std::string count() const { return "static_cast<A>(" + std::to_string(length()) + ")"; }
  static std::string number(double v) {
    return "static_cast<A>(" + register_literal(DType::kFloat64, v) + ")";
  }

  void read_node() {
    const std::string& op = view_.node().op;
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") return softmax(op);
    if (op == "LayerNormalization" || op == "RMSNormalization") return layer_norm(op == "LayerNormalization");
    if (op == "InstanceNormalization") return instance_norm();
    if (op == "GroupNormalization") return group_norm();
    if (op == "LpNormalization") return lp_norm();
    const Ints axes = view_.node().attributes.get<Ints>("axes", {0, 2, 3});
    for (int64_t a : axes) op_.reduced[static_cast<size_t>(axis(a))] = true;
    moments("wz::reciprocal(wz::sqrt(variance) + " + number(1e-9) + ")");
    op_.result = "(v - mean) * inverse";
  }

  void softmax(const std::string& op) {
    const auto a = read_attributes<SoftmaxAttributes>(view_.node().attributes);
    if (a.flatten)
      reduce_from(axis(a.axis));
    else
      op_.reduced[static_cast<size_t>(axis(a.axis))] = true;
    if (op == "Hardmax") {
      // NaN wins only as the first element.
      op_.phases.push_back({"wz::ArgFold<A, true, false>", "v != v && e != 0 ? wz::Limits<A>::low() : v",
                            "const u32 best = acc.at;", ""});
      op_.result = "static_cast<A>(e == best ? 1 : 0)";
      return;
    }
    op_.phases.push_back({"wz::MaxFold<A>", "v", "const A top = acc;", ""});
    if (op == "LogSoftmax") {
      op_.phases.push_back({kSum, exponential("v - top"), "const A shift = wz::log(acc);", ""});
      op_.result = "(v - top) - shift";
    } else {
      op_.phases.push_back(
          {kSum, exponential("v - top"), "const A scale = wz::reciprocal(acc);", exponential("v - top")});
      op_.result = exponential("v - top") + " * scale";
      op_.held_result = "v * scale";
    }
  }

  /// Results of 16 bits take the approximation.
  std::string exponential(const std::string& x) const {
    const bool narrow = dtype_size(view_.main_dtype()) <= 2;
    return std::string(narrow ? "wz::fast::exp(" : "wz::exp(") + x + ")";
  }

  void moments(const std::string& inverse) {
    op_.phases.push_back({kSum, "v", "const A mean = acc / " + count() + ";", ""});
    op_.phases.push_back(
        {kSquare, "v - mean", "const A variance = acc / " + count() + ", inverse = " + inverse + ";", ""});
  }
  std::string inverse_deviation(float epsilon) const {
    return "wz::reciprocal(wz::sqrt(variance + " + number(static_cast<double>(epsilon)) + "))";
  }
  void add_parameters(const std::vector<Dims>& strides) {
    std::string text = op_.result;
    for (size_t i = 0; i < strides.size(); ++i) {
      op_.parameters.push_back({view_.input_index(1 + i), strides[i]});
      text = i == 0 ? "(" + text + ") * p0" : text + " + p1";
    }
    op_.result = text;
  }

  void layer_norm(bool centered) {
    const auto a = read_attributes<LayerNormalizationAttributes>(view_.node().attributes);
    reduce_from(axis(a.axis));
    if (centered) {
      moments(inverse_deviation(a.epsilon));
      op_.result = "(v - mean) * inverse";
      for (size_t i = 1; i < 3; ++i)
        if (view_.output(i)) op_.row_outputs.emplace_back(view_.output_index(i), i == 1 ? "mean" : "inverse");
    } else {
      op_.phases.push_back(
          {kSquare, "v",
           "const A variance = acc / " + count() + ", inverse = " + inverse_deviation(a.epsilon) + ";", ""});
      op_.result = "v * inverse";
    }
    std::vector<Dims> strides;
    for (size_t i = 1; i < 3 && view_.has_input(i); ++i) {
      const auto s = broadcast_to(view_.input(i).dims, view_.strides(i), op_.dims);
      if (!s) return void(refusal_ = "scale or bias that does not broadcast to the data");
      strides.push_back(*s);
    }
    add_parameters(strides);
  }

  void instance_norm() {
    const auto a = read_attributes<InstanceNormalizationAttributes>(view_.node().attributes);
    if (rank() < 2) return void(refusal_ = "data of rank 1");
    reduce_from(2);
    moments(inverse_deviation(a.epsilon));
    op_.result = "(v - mean) * inverse";
    std::vector<Dims> strides(2, Dims(op_.dims.size(), 0));
    for (size_t i = 0; i < 2; ++i) strides[i][1] = view_.strides(1 + i)[0];
    add_parameters(strides);
  }

  /// Channels become groups and the channels of a group.
  void group_norm() {
    const auto a = read_attributes<GroupNormalizationAttributes>(view_.node().attributes);
    if (rank() < 2 || a.num_groups <= 0 || op_.dims[1] % a.num_groups != 0)
      return void(refusal_ = "channels that the groups do not divide");
    const int64_t each = op_.dims[1] / a.num_groups;
    const auto split = [&](Dims& strides) { strides.insert(strides.begin() + 1, strides[1] * each); };
    split(op_.data_strides), split(op_.result_strides);
    for (Dims& s : op_.tail_strides) split(s);
    op_.dims[1] = each;
    op_.dims.insert(op_.dims.begin() + 1, a.num_groups);
    op_.reduced.assign(op_.dims.size(), true);
    op_.reduced[0] = op_.reduced[1] = false;
    moments(inverse_deviation(a.epsilon));
    op_.result = "(v - mean) * inverse";
    std::vector<Dims> strides(2, Dims(op_.dims.size(), 0));
    for (size_t i = 0; i < 2; ++i) {
      const TensorDesc& p = view_.input(1 + i);
      const int64_t own = p.dims.empty() ? 1 : view_.strides(1 + i)[0];
      const bool by_channel = p.size() == a.num_groups * each;
      strides[i][1] = by_channel ? own * each : own;
      strides[i][2] = by_channel ? own : 0;
    }
    add_parameters(strides);
  }

  void lp_norm() {
    const Attributes& a = view_.node().attributes;
    op_.reduced[static_cast<size_t>(axis(a.get<int64_t>("axis", -1)))] = true;
    const bool one = a.get<int64_t>("p", 2) == 1;
    op_.phases.push_back({one ? "wz::AbsFold<A>" : kSquare, "v",
                          std::string("const A norm = ") + (one ? "acc" : "wz::sqrt(acc)") + ";", ""});
    const float epsilon = a.get<float>("epsilon", 0);
    op_.result = "norm == 0 ? v : v / ";
    op_.result += epsilon > 0 ? "wz::max(norm, " + number(static_cast<double>(epsilon)) + ")" : "norm";
  }

  const MainView& view_;
  RowOperator op_;
  std::string refusal_;
};

}  // namespace

std::optional<RowOperator> read_row_operator(const MainView& view, std::string& refusal) {
  return Reader(view).read(refusal);
}

}  // namespace wootz
