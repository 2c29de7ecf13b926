// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

#include "import/onnx/external_data.h"
#include "import/onnx/model.h"
#include "ir/tensor.h"

namespace wootz::onnx {

/// The DType of a TensorProto.DataType; kInvalidModel or kUnsupported where there is none.
DType dtype_from_number(int64_t number);

/// Makes tensors of a file's TensorProtos. Data that lies aligned in the file (or a data file beside it) is
/// not copied: the tensor views the mapping and keeps it alive.
class TensorReader {
 public:
  /// `owner` keeps the bytes of the file alive; null: the caller does not, so everything is copied.
  TensorReader(std::string_view file, std::shared_ptr<const void> owner, std::filesystem::path folder)
      : file_(file), owner_(std::move(owner)), external_(std::move(folder)) {}

  Tensor read(const TensorView& view);
  /// A dense tensor; at most 2 GiB of them, because a few bytes can ask for any size.
  Tensor read(const SparseTensorView& view);

  const char* file_begin() const { return file_.data(); }
  const ExternalData& external() const { return external_; }

 private:
  std::string_view file_;
  std::shared_ptr<const void> owner_;
  ExternalData external_;
};

/// Elements as an ONNX file stores them (little-endian, 2- and 4-bit ones packed from the low bits up) as a
/// tensor: a view when `owner` is given and the bytes are aligned, a copy otherwise.
Tensor tensor_from_raw(DType dtype, Dims dims, std::string_view bytes, std::shared_ptr<const void> owner);

}  // namespace wootz::onnx
