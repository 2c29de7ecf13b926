// SPDX-License-Identifier: Apache-2.0
// An engine that was tuned at one batch runs at others with the ways and the packed weights of that one:
// every way that a tactic offers at batch 1, 4 or 128 has to be right at 3, 1, 4 and 5. Of the ways that the
// other batch does not offer itself two a region and tactic are tried; all of all ways with
// WOOTZ_TEST_ALL_BATCHES.
#include <algorithm>
#include <functional>
#include <set>

#include "backends/cuda/codegen/planned_tactic.h"
#include "tests/cuda/bytes_cases.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/weight_cases.h"
#include "tuning/race.h"

namespace wootz {
namespace {

/// A region whose first dimension is the batch.
using Region = std::function<void(CudaCase&, int64_t batch)>;

bool tries_all() { return std::getenv("WOOTZ_TEST_ALL_BATCHES") != nullptr; }

Region product(ProductCase p) {
  return [p](CudaCase& test, int64_t batch) {
    ProductCase at = p;
    at.a[0] = batch;
    if (!p.constant_b && p.b.size() > 2) at.b[0] = batch;
    add_product(test, at);
  };
}

Region convolution(ConvolutionCase p) {
  return [p](CudaCase& test, int64_t batch) {
    ConvolutionCase at = p;
    at.n = batch;
    add_convolution(test, at);
  };
}

/// Another layout of the first input or result, strides by the batch.
Region with_input_strides(Region region, std::function<Dims(int64_t)> strides) {
  return [region, strides](CudaCase& test, int64_t batch) {
    region(test, batch);
    test.problem().inputs[0].strides = strides(batch);
  };
}
Region with_result_strides(Region region, std::function<Dims(int64_t)> strides) {
  return [region, strides](CudaCase& test, int64_t batch) {
    region(test, batch);
    test.problem().outputs[0].strides = strides(batch);
  };
}

void depthwise_with_mean(CudaCase& test, int64_t batch) {
  add_convolution(test, {.n = batch, .c = 32, .h = 9, .w = 9, .m = 32, .group = 32});
  test.constant(Tensor::int64s(std::vector<int64_t>{2, 3}))
      .node("ReduceMean", {"z", "3"}, {"mean"})
      .result("mean");
}

Region attention(Dims heads, Dims mask, bool constant_mask, DType dtype = DType::kFloat16) {
  return [=](CudaCase& test, int64_t batch) {
    Dims q = heads, m = mask;
    q[0] = batch;
    if (!constant_mask && m.size() == 4) m[0] = batch;
    std::vector<std::string> in = {"0", "1", "2"};
    for (int i = 1; i <= 3; ++i) test.input(random_tensor(dtype, q, i));
    if (!m.empty()) {
      test.input(random_tensor(constant_mask ? DType::kFloat32 : dtype, m, 4, 3), Storage::kRowMajor,
                 constant_mask);
      in.push_back("3");
    }
    Attributes attributes;
    attributes.set("scale", 0.125f);
    test.node("Attention", in, {"y"}, attributes, "wootz").result("y").tolerance(2e-3, 2e-3);
  };
}

/// Not the batch grows but the queries, for which there is one row of a mask.
void attention_of_more_queries(CudaCase& test, int64_t batch) {
  test.input(random_tensor(DType::kFloat16, {1, 2, 40 * batch, 32}, 1));
  for (int i = 2; i <= 3; ++i) test.input(random_tensor(DType::kFloat16, {1, 2, 49, 32}, i));
  test.constant(random_tensor(DType::kFloat32, {1, 1, 1, 49}, 4, 3));
  test.node("Attention", {"0", "1", "2", "3"}, {"y"}, {}, "wootz").result("y").tolerance(2e-3, 2e-3);
}

void norm(CudaCase& test, int64_t batch) {
  test.input(random_tensor(DType::kFloat16, {batch, 33, 96}, 1))
      .constant(random_tensor(DType::kFloat16, {96}, 2));
  test.node("LayerNormalization", {"0", "1"}, {"y"}).result("y").tolerance(2e-3, 2e-3);
}

void pointwise(CudaCase& test, int64_t batch) {
  test.input(random_tensor(DType::kFloat16, {batch, 40, 5, 8}, 1))
      .input(random_tensor(DType::kFloat16, {40, 1, 1}, 2))
      .node("Add", {"0", "1"}, {"a"})
      .node("Relu", {"a"}, {"y"})
      .result("y")
      .tolerance(2e-3, 2e-3);
}

void elementwise(CudaCase& test, int64_t batch) {
  test.input(random_tensor(DType::kFloat32, {batch, 100}, 1))
      .input(random_tensor(DType::kFloat32, {batch, 100}, 2))
      .node("Add", {"0", "1"}, {"y"})
      .result("y");
}

void product_of_bytes(CudaCase& test, int64_t batch) {
  BytesRegion(test, {.a_zero = 5, .residual = true}).product(50 * batch, 96, 128);
}
void convolution_of_bytes(CudaCase& test, int64_t batch) {
  BytesRegion(test, {}).convolution(
      {.n = batch, .c = 80, .h = 7, .w = 9, .m = 64, .kh = 1, .kw = 1, .pads = {0, 0, 0, 0}});
}

void product_of_few_bits(CudaCase& test, int64_t batch) {
  add_few_bits(test, {.rows = batch, .zeros = true});
}
void product_of_two_of_four(CudaCase& test, int64_t batch) {
  add_two_of_four(test, DType::kFloat16, batch, 70, 128);
}

std::vector<std::pair<const char*, Region>> regions() {
  const ConvolutionCase pointwise_conv = {
      .n = 1, .c = 24, .h = 8, .w = 8, .m = 40, .kh = 1, .kw = 1, .pads = {0, 0, 0, 0}};
  ConvolutionCase gated = pointwise_conv, gate = pointwise_conv,
                  pooled = {.n = 1, .c = 64, .h = 8, .w = 12, .m = 64};
  gated.gated = true, gate.c = 40, gate.h = gate.w = 1, gate.m = 16, pooled.pool = 2;
  const ConvolutionCase stem = {.n = 1,
                                .c = 3,
                                .h = 20,
                                .w = 30,
                                .m = 32,
                                .kh = 7,
                                .kw = 7,
                                .stride = 2,
                                .pads = {3, 3, 3, 3},
                                .x_storage = Storage::kRowMajor,
                                .from_float = true};
  ConvolutionCase pooled_stem = stem, depthwise = {.n = 1, .c = 32, .h = 9, .w = 9, .m = 32, .group = 32};
  pooled_stem.pool = 3;
  ConvolutionCase float_conv = {.n = 1, .c = 19, .h = 6, .w = 6, .m = 33, .dtype = DType::kFloat32};
  const ProductCase rows = {.a = {1, 50, 72}, .b = {72, 136}, .tail = TailKind::kResidualRelu, .bias = true};
  const ProductCase plain = {.a = {1, 50, 64}, .b = {64, 72}};
  ProductCase odd = {.a = {1, 5, 64}, .b = {64, 72}, .constant_b = false}, floats = rows;
  floats.dtype = DType::kFloat32;
  return {
      {"product of bytes", product_of_bytes},
      {"convolution of bytes", convolution_of_bytes},
      {"product of few bits", product_of_few_bits},
      {"product of two of four", product_of_two_of_four},
      {"rows", product(rows)},
      {"one row an image", product({.a = {1, 520}, .b = {520, 136}, .bias = true})},
      {"transposed result", with_result_strides(product(plain),
                                                [](int64_t b) {
                                                  return Dims{72, b * 72, 1};
                                                })},
      {"rows between the batches", with_input_strides(product(plain),
                                                      [](int64_t b) {
                                                        return Dims{64, b * 64, 1};
                                                      })},
      {"rows that are adjacent", with_input_strides(product(odd),
                                                    [](int64_t b) {
                                                      return Dims{5, 1, b * 5};
                                                    })},
      {"scores", product({.a = {1, 3, 40, 64}, .b = {1, 3, 64, 72}, .constant_b = false})},
      {"pointwise convolution", convolution(pointwise_conv)},
      {"pointwise convolution of a view", with_input_strides(convolution(pointwise_conv),
                                                             [](int64_t) {
                                                               return Dims{24 * 8 * 11, 1, 24 * 8, 24};
                                                             })},
      {"gate", convolution(gate)},
      {"gated convolution", convolution(gated)},
      {"halo", convolution({.n = 1, .c = 64, .h = 9, .w = 9, .m = 64})},
      {"convolution with residual",
       convolution({.n = 1, .c = 24, .h = 8, .w = 8, .m = 72, .tail = TailKind::kResidualRelu})},
      {"row-major result",
       convolution({.n = 1, .c = 64, .h = 6, .w = 8, .m = 72, .y_storage = Storage::kRowMajor})},
      {"pooled convolution", convolution(pooled)},
      {"first layer", convolution(stem)},
      {"first layer with pool", convolution(pooled_stem)},
      {"depthwise", convolution(depthwise)},
      {"depthwise with means", depthwise_with_mean},
      {"attention", attention({1, 2, 49, 32}, {}, false)},
      {"attention with a mask", attention({1, 2, 70, 64}, {1, 1, 1, 70}, false)},
      {"attention with a constant mask", attention({1, 2, 49, 32}, {2, 49, 49}, true)},
      {"attention with one constant row", attention_of_more_queries},
      {"attention of float32", attention({1, 2, 49, 32}, {1, 1, 1, 49}, false, DType::kFloat32)},
      {"float32 rows", product(floats)},
      {"float32 convolution", convolution(float_conv)},
      {"norm", norm},
      {"pointwise", pointwise},
      {"elementwise", elementwise},
  };
}

/// Those for a typical card, whose ways are more than the stand-in's; libraries choose where the GPU is.
std::vector<const Tactic*> tactics() {
  std::vector<const Tactic*> list;
  for (const auto& tactic : hopper_tactics().all())
    if (!is_vendor_tactic(tactic->id())) list.push_back(tactic.get());
  if (has_gpu())
    for (const Tactic* tactic : cuda_backend("cuda:0").tactics())
      if (is_vendor_tactic(tactic->id())) list.push_back(tactic);
  return list;
}

/// What the tactic offers at a batch, weights packed there.
std::vector<CudaCase::Chosen> offered(const Tactic& tactic, const Region& region, int64_t batch) {
  CudaCase test;
  region(test, batch);
  std::vector<CudaCase::Chosen> list;
  if (tactic.refusal(test.problem())) return list;
  for (const TacticConfig& config : tactic.configs(test.problem()))
    list.push_back({config, tactic.pack(test.problem(), config)});
  return list;
}

bool same_bytes(const Packed& a, const Packed& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.dims() == y.dims() && x.dtype() == y.dtype() &&
           std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
  });
}

