// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/import/test_ops.h"

namespace wootz {
namespace {

using namespace onnx_writer;
namespace fs = std::filesystem;

class ExternalData : public testing::Test {
 protected:
  ExternalData()
      : root_(fs::path(testing::TempDir()) / ("wootz_external_" + std::to_string(::getpid()))),
        folder_(root_ / "model") {
    fs::create_directories(folder_ / "sub");
    write(folder_ / "weights.bin", raw_bytes<float>({1, 2, 3, 4}));
    write(folder_ / "sub" / "weights.bin", raw_bytes<float>({5, 6}));
    write(root_ / "outside.bin", raw_bytes<float>({7, 8}));
    test_ops::register_all();
  }
  ~ExternalData() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  Tensor import(const std::vector<std::pair<std::string, std::string>>& entries) {
    ModelSpec spec;
    spec.graph.initializers = {external_tensor("w", 1, {2}, entries)};
    spec.graph.nodes = {{"Copy", {"w"}, {"y"}, {}, "", "test"}};
    spec.graph.outputs = {float_info("y", {2})};
    write(folder_ / "m.onnx", model(spec));
    return *import_onnx_file(folder_ / "m.onnx").graph->find_value("w")->constant;
  }
  std::string error_of(const std::vector<std::pair<std::string, std::string>>& entries) {
    try {
      import(entries);
    } catch (const Error& error) {
      const std::string prefix = (folder_ / "m.onnx").string() + ": initializer 'w': ";
      EXPECT_TRUE(error.message().starts_with(prefix)) << error.message();
      return error.message().substr(prefix.size());
    }
    return "";
  }

  fs::path root_, folder_;
};

TEST_F(ExternalData, ReadsAtAnOffset) {
  EXPECT_EQ(import({{"location", "weights.bin"}}).to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(import({{"location", "weights.bin"}, {"offset", "8"}, {"length", "8"}}).to_doubles(),
            (std::vector<double>{3, 4}));
  EXPECT_EQ(import({{"location", "weights.bin"}, {"offset", "5"}}).size(), 2) << "unaligned data is copied";
  EXPECT_EQ(import({{"location", "./sub/weights.bin"}, {"checksum", "ignored"}}).to_doubles(),
            (std::vector<double>{5, 6}));
}

TEST_F(ExternalData, LinksInsideTheFolderAreFollowed) {
  fs::create_symlink("sub/weights.bin", folder_ / "link.bin");
  EXPECT_EQ(import({{"location", "link.bin"}}).to_doubles(), (std::vector<double>{5, 6}));
}

TEST_F(ExternalData, NothingOutsideTheFolderIsRead) {
  EXPECT_EQ(error_of({{"location", "../outside.bin"}}),
            "external data location '../outside.bin' leaves the model's folder; expected a path below it "
            "without '..'");
  EXPECT_EQ(error_of({{"location", "/etc/passwd"}}),
            "external data location '/etc/passwd' is absolute; expected a path below the model's folder");
  fs::create_symlink("../outside.bin", folder_ / "link.bin");
  EXPECT_EQ(error_of({{"location", "link.bin"}}),
            "external data location 'link.bin' is a link out of the model's folder; put a copy of the file "
            "in the folder");
  fs::create_directory_symlink(root_, folder_ / "up");
  EXPECT_EQ(error_of({{"location", "up/outside.bin"}}),
            "external data location 'up/outside.bin' is a link out of the model's folder; put a copy of the "
            "file in the folder");
}

TEST_F(ExternalData, RangesAreChecked) {
  EXPECT_EQ(error_of({{"location", "weights.bin"}, {"offset", "12"}}),
            "external data: expected 8 bytes at offset 12 of 'weights.bin', found a file of 16 bytes; the "
            "file is cut short or "
            "belongs to another model");
  EXPECT_EQ(error_of({{"location", "weights.bin"}, {"offset", "18446744073709551615"}}),
            "external data: expected 8 bytes at offset 18446744073709551615 of 'weights.bin', found a file "
            "of 16 bytes; the file is "
            "cut short or belongs to another model");
  EXPECT_EQ(error_of({{"location", "weights.bin"}, {"length", "4"}}),
            "external data: expected a length of 8 bytes for its type and dims, found 4");
  EXPECT_EQ(error_of({{"location", "weights.bin"}, {"offset", "-1"}}),
            "external data: expected a whole number for offset, found '-1'");
  EXPECT_EQ(error_of({{"offset", "0"}}), "external data location '': expected a file name");
}

TEST_F(ExternalData, MissingFilesAndFolders) {
  EXPECT_EQ(error_of({{"location", "none.bin"}}),
            "external data location 'none.bin': No such file or directory; put the file beside the "
            "model, in " +
                folder_.string());
  EXPECT_EQ(error_of({{"location", "sub"}}),
            "cannot read " + fs::canonical(folder_ / "sub").string() + ": expected a file, found a folder");
  ModelSpec spec;
  spec.graph.initializers = {external_tensor("w", 1, {2}, {{"location", "weights.bin"}})};
  spec.graph.nodes = {{"Copy", {"w"}, {"y"}, {}, "", "test"}};
  spec.graph.outputs = {float_info("y", {2})};
  EXPECT_EQ(test_ops::error_of(spec),
            "initializer 'w': external data location 'weights.bin': the model was given as bytes without a "
            "folder; give the folder or the file's path");
}

TEST_F(ExternalData, AlignedDataIsNotCopied) {
  const Tensor aligned = import({{"location", "weights.bin"}, {"offset", "8"}});
  const Tensor again = import({{"location", "weights.bin"}, {"offset", "8"}});
  // Mappings start at a page: a view keeps the offset within it.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned.data()) % 4096, 8u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(again.data()) % 4096, 8u);
}

TEST_F(ExternalData, TheContentHashCoversIt) {
  ModelSpec spec;
  spec.graph.initializers = {external_tensor("w", 1, {2}, {{"location", "weights.bin"}})};
  spec.graph.nodes = {{"Copy", {"w"}, {"y"}, {}, "", "test"}};
  spec.graph.outputs = {float_info("y", {2})};
  write(folder_ / "m.onnx", model(spec));
  const std::string first = import_onnx_file(folder_ / "m.onnx").content_hash;
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(import_onnx_file(folder_ / "m.onnx").content_hash, first);
  write(folder_ / "weights.bin", raw_bytes<float>({1, 2, 3, 5}));
  EXPECT_NE(import_onnx_file(folder_ / "m.onnx").content_hash, first);
  EXPECT_EQ(import_onnx_file(folder_ / "m.onnx", {.content_hash = false}).content_hash, "");
}

TEST_F(ExternalData, HugeWeightsAreNotTouched) {
  const fs::path big = folder_ / "big.bin";
  write(big, "");
  fs::resize_file(big, uintmax_t{3} << 30);  // a hole: reading it all would take seconds
  ModelSpec spec;
  spec.graph.initializers = {external_tensor("w", 1, {3, 1 << 28}, {{"location", "big.bin"}})};
  spec.graph.nodes = {{"Copy", {"w"}, {"y"}, {}, "", "test"}};
  spec.graph.outputs = {float_info("y", {3, 1 << 28})};
  write(folder_ / "m.onnx", model(spec));
  const ImportedModel m = import_onnx_file(folder_ / "m.onnx", {.content_hash = false});
  EXPECT_EQ(m.graph->find_value("w")->constant->size_bytes(), size_t{3} << 30);
}

}  // namespace
}  // namespace wootz
