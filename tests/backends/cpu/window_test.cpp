// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/backends/strided_case.h"

namespace wootz {
namespace {

constexpr Storage kStorages[] = {Storage::kRowMajor, Storage::kChannelsLast, Storage::kReversed,
                                 Storage::kPadded};
using P = AttributePair;

TEST(Pool, WindowsAndLayouts) {
  struct Window {
    Ints kernel, strides, pads, dilations;
    int64_t ceil;
  };
  const Window windows[] = {
      {{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 0}, {{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 0},
      {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 0}, {{3, 2}, {2, 3}, {1, 0, 0, 1}, {1, 1}, 1},
      {{3, 3}, {1, 2}, {2, 2, 2, 2}, {2, 2}, 0}, {{13, 13}, {1, 1}, {6, 6, 6, 6}, {1, 1}, 0}};
  for (const char* op : {"MaxPool", "AveragePool"})
    for (const Window& w : windows)
      for (Storage s : kStorages)
        for (int64_t include : {0, 1}) {
          SCOPED_TRACE(op);
          Attributes a =
              attributes_of(P("kernel_shape", w.kernel), P("strides", w.strides), P("pads", w.pads),
                            P("dilations", w.dilations), P("ceil_mode", w.ceil));
          if (op[0] == 'A') a.set("count_include_pad", include);
          StridedCase()
              .input(random_tensor(DType::kFloat32, {2, 19, 15, 17}), s)
              .node(op, {"0"}, {"y"}, a)
              .result("y", s)
              .tolerance(1e-5, 1e-5)
              .expect("cpu.pool.direct");
        }
}

TEST(Pool, OneAndThreeAxesAndNaN) {
  StridedCase()
      .input(random_tensor(DType::kFloat32, {2, 5, 21}))
      .node("MaxPool", {"0"}, {"y"}, attributes_of(P("kernel_shape", Ints{3}), P("strides", Ints{2})))
      .result("y")
      .expect("cpu.pool.direct");
  for (Storage s : kStorages)
    StridedCase()
        .input(random_tensor(DType::kFloat32, {1, 5, 6, 7, 8}), s)
        .node("AveragePool", {"0"}, {"y"},
              attributes_of(P("kernel_shape", Ints{2, 3, 3}), P("strides", Ints{1, 2, 2})))
        .result("y", s)
        .tolerance(1e-5, 1e-5)
        .expect("cpu.pool.direct");
  for (Storage s : {Storage::kRowMajor, Storage::kChannelsLast})
    StridedCase()
        .input(extreme_tensor({1, 20, 9, 9}), s)
        .node("MaxPool", {"0"}, {"y"}, attributes_of(P("kernel_shape", Ints{2, 2})))
        .result("y", s)
        .expect("cpu.pool.direct");
}

TEST(Resize, ModesAndLayouts) {
  const std::vector<float> scales[] = {{1, 1, 2, 2}, {1, 1, 1.7f, 0.6f}, {1, 1, 3, 1}};
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"})
      for (const std::vector<float>& scale : scales)
        for (Storage s : kStorages) {
          SCOPED_TRACE(std::string(mode) + " " + coordinates);
          StridedCase()
              .input(random_tensor(DType::kFloat32, {2, 17, 9, 10}), s)
              .constant(Tensor::from<float>(DType::kFloat32, {4}, scale))
              .node("Resize", {"0", "", "1"}, {"y"},
                    attributes_of(P("mode", std::string(mode)),
                                  P("coordinate_transformation_mode", std::string(coordinates))))
              .result("y", s)
              .tolerance(1e-5, 1e-5)
              .expect("cpu.resize.lines");
        }
}

TEST(Resize, SizesAndOneAxis) {
  StridedCase()
      .input(random_tensor(DType::kFloat32, {2, 3, 11}))
      .constant(Tensor::int64s(std::vector<int64_t>{2, 3, 30}))
      .node("Resize", {"0", "", "", "1"}, {"y"}, attributes_of(P("mode", std::string("linear"))))
      .result("y")
      .tolerance(1e-5, 1e-5)
      .expect("cpu.resize.lines");
}

}  // namespace
}  // namespace wootz
