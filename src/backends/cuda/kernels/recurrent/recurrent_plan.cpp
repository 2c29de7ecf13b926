// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/recurrent/recurrent_plan.h"

#include "backends/cuda/codegen/main_view.h"
#include "ops/recurrent.h"

namespace wootz {
namespace {

constexpr int64_t kMostHidden = 2048;  // four vectors of the state in shared memory

std::string number(double v) { return register_literal(DType::kFloat32, v); }

std::string activation_text(const Activation& f) {
  const std::string x =
      f.clip != 0 ? "wz::min(wz::max(x, " + number(-f.clip) + "), " + number(f.clip) + ")" : "x";
  const std::string a = number(f.alpha), b = number(f.beta);
  switch (f.kind) {
    case Activation::Kind::kRelu: return "wz::relu(" + x + ")";
    case Activation::Kind::kTanh: return "wz::tanh(" + x + ")";
    case Activation::Kind::kSigmoid: return "wz::sigmoid(" + x + ")";
    case Activation::Kind::kAffine: return a + " * " + x + " + " + b;
    case Activation::Kind::kLeakyRelu: return "wz::leaky_relu(" + x + ", " + a + ")";
    case Activation::Kind::kThresholdedRelu: return x + " >= " + a + " ? " + x + " : 0.0f";
    case Activation::Kind::kScaledTanh: return a + " * wz::tanh(" + b + " * " + x + ")";
    case Activation::Kind::kHardSigmoid: return "wz::hard_sigmoid(" + x + ", " + a + ", " + b + ")";
    case Activation::Kind::kElu: return "wz::elu(" + x + ", " + a + ")";
    case Activation::Kind::kSoftsign: return "wz::softsign(" + x + ")";
    case Activation::Kind::kSoftplus: return "wz::softplus(" + x + ")";
  }
  return x;
}

class Planner {
 public:
  explicit Planner(const MainView& view)
      : view_(view), a_(read_attributes<RecurrentAttributes>(view.node().attributes)) {}

  LaunchPlan plan() {
    if (const std::string why = refusal(); !why.empty()) return LaunchPlan::refuse(why);
    LaunchPlan plan;
    bool any = false;
    for (const TensorDesc& y : view_.problem().outputs) any = any || y.size() > 0;
    if (!any) return plan;
    const Dims &x = view_.input(0).dims, &r = view_.input(2).dims;
    const int64_t times = x[a_.layout ? 1 : 0], batch = x[a_.layout ? 0 : 1], directions = a_.directions();
    const int64_t jobs = directions * times * batch * r[1];
    plan.workspace_bytes = static_cast<size_t>(std::max<int64_t>(jobs, 1)) * sizeof(float);
    const std::string constants = describe(times, batch);
    if (jobs > 0) {
      KernelWriter w = open(constants);
      const std::string in = w.input(view_.input_index(0)), weights = w.input(view_.input_index(1)),
                        bias = optional(w, 3), part = w.workspace("float", 0);
      w << "wz::Recurrent<P>::inputs(" << in << ", " << weights << ", " << bias << ", " << part << ");\n";
      plan.launches.push_back(std::move(w).finish("inputs", static_cast<uint64_t>((jobs + 7) / 8), 256));
    }
    KernelWriter w = open(constants);
    const std::string r_name = w.input(view_.input_index(2)), bias = optional(w, 3);
    const std::string lengths =
        view_.has_input(4) ? w.input(view_.input_index(4)) : "static_cast<const int*>(nullptr)";
    const std::string h0 = optional(w, 5), c0 = is("LSTM") ? optional(w, 6) : null(),
                      p = is("LSTM") ? optional(w, 7) : null();
    const std::string part = w.workspace("float", 0);
    w << "wz::Recurrent<P>::steps(" << r_name << ", " << bias << ", " << lengths << ", " << h0 << ", " << c0
      << ", " << p << ", " << part << ", " << result(w, 0) << ", " << result(w, 1) << ", " << result(w, 2)
      << ");\n";
    plan.launches.push_back(std::move(w).finish("steps", static_cast<uint64_t>(directions * batch), 256));
    return plan;
  }

