// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/vendor/vendor_tail.h"

#include <algorithm>
#include <cmath>

namespace wootz {
namespace {

/// What a register of the program is, as far as a library could compute it.
struct Form {
  enum Kind : uint8_t { kOther, kNumber, kOperand, kSum } kind = kOther;
  double factor = 1;  // kNumber: the number; kOperand, kSum: what it is multiplied by
  int operand = -1;   // kOperand
};

class TailReader {
 public:
  TailReader(const Contraction& c, VendorTail& tail) : c_(c), tail_(tail) {
    for (size_t i = 0; i < c.operands.size(); ++i) {
      Form form;
      if (i == 0)
        form.kind = Form::kSum;
      else if (c.operands[i].input >= 0)
        form.kind = Form::kOperand, form.operand = static_cast<int>(i);
      forms_.push_back(form);
    }
    for (const auto& [at, value] : c.tail.immediates)
      forms_[static_cast<size_t>(at)] = {Form::kNumber, value, -1};
  }

  bool read() {
    for (const ScalarInstruction& i : c_.tail.instructions) {
      forms_.push_back(apply(i));
      if (forms_.back().kind == Form::kOther) return false;
    }
    const Form& result = forms_[static_cast<size_t>(c_.tail.results[0])];
    // After an activation or a bias nothing may have been multiplied: apply() sees to it.
    tail_.alpha = static_cast<float>(result.factor);
    return result.kind == Form::kSum;
  }

 private:
  Form apply(const ScalarInstruction& i) {
    const Form a = i.a >= 0 ? forms_[static_cast<size_t>(i.a)] : Form{};
    const Form b = i.b >= 0 ? forms_[static_cast<size_t>(i.b)] : Form{};
    switch (i.op) {
      case ScalarOp::kCopy: return a;
      case ScalarOp::kCast:
        // Rounding in the middle would be left out.
        return i.dtype == DType::kFloat32 || i.dtype == c_.result ? a : Form{};
      case ScalarOp::kAdd: return a.kind == Form::kSum ? add(a, b) : add(b, a);
      case ScalarOp::kMul:
        return b.kind == Form::kNumber ? scale(a, b.factor)
                                       : scale(b, a.kind == Form::kNumber ? a.factor : NAN);
      case ScalarOp::kRelu: return activate(a, VendorActivation::kRelu);
      case ScalarOp::kMax:
        if (b.kind == Form::kNumber && b.factor == 0) return activate(a, VendorActivation::kRelu);
        return {};
      case ScalarOp::kGeluTanh: return activate(a, VendorActivation::kGeluTanh);
      default: return {};
    }
  }

  bool is_sum_alone() const {
    return tail_.bias < 0 && tail_.residual < 0 && tail_.activation == VendorActivation::kNone;
  }
  Form scale(const Form& x, double factor) const {
    if (x.kind == Form::kOther || !std::isfinite(factor)) return {};
    if (x.kind == Form::kSum && !is_sum_alone()) return {};
    Form y = x;
    y.factor *= factor;
    return y;
  }
  Form activate(const Form& x, VendorActivation activation) {
    if (x.kind != Form::kSum || tail_.activation != VendorActivation::kNone) return {};
    tail_.activation = activation;
    return x;
  }
  Form add(const Form& sum, const Form& other) {
    if (sum.kind != Form::kSum || other.kind != Form::kOperand || tail_.activation != VendorActivation::kNone)
      return {};
    const TailOperand& o = c_.operands[static_cast<size_t>(other.operand)];
    if (o.dtype != c_.result || o.column_stride != 1) return {};
    if (o.is_per_column() && tail_.bias < 0 && other.factor == 1) {
      tail_.bias = other.operand;
      return sum;
    }
    const bool is_matrix = !o.is_per_column() || c_.rows() == 1;
    if (!is_matrix || tail_.residual >= 0 || !even_pitch(c_.row_dims, o.row_strides)) return {};
    tail_.residual = other.operand;
    tail_.beta = static_cast<float>(other.factor);
    return sum;
  }

  const Contraction& c_;
  VendorTail& tail_;
  std::vector<Form> forms_;
};

}  // namespace

std::optional<std::string> VendorTail::read(const Contraction& c, VendorTail& tail) {
  if (c.result != c.element) return "a result of another type than the operands";
  if (c.tail.results.size() != 1 || !TailReader(c, tail).read())
    return "a tail other than a bias, a residual and ReLU or the tanh form of GELU";
  return std::nullopt;
}

}  // namespace wootz
