// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/external_data.h"

#include <charconv>

#include "base/error.h"
#include "base/files.h"
#include "import/onnx/problems.h"

namespace wootz::onnx {
namespace {

namespace fs = std::filesystem;

uint64_t parse_number(std::string_view key, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("external data: expected a whole number for " + std::string(key) + ", found " + quote(text));
  return value;
}

fs::path resolve(const fs::path& folder, std::string_view location) {
  const fs::path relative(location);
  const std::string shown = "external data location " + quote(location);
  if (location.empty() || location.find('\0') != std::string_view::npos)
    fail(shown + ": expected a file name");
  if (folder.empty())
    fail(shown + ": the model was given as bytes without a folder; give the folder or the file's path");
  if (relative.is_absolute()) fail(shown + " is absolute; expected a path below the model's folder");
  for (const fs::path& part : relative)
    if (part == "..") fail(shown + " leaves the model's folder; expected a path below it without '..'");
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  if (error)
    throw Error(ErrorKind::kIo,
                shown + ": " + error.message() + "; put the file beside the model, in " + folder.string());
  const fs::path below = file.lexically_relative(root);
  if (below.empty() || *below.begin() == "..")
    fail(shown + " is a link out of the model's folder; put a copy of the file in the folder");
  return file;
}

}  // namespace

std::shared_ptr<const MappedFile> ExternalData::open(std::string_view location) {
  auto [it, is_new] = files_.try_emplace(std::string(location));
  if (is_new) {
    try {
      it->second = MappedFile::open(resolve(folder_, location).string());
    } catch (...) {
      files_.erase(it);
      throw;
    }
  }
  return it->second;
}

ExternalData::Span ExternalData::find(const TensorView& tensor, uint64_t size) {
  std::string_view location;
  uint64_t offset = 0, length = size;
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "location")
      location = value;
    else if (key == "offset")
      offset = parse_number(key, value);
    else if (key == "length")
      length = parse_number(key, value);
  }
  if (length != size)
    fail("external data: expected a length of " + std::to_string(size) +
         " bytes for its type and dims, found " + std::to_string(length));
  std::shared_ptr<const MappedFile> file = open(location);
  const uint64_t file_size = file->size();
  if (offset > file_size || size > file_size - offset)
    fail("external data: expected " + std::to_string(size) + " bytes at offset " + std::to_string(offset) +
         " of " + quote(location) + ", found a file of " + std::to_string(file_size) +
         " bytes; the file is cut short or belongs to another model");
  const auto* data = reinterpret_cast<const char*>(file->data());
  return {{data + offset, static_cast<size_t>(size)}, std::move(file)};
}

}  // namespace wootz::onnx
