// SPDX-License-Identifier: Apache-2.0
// oneDNN matrix products with constant B, one single-threaded primitive for each part of the rows.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/matmul/packed_operand.h"
#include "backends/cpu/onednn/onednn_library.h"

namespace wootz::cpu_onednn_matmul_tactic {
namespace {

using namespace onednn;

bool clamps_inside(const EpiloguePlan& e) { return e.in_registers() && !e.has_addend(); }
bool wants_bias(const EpiloguePlan& e) { return clamps_inside(e) ? e.has_bias() : e.has_own_bias(); }

PrimitiveDesc describe(const ProductProblem& p, int64_t rows) {
  const Desc a = strided_desc({rows, p.k}, {rows == 1 ? p.k : p.a_row, 1});
  const Desc b = any_desc({p.k, p.n}), c = strided_desc({rows, p.n}, {p.n, 1});
  Desc bias;
  if (wants_bias(p.epilogue)) bias = strided_desc({1, p.n}, {p.n, 1});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const PrimitiveAttributes attributes = clamps_inside(p.epilogue)
                                             ? clamp_attributes(p.epilogue.low(), p.epilogue.high())
                                             : clamp_attributes(-kInfinity, kInfinity);
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status = Library::get()->matmul_primitive_desc_create(
      &desc, Library::get()->engine, a.get(), b.get(), bias.get(), c.get(), attributes.get());
  return PrimitiveDesc(status == dnnl_success ? desc : nullptr);
}

class OneDnnMatMulKernel final : public Kernel {
 public:
  OneDnnMatMulKernel(const Problem& problem, ProductProblem product)
      : product_(std::move(product)),
        parts_(static_cast<int>(std::min<int64_t>(problem.threads, product_.rows()))) {
    const OneThread one(*Library::get());
    const TensorDesc& b = problem.inputs[static_cast<size_t>(product_.b_input)];
    const Desc plain = strided_desc({product_.k, product_.n}, {product_.b_k, product_.b_n});
    for (int part = 0; part < parts_; ++part) {
      const PrimitiveDesc desc = describe(product_, first(part + 1) - first(part));
      if (!desc) throw Error(ErrorKind::kDevice, "oneDNN has no implementation of this product");
      const auto md = [&](dnnl_query_t what) {
        return Library::get()->primitive_desc_query_md(desc.get(), what, 0);
      };
      Bound bound;
      bound.primitive = make_primitive(desc.get());
      bound.a = make_memory(md(dnnl_query_src_md), DNNL_MEMORY_NONE);
      bound.c = make_memory(md(dnnl_query_dst_md), DNNL_MEMORY_NONE);
      bound.b =
          make_memory(md(dnnl_query_weights_md), packed_.pack(desc.get(), plain.get(), b.constant->data()));
      if (wants_bias(product_.epilogue))
        bound.bias = make_memory(strided_desc({1, product_.n}, {product_.n, 1}).get(), DNNL_MEMORY_NONE);
      bound_.push_back(std::move(bound));
    }
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = product_.epilogue.bind(args);
    const auto* a = static_cast<const float*>(args.inputs[product_.a_input]);
    auto* c = static_cast<float*>(args.outputs[0]);
    pool_of(args)(parts_, [&](int part, int) {
      const Library& l = *Library::get();
      const OneThread one(l);
      const bool inside = clamps_inside(product_.epilogue);
      const Bound& b = bound_[static_cast<size_t>(part)];
      const int64_t row = first(part), rows = first(part + 1) - row;
      l.memory_set_data_handle(b.a.get(), const_cast<float*>(a) + row * product_.a_row);
      l.memory_set_data_handle(b.c.get(), c + row * product_.n);
      if (b.bias)
        l.memory_set_data_handle(b.bias.get(),
                                 const_cast<float*>(inside ? epilogue.bias : epilogue.own_bias));
      const dnnl_exec_arg_t list[] = {{DNNL_ARG_SRC, b.a.get()},
                                      {DNNL_ARG_DST, b.c.get()},
                                      {DNNL_ARG_WEIGHTS, b.b.get()},
                                      {DNNL_ARG_BIAS, b.bias.get()}};
      l.primitive_execute(b.primitive.get(), l.stream, b.bias ? 4 : 3, list);
      if (!inside) epilogue.apply_whole(c + row * product_.n, row, 0, rows, product_.n, product_.n);
    });
  }

 private:
  struct Bound {
    Primitive primitive;
    Memory a, b, c, bias;
  };
  int64_t first(int part) const { return product_.rows() * part / parts_; }

  ProductProblem product_;
  int parts_;
  PackedWeights packed_;
  std::vector<Bound> bound_;
};

class OneDnnMatMulTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.matmul.onednn"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    if (!Library::get()) return "oneDNN (libdnnl.so.3) was not found";
    ProductProblem p;
    if (auto why = ProductProblem::read(problem, p)) return why;
    if (auto why = packed_operand_refusal(problem, p)) return why;
    if (p.alpha != 1) return "an alpha";
    if (p.a_k != 1 && p.k != 1) return "the rows of A are not contiguous";
    if (p.c_row != p.n && p.rows() != 1) return "the result has gaps between its rows";
    if (p.k == 0) return "an empty sum";
    if (!p.epilogue.has_program()) return "the tail has no vector form";
    const OneThread one(*Library::get());
    const int64_t parts = std::min<int64_t>(problem.threads, p.rows());
    const PrimitiveDesc desc = describe(p, p.rows() / parts);
    if (!desc) return "oneDNN has no implementation of this product";
    const std::string name = implementation(desc.get());
    if (name.starts_with("ref")) return "oneDNN has only its reference (" + name + ")";
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    ProductProblem p;
    if (auto why = ProductProblem::read(problem, p))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<OneDnnMatMulKernel>(problem, std::move(p));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<OneDnnMatMulTactic>(), CpuTactics::kLast);
}

}  // namespace wootz::cpu_onednn_matmul_tactic
