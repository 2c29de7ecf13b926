// SPDX-License-Identifier: Apache-2.0
#include "export/onnx/tensor_message.h"

#include <protozero/pbf_writer.hpp>

namespace wootz::onnx {
namespace {

/// 2-, 4- and 6-bit elements lie packed in a file.
std::string packed(const Tensor& tensor) {
  const int bits = dtype_file_bits(tensor.dtype());
  std::string raw(static_cast<size_t>((tensor.size() * bits + 7) / 8), '\0');
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto low = static_cast<unsigned>(tensor.as<uint8_t>()[i]) & ((1u << bits) - 1);
    const unsigned two = low << (i * bits % 8);
    const auto at = static_cast<size_t>(i * bits / 8);
    raw[at] |= static_cast<char>(two);
    if (two > 0xff) raw[at + 1] |= static_cast<char>(two >> 8);
  }
  return raw;
}

void write_external(PbfWriter& w, const std::string& location, int64_t offset, size_t bytes) {
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                   {"offset", std::to_string(offset)},
                                   {"length", std::to_string(bytes)}}) {
    PbfWriter entry(w, 13);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
  w.add_int32(14, 1);  // data_location EXTERNAL
}

std::string dim_message(const Dim& dim, const SymbolTable& symbols) {
  std::string message;
  PbfWriter w(message);
  const Dim d = symbols.resolve(dim);
  if (d.is_constant())
    w.add_int64(1, d.value());
  else if (d.constant() == 0 && d.terms().size() == 1 && d.terms()[0].second == 1 &&
           symbols.at(d.terms()[0].first).kind == Symbol::Kind::kInput)
    w.add_string(2, symbols.at(d.terms()[0].first).name);
  return message;
}

std::string tensor_type_message(const Type& type, const SymbolTable& symbols) {
  std::string message;
  PbfWriter w(message);
  w.add_int32(1, static_cast<int32_t>(type.dtype));
  if (type.shape) {
    std::string shape;
    PbfWriter s(shape);
    for (const Dim& d : *type.shape) s.add_message(1, dim_message(d, symbols));
    w.add_message(2, shape);  // even when empty: rank 0
  }
  return message;
}

}  // namespace

void write_tensor(PbfWriter& w, const Tensor& tensor, const std::string& name, ConstantStore* store) {
  w.add_packed_int64(1, tensor.dims().begin(), tensor.dims().end());
  w.add_int32(2, static_cast<int32_t>(tensor.dtype()));
  if (!name.empty()) w.add_string(8, name);
  if (tensor.dtype() == DType::kString) {
    for (const std::string& each : tensor.span<std::string>()) w.add_bytes(6, each);
    return;
  }
  if (dtype_file_bits(tensor.dtype()) < 8) return w.add_bytes(9, packed(tensor));
  const int64_t offset = store ? store->put(tensor.data(), tensor.size_bytes()) : -1;
  if (offset >= 0) return write_external(w, store->location(), offset, tensor.size_bytes());
  w.add_bytes(9, static_cast<const char*>(tensor.data()), tensor.size_bytes());
}

std::string type_message(const Type& type, const SymbolTable& symbols) {
  std::string message, inner;
  PbfWriter w(message), i(inner);
  const auto element = [&] { return type_message(type.element ? *type.element : Type(), symbols); };
  switch (type.kind) {
    case Type::Kind::kUnknown: break;
    case Type::Kind::kTensor: w.add_message(1, tensor_type_message(type, symbols)); break;
    case Type::Kind::kSparseTensor: w.add_message(8, tensor_type_message(type, symbols)); break;
    case Type::Kind::kSequence:
      i.add_message(1, element());
      w.add_message(4, inner);
      break;
    case Type::Kind::kOptional:
      i.add_message(1, element());
      w.add_message(9, inner);
      break;
    case Type::Kind::kMap:
      i.add_int32(1, static_cast<int32_t>(type.dtype));
      i.add_message(2, element());
      w.add_message(5, inner);
      break;
  }
  return message;
}

}  // namespace wootz::onnx
