// SPDX-License-Identifier: Apache-2.0
// The messages of an ONNX file as views into its bytes. Tensors and attributes keep their message: their
// contents are read when they are needed, so that reading a model touches no weight.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace wootz::onnx {

class WireReader;

using StringPairs = std::vector<std::pair<std::string_view, std::string_view>>;
using OpsetImports = std::vector<std::pair<std::string_view, int64_t>>;

struct TensorView {
  std::string_view message;  // all fields: typed data is read from here
  std::string_view name;
  int64_t dtype = 0;  // TensorProto.DataType
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw_data;
  StringPairs external_data;
  bool is_external = false;
  bool is_segment = false;
};

struct SparseTensorView {
  TensorView values, indices;
  std::vector<int64_t> dims;
};

struct DimView {
  std::optional<int64_t> value;
  std::string_view param;
};

struct TypeView {
  enum class Kind : uint8_t { kNone, kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };
  Kind kind = Kind::kNone;
  int64_t dtype = 0;  // tensor element, map key
  std::optional<std::vector<DimView>> shape;
  std::vector<TypeView> element;  // one, for sequence, optional and map
};

struct ValueInfoView {
  std::string_view name;
  TypeView type;
};

struct GraphView;

/// AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};

struct AttributeView {
  std::string_view message;
  std::string_view name;
  std::string_view reference;  // ref_attr_name: the enclosing function's attribute that gives the value
  AttributeKind kind = AttributeKind::kUndefined;
  std::vector<GraphView> graphs;
};

struct NodeView {
  std::vector<std::string_view> inputs, outputs;
  std::string_view name, op, domain, overload;
  std::vector<AttributeView> attributes;
};

struct GraphView {
  std::string_view name;
  std::vector<NodeView> nodes;
  std::vector<TensorView> initializers;
  std::vector<SparseTensorView> sparse_initializers;
  std::vector<ValueInfoView> inputs, outputs, value_infos;
};

struct FunctionView {
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeView> attribute_defaults;
  std::vector<NodeView> nodes;
  OpsetImports opset_imports;
};

struct ModelView {
  int64_t ir_version = 0;
  OpsetImports opset_imports;
  std::string_view producer_name, producer_version, domain;
  int64_t model_version = 0;
  std::optional<GraphView> graph;
  StringPairs metadata;
  std::vector<FunctionView> functions;
  bool has_training = false;
};

/// Reads the messages of a model file. Error(kInvalidModel) where the bytes are no ONNX, with the byte
/// offset, and where graphs or types are nested deeper than kMaxNesting.
ModelView read_model(std::string_view file);
TensorView read_tensor(WireReader message);
SparseTensorView read_sparse_tensor(WireReader message);
TypeView read_type(WireReader message, int nesting = 0);

inline constexpr int kMaxNesting = 64;

}  // namespace wootz::onnx
