// SPDX-License-Identifier: Apache-2.0
// A tactic that is wrong leaves its region as a model that shows it again.
#include "compiler/reproducer.h"

#include <wootz/op.h>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "import/onnx/import.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = R"(graph(%x: float32[n,64]) -> (%y) {
%k: float32[64] = constant [KKK]
%s = Add(%x, %k)
%t = test.reproducer::Wrong(%s)
%y = Neg(%t)
})";

std::string model() {
  std::string numbers, text = kModel;
  for (int i = 0; i < 64; ++i) numbers += (i ? ", " : "") + std::to_string(i);
  return text.replace(text.find("KKK"), 3, numbers);
}

/// y = x, and a kernel that leaves the last element out.
void add_wrong_op() {
  UserOp op;
  op.domain = "test.reproducer";
  op.name = "Wrong";
  op.infer = [](std::span<const TensorInfo> in, const OpAttributes&) {
    return std::vector<TensorInfo>{in[0]};
  };
  op.evaluate = [](std::span<const Tensor> in, const OpAttributes&) { return std::vector<Tensor>{in[0]}; };
  OpKernel kernel;
  kernel.name = "short";
  kernel.run = [](std::span<const Tensor> in, std::span<Tensor> out, const OpAttributes&) {
    for (int64_t i = 0; i + 1 < in[0].size(); ++i) out[0].as<float>()[i] = in[0].as<float>()[i];
  };
  op.kernels.push_back(std::move(kernel));
  add_op(std::move(op));
}

/// y = x, and a kernel that loses what is not finite.
void add_op_wrong_on_nan() {
  UserOp op;
  op.domain = "test.reproducer";
  op.name = "WrongOnNan";
  op.infer = [](std::span<const TensorInfo> in, const OpAttributes&) {
    return std::vector<TensorInfo>{in[0]};
  };
  op.evaluate = [](std::span<const Tensor> in, const OpAttributes&) { return std::vector<Tensor>{in[0]}; };
  OpKernel kernel;
  kernel.name = "finite";
  kernel.run = [](std::span<const Tensor> in, std::span<Tensor> out, const OpAttributes&) {
    for (int64_t i = 0; i < in[0].size(); ++i)
      out[0].as<float>()[i] = std::isfinite(in[0].as<float>()[i]) ? in[0].as<float>()[i] : 0;
  };
  op.kernels.push_back(std::move(kernel));
  add_op(std::move(op));
}

class Reproducer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    add_wrong_op();
    add_op_wrong_on_nan();
  }
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("wootz_reproducer_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    options_.shapes["x"] = {2, 64};
    options_.reproducers = folder_.string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<fs::path> kept() const {
    std::vector<fs::path> list;
    if (fs::exists(folder_))
      for (const auto& entry : fs::directory_iterator(folder_)) list.push_back(entry.path());
    return list;
  }

  fs::path folder_;
  CompileOptions options_;
};

TEST_F(Reproducer, HoldsRegionInputsSeedAndCommand) {
  const auto engine = compile_text(model(), options_);
  for (const StepRecord& step : engine->steps)
    for (const TacticChoice& choice : step.choices)
      EXPECT_NE(choice.tactic_id, "user.test.reproducer.Wrong.short");
  ASSERT_EQ(kept().size(), 1u);
  const fs::path place = kept()[0];
  EXPECT_TRUE(place.filename().string().starts_with("user.test.reproducer.Wrong.short-"));
  const std::string readme(MappedFile::open((place / "README.txt").string())->text());
  for (const char* part : {"element 127", "seed 17", "random", "--tactic user.test.reproducer.Wrong.short"})
    EXPECT_NE(readme.find(part), std::string::npos) << part << "\n" << readme;
  const auto input = MappedFile::open((place / "test_data_set_0" / "input_0.pb").string());
  EXPECT_EQ(read_tensor_proto(std::as_bytes(std::span(input->text()))).dims(), (Dims{2, 64}));

  // The model in it fails again, by the command.
  CompileOptions again;
  again.tune = false;
  again.tactics = {"user.test.reproducer.Wrong.*"};
  try {
    compile(import_onnx_file(place / "model.onnx"), again);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kVerification);
    EXPECT_NE(e.message().find("element 127"), std::string::npos) << e.message();
  }
}

TEST_F(Reproducer, OfAnExtremeKindHoldsItsInputs) {
  std::string text = model();
  text.replace(text.find("::Wrong"), 7, "::WrongOnNan");
  compile_text(text, options_);
  ASSERT_EQ(kept().size(), 1u);
  const std::string readme(MappedFile::open((kept()[0] / "README.txt").string())->text());
  EXPECT_NE(readme.find("non-finite"), std::string::npos) << readme;
  const auto input = MappedFile::open((kept()[0] / "test_data_set_0" / "input_0.pb").string());
  const std::vector<double> x = read_tensor_proto(std::as_bytes(std::span(input->text()))).to_doubles();
  EXPECT_TRUE(std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }));
}

TEST_F(Reproducer, IsKeptOnce) {
  compile_text(model(), options_);
  compile_text(model(), options_);
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(Reproducer, AFolderThatCannotBeMadeIsARemark) {
  options_.reproducers = "/proc/no/such/folder";
  const auto engine = compile_text(model(), options_);
  bool told = false;
  for (const RemarkRecord& r : engine->remarks) told |= r.text.find("could not be kept") != std::string::npos;
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace wootz::compile_tests
