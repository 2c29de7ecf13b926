// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "import/onnx/model.h"

namespace wootz {
class MappedFile;
}

namespace wootz::onnx {

/// The data files beside a model. A location is a path below the model's folder: absolute paths, `..` and
/// links that lead out of the folder are refused, so that a model cannot read other files of its user.
class ExternalData {
 public:
  /// An empty folder: the model has none (it came as bytes), every location is refused.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Span {
    std::string_view bytes;
    std::shared_ptr<const MappedFile> owner;
  };
  /// The `size` bytes that the tensor's external_data entries name. Error(kInvalidModel) or Error(kIo).
  Span find(const TensorView& tensor, uint64_t size);

  const std::map<std::string, std::shared_ptr<const MappedFile>>& files() const { return files_; }

 private:
  std::shared_ptr<const MappedFile> open(std::string_view location);
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by location
};

}  // namespace wootz::onnx