 private:
  bool is(const char* op) const { return view_.is(op); }
  std::string null() const { return "static_cast<const P::T*>(nullptr)"; }
  std::string optional(KernelWriter& w, size_t i) const {
    return view_.has_input(i) ? w.input(view_.input_index(i)) : null();
  }
  std::string result(KernelWriter& w, size_t i) const {
    return view_.output(i) ? w.output(view_.output_index(i)) : "static_cast<P::T*>(nullptr)";
  }

  std::string refusal() const {
    const DType dtype = view_.input(0).dtype;
    if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16)
      return "data of dtype " + std::string(dtype_name(dtype));
    for (size_t i = 0; i < view_.input_count(); ++i)
      if (view_.has_input(i) && !view_.input(i).constant && !view_.input(i).is_row_major())
        return "an operand that is not row-major";
    for (const TensorDesc& y : view_.problem().outputs)
      if (!y.is_row_major()) return "a result that is not row-major";
    if (view_.has_input(4) && view_.input(4).dtype != DType::kInt32) return "lengths that are not int32";
    if (view_.input(2).dims[2] > kMostHidden) return "a hidden size of more than 2048";
    return "";
  }

  KernelWriter open(const std::string& constants) const {
    KernelWriter w(view_.problem());
    w.header("recurrent/recurrent.cuh");
    w.before() = constants;
    return w;
  }

  std::string describe(int64_t times, int64_t batch) const {
    std::string t = "struct P {\nusing T = " + std::string(memory_type(view_.input(0).dtype)) + ";\n";
    const auto constant = [&](const char* name, int64_t value) {
      t += "static constexpr int k" + std::string(name) + " = " + std::to_string(value) + ";\n";
    };
    const Attributes& a = view_.node().attributes;
    constant("Kind", is("LSTM") ? 0 : is("GRU") ? 1 : 2);
    constant("Gates", is("LSTM") ? 4 : is("GRU") ? 3 : 1);
    constant("Times", times), constant("Batch", batch), constant("Directions", a_.directions());
    constant("Input", view_.input(0).dims[2]), constant("Hidden", view_.input(2).dims[2]);
    constant("BatchFirst", a_.layout != 0), constant("Reverse", a_.direction == "reverse");
    constant("Coupled", a.get<int64_t>("input_forget", 0) != 0),
        constant("Linear", a.get<int64_t>("linear_before_reset", 0) != 0);
    constant("HasBias", view_.has_input(3)), constant("HasLengths", view_.has_input(4)),
        constant("HasH0", view_.has_input(5));
    constant("HasC0", is("LSTM") && view_.has_input(6)),
        constant("HasPeepholes", is("LSTM") && view_.has_input(7));
    constant("HasY", view_.output(0) != nullptr), constant("HasLastH", view_.output(1) != nullptr);
    constant("HasLastC", view_.output(2) != nullptr);
    const std::vector<std::string> defaults = is("LSTM") ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                              : is("GRU") ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                          : std::vector<std::string>{"Tanh"};
    const std::vector<Activation> f = activations_of(a_, defaults);
    for (size_t k = 0; k < 3; ++k) {
      const size_t at = std::min(k, defaults.size() - 1);
      t += "static WZ_FN float act" + std::to_string(k) + "(int d, float x) {\n(void)d;\n";
      if (a_.directions() == 2) t += "if (d == 1) return " + activation_text(f[defaults.size() + at]) + ";\n";
      t += "return " + activation_text(f[at]) + ";\n}\n";
    }
    return t + "};\n";
  }

  const MainView& view_;
  RecurrentAttributes a_;
};

}  // namespace

LaunchPlan plan_recurrent(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"LSTM", "GRU", "RNN"});
  if (!view || view->has_tail() || !view->node().domain.empty())
    return LaunchPlan::refuse("not one recurrent operator");
  for (size_t i = 0; i < 3; ++i)
    if (!view->has_input(i)) return LaunchPlan::refuse("no data");
  return Planner(*view).plan();
}

}  // namespace wootz
