// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/report.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

TEST(Report, HoldsTheExplanationAndNothingFromOutside) {
  const std::string page = report_html(R"({"model": "tiny.onnx"})");
  EXPECT_NE(page.find(R"({"model": "tiny.onnx"})"), std::string::npos);
  EXPECT_EQ(page.find("@WOOTZ_"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
}

TEST(Report, ANameCannotEndTheScript) {
  const std::string page = report_html(R"({"model": "</script><script>alert(1)</script>"})");
  EXPECT_EQ(page.find("</script><script>alert"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert"), std::string::npos);
}

}  // namespace
}  // namespace wootz