/// Ways of the other batches; nothing twice, and but for the whole run nothing that this batch offers itself.
std::vector<CudaCase::Chosen> of_others(const Tactic& tactic, const Region& region, int64_t batch) {
  constexpr size_t kFew = 2;
  std::vector<CudaCase::Chosen> own = offered(tactic, region, batch), list;
  const auto has = [](const std::vector<CudaCase::Chosen>& ways, const CudaCase::Chosen& way) {
    return std::any_of(ways.begin(), ways.end(), [&](const auto& w) {
      return w.config == way.config && same_bytes(w.packed, way.packed);
    });
  };
  for (const int64_t tuned : {1, 4, 128}) {
    if (tuned == batch) continue;
    for (CudaCase::Chosen& way : offered(tactic, region, tuned)) {
      if (has(list, way) || (!tries_all() && (list.size() == kFew || has(own, way)))) continue;
      list.push_back(std::move(way));
    }
  }
  return list;
}

class CudaBatches : public testing::TestWithParam<size_t> {};

TEST_P(CudaBatches, WaysOfAnotherBatch) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here: nothing can be compiled";
  const auto [name, region] = regions()[GetParam()];
  for (const Tactic* tactic : tactics())
    for (const int64_t batch : {3, 1, 4, 5}) {
      if (batch == 5 && !tries_all()) continue;
      CudaCase test;
      region(test, batch);
      if (tactic->refusal(test.problem())) continue;
      SCOPED_TRACE(std::string(name) + " at batch " + std::to_string(batch));
      test.expect_chosen(std::string(tactic->id()), of_others(*tactic, region, batch));
    }
}

std::string region_name(const testing::TestParamInfo<size_t>& info) {
  std::string name = regions()[info.param].first;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Regions, CudaBatches, testing::Range(size_t{0}, regions().size()), region_name);

/// Every tactic that chooses among ways by the shape has a region above.
TEST(CudaBatchRegions, HaveEveryTacticWithWays) {
  std::set<std::string> missing;
  for (const Tactic* tactic : tactics()) {
    const auto* planned = dynamic_cast<const PlannedTactic*>(tactic);
    if (is_vendor_tactic(tactic->id()) && has_gpu() && std::getenv("WOOTZ_CUDA_DRIVER") == nullptr)
      continue;  // perhaps not installed
    if (planned && planned->configs({}).size() == 1) continue;
    const auto all = regions();
    const bool has = std::any_of(all.begin(), all.end(),
                                 [&](const auto& r) { return !offered(*tactic, r.second, 4).empty(); });
    if (!has) missing.insert(std::string(tactic->id()));
  }
  for (const std::string& id : missing) ADD_FAILURE() << "no region for " << id;
}

}  // namespace
}  // namespace wootz
