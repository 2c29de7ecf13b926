// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ir/tensor.h"
#include "ir/type.h"

namespace protozero {
template <typename T>
class basic_pbf_writer;
}

namespace wootz::onnx {

using PbfWriter = protozero::basic_pbf_writer<std::string>;

/// Where constants lie that are too large for the model file itself.
class ConstantStore {
 public:
  virtual ~ConstantStore() = default;
  /// Keeps the bytes and returns their offset, or -1 where they stay in the message.
  virtual int64_t put(const void* data, size_t bytes) = 0;
  virtual std::string location() const = 0;
};

/// The fields of a TensorProto. `store` may be null.
void write_tensor(PbfWriter& w, const Tensor& tensor, const std::string& name, ConstantStore* store);

/// A TypeProto. Dimensions are numbers, input symbols by name, or left open.
std::string type_message(const Type& type, const SymbolTable& symbols);

}  // namespace wootz::onnx
