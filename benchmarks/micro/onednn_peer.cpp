// SPDX-License-Identifier: Apache-2.0
#include "onednn_peer.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/matmul/product_problem.h"
#include "backends/cpu/onednn/onednn_library.h"
#include "device/gated_problem.h"

namespace wootz {

using namespace onednn;

struct OneDnnPeer::Primitive {
  onednn::Primitive primitive;
  std::vector<Tensor> storage;
  std::vector<Memory> memory;
  std::vector<dnnl_exec_arg_t> arguments;
  int threads = 1;

  void add(int argument, const_dnnl_memory_desc_t desc) {
    const size_t bytes = Library::get()->memory_desc_get_size(desc);
    storage.push_back(Tensor::zeros(DType::kFloat32, {static_cast<int64_t>(bytes / sizeof(float)) + 1}));
    Tensor& t = storage.back();
    for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = static_cast<float>(i % 61 - 30) / 64;
    memory.push_back(make_memory(desc, t.data()));
    arguments.push_back({argument, memory.back().get()});
  }
};

namespace {

/// oneDNN's functions for the pointwise nodes behind the main one, with one sum where a residual is added.
PrimitiveAttributes post_operations(const Graph& body, const EpiloguePlan& epilogue) {
  if (epilogue.in_registers() && !epilogue.has_addend())
    return clamp_attributes(epilogue.low(), epilogue.high());
  const Library& l = *Library::get();
  dnnl_primitive_attr_t attributes = nullptr;
  require(l.primitive_attr_create(&attributes), "attributes");
  PrimitiveAttributes owned(attributes);
  dnnl_post_ops_t ops = nullptr;
  require(l.post_ops_create(&ops), "post-ops");
  if (epilogue.has_addend()) l.post_ops_append_sum(ops, 1, 0, dnnl_f32);
  for (const auto& node : body.nodes()) {
    const auto& a = node->attributes;
    if (node->is("Relu")) l.post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
    if (node->is("HardSwish")) l.post_ops_append_eltwise(ops, dnnl_eltwise_hardswish, 1.0f / 6, 0.5f);
    if (node->is("Sigmoid")) l.post_ops_append_eltwise(ops, dnnl_eltwise_logistic, 0, 0);
    if (node->is("Swish")) l.post_ops_append_eltwise(ops, dnnl_eltwise_swish, a.get<float>("alpha", 1), 0);
    if (node->is("Gelu")) l.post_ops_append_eltwise(ops, dnnl_eltwise_gelu_erf, 0, 0);
    if (node->is("HardSigmoid"))
      l.post_ops_append_eltwise(ops, dnnl_eltwise_hardsigmoid, a.get<float>("alpha", 0.2f),
                                a.get<float>("beta", 0.5f));
  }
  const dnnl_status_t set = l.primitive_attr_set_post_ops(attributes, ops);
  l.post_ops_destroy(ops);
  require(set, "post-ops");
  return owned;
}

/// Dense channels-last strides of [n, c, h, w].
Dims nhwc(int64_t c, int64_t h, int64_t w) { return {h * w * c, 1, w * c, c}; }

PrimitiveDesc describe_conv(const ConvProblem& conv, const Graph& body) {
  const ConvGeometry& g = conv.geometry;
  const Desc x = strided_desc({g.batch, g.channels, g.in_h, g.in_w}, nhwc(g.channels, g.in_h, g.in_w));
  const Desc y = strided_desc({g.batch, g.outputs, g.out_h, g.out_w}, nhwc(g.outputs, g.out_h, g.out_w));
  Dims w{g.group_outputs(), g.group_channels(), g.kernel_h, g.kernel_w};
  if (g.groups > 1) w.insert(w.begin(), g.groups);
  const Desc weights = any_desc(w), bias = strided_desc({g.outputs}, {1});
  const bool biased = conv.epilogue.has_bias() || conv.epilogue.has_own_bias();
  const dnnl_dims_t strides = {g.stride_h, g.stride_w}, dilates = {g.dilation_h - 1, g.dilation_w - 1};
  const dnnl_dims_t begin = {g.pad_top, g.pad_left}, end = {g.pad_bottom, g.pad_right};
  dnnl_primitive_desc_t desc = nullptr;
  const PrimitiveAttributes attributes = post_operations(body, conv.epilogue);
  const dnnl_status_t status = Library::get()->convolution_forward_primitive_desc_create(
      &desc, Library::get()->engine, dnnl_forward_inference, dnnl_convolution_auto, x.get(), weights.get(),
      biased ? bias.get() : nullptr, y.get(), strides, dilates, begin, end, attributes.get());
  return PrimitiveDesc(status == dnnl_success ? desc : nullptr);
}

PrimitiveDesc describe_product(const ProductProblem& p, const Graph& body, bool constant_b) {
  Dims batch = p.flat ? Dims{} : p.batch;
  const int64_t rows = p.flat ? p.rows() : p.m;
  Dims a = batch, b = batch, c = batch;
  if (!p.flat)
    for (size_t d = 0; d < batch.size(); ++d)
      if (p.b_batch[d] == 0) b[d] = 1;
  a.insert(a.end(), {rows, p.k}), b.insert(b.end(), {p.k, p.n}), c.insert(c.end(), {rows, p.n});
  Dims b_strides = contiguous_strides(b);
  if (p.b_n != 1) {  // the transposed matrix, dense
    b_strides[b.size() - 2] = 1;
    b_strides[b.size() - 1] = p.k;
  }
  const Desc da = strided_desc(a, contiguous_strides(a)), dc = strided_desc(c, contiguous_strides(c)),
             db = constant_b ? any_desc(b) : strided_desc(b, b_strides);
  Dims bias_dims(c.size(), 1);
  bias_dims.back() = p.n;
  const Desc bias = strided_desc(bias_dims, contiguous_strides(bias_dims));
  const bool biased = p.epilogue.has_bias() || p.epilogue.has_own_bias();
  const PrimitiveAttributes attributes = post_operations(body, p.epilogue);
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status =
      Library::get()->matmul_primitive_desc_create(&desc, Library::get()->engine, da.get(), db.get(),
                                                   biased ? bias.get() : nullptr, dc.get(), attributes.get());
  return PrimitiveDesc(status == dnnl_success ? desc : nullptr);
}

/// The region's primitive, or null.
PrimitiveDesc describe(const Problem& problem) {
  GatedProblem gated;
  const Problem& plain = GatedProblem::make(problem, gated) ? problem : gated.plain;
  ConvProblem conv;
  if (!ConvProblem::read(plain, conv)) return describe_conv(conv, plain.body());
  ProductProblem product;
  if (ProductProblem::read(plain, product)) return nullptr;
  return describe_product(product, plain.body(),
                          plain.inputs[static_cast<size_t>(product.b_input)].constant != nullptr);
}

}  // namespace

OneDnnPeer::OneDnnPeer(std::unique_ptr<Primitive> primitive) : primitive_(std::move(primitive)) {}
OneDnnPeer::~OneDnnPeer() = default;

std::unique_ptr<OneDnnPeer> OneDnnPeer::make(const Problem& problem) {
  const Library* library = Library::get();
  if (!library || !library->omp_set_num_threads) return nullptr;
  library->omp_set_num_threads(problem.threads);
  const PrimitiveDesc desc = describe(problem);
  if (!desc || implementation(desc.get()).starts_with("ref")) return nullptr;
  auto primitive = std::make_unique<Primitive>();
  primitive->threads = problem.threads;
  primitive->primitive = make_primitive(desc.get());
  for (const auto& [query, argument] :
       {std::pair{dnnl_query_src_md, DNNL_ARG_SRC}, std::pair{dnnl_query_weights_md, DNNL_ARG_WEIGHTS},
        std::pair{dnnl_query_dst_md, DNNL_ARG_DST}})
    primitive->add(argument, library->primitive_desc_query_md(desc.get(), query, 0));
  const const_dnnl_memory_desc_t bias =
      library->primitive_desc_query_md(desc.get(), dnnl_query_weights_md, 1);
  if (bias && library->memory_desc_get_size(bias) > 0) primitive->add(DNNL_ARG_BIAS, bias);
  return std::unique_ptr<OneDnnPeer>(new OneDnnPeer(std::move(primitive)));
}

void OneDnnPeer::run() noexcept {
  const Library& l = *Library::get();
  l.omp_set_num_threads(primitive_->threads);
  l.primitive_execute(primitive_->primitive.get(), l.stream, static_cast<int>(primitive_->arguments.size()),
                      primitive_->arguments.data());
}

}  // namespace wootz
