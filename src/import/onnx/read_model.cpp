// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of onnx.proto (package onnx, proto2).
#include <string>

#include "import/onnx/model.h"
#include "import/onnx/wire.h"

namespace wootz::onnx {
namespace {

GraphView read_graph(WireReader in, int nesting);

std::pair<std::string_view, std::string_view> read_string_pair(WireReader in) {
  std::pair<std::string_view, std::string_view> pair;
  while (in.next()) {
    switch (in.field()) {
      case 1: pair.first = in.bytes(); break;
      case 2: pair.second = in.bytes(); break;
    }
  }
  return pair;
}

std::pair<std::string_view, int64_t> read_opset_import(WireReader in) {
  std::pair<std::string_view, int64_t> import{"", 0};
  while (in.next()) {
    switch (in.field()) {
      case 1: import.first = in.bytes(); break;
      case 2: import.second = in.integer(); break;
    }
  }
  return import;
}

ValueInfoView read_value_info(WireReader in) {
  ValueInfoView info;
  while (in.next()) {
    switch (in.field()) {
      case 1: info.name = in.bytes(); break;
      case 2: info.type = read_type(in.message("TypeProto")); break;
    }
  }
  return info;
}

/// Files written before IR version 2 have no type field: what is set tells the kind.
AttributeKind kind_from_field(uint32_t field) {
  switch (field) {
    case 2: return AttributeKind::kFloat;
    case 3: return AttributeKind::kInt;
    case 4: return AttributeKind::kString;
    case 5: return AttributeKind::kTensor;
    case 6: return AttributeKind::kGraph;
    case 7: return AttributeKind::kFloats;
    case 8: return AttributeKind::kInts;
    case 9: return AttributeKind::kStrings;
    case 10: return AttributeKind::kTensors;
    case 11: return AttributeKind::kGraphs;
    case 14: return AttributeKind::kType;
    case 15: return AttributeKind::kTypes;
    case 22: return AttributeKind::kSparseTensor;
    case 23: return AttributeKind::kSparseTensors;
    default: return AttributeKind::kUndefined;
  }
}

AttributeView read_attribute(WireReader in, int nesting) {
  AttributeView attribute;
  attribute.message = in.rest();
  AttributeKind seen = AttributeKind::kUndefined;
  while (in.next()) {
    if (const AttributeKind kind = kind_from_field(in.field()); kind != AttributeKind::kUndefined)
      seen = kind;
    switch (in.field()) {
      case 1: attribute.name = in.bytes(); break;
      case 6:
      case 11: attribute.graphs.push_back(read_graph(in.message("GraphProto"), nesting + 1)); break;
      case 20: {
        const int64_t kind = in.integer();
        if (kind < 0 || kind > 14)
          in.fail("expected an attribute type from 0 to 14, found " + std::to_string(kind));
        attribute.kind = static_cast<AttributeKind>(kind);
        break;
      }
      case 21: attribute.reference = in.bytes(); break;
    }
  }
  if (attribute.kind == AttributeKind::kUndefined) attribute.kind = seen;
  return attribute;
}

NodeView read_node(WireReader in, int nesting) {
  NodeView node;
  while (in.next()) {
    switch (in.field()) {
      case 1: node.inputs.push_back(in.bytes()); break;
      case 2: node.outputs.push_back(in.bytes()); break;
      case 3: node.name = in.bytes(); break;
      case 4: node.op = in.bytes(); break;
      case 5: node.attributes.push_back(read_attribute(in.message("AttributeProto"), nesting)); break;
      case 7: node.domain = in.bytes(); break;
      case 8: node.overload = in.bytes(); break;
    }
  }
  return node;
}

GraphView read_graph(WireReader in, int nesting) {
  if (nesting > kMaxNesting)
    in.fail("expected at most " + std::to_string(kMaxNesting) + " graphs inside each other, found more");
  GraphView graph;
  while (in.next()) {
    switch (in.field()) {
      case 1: graph.nodes.push_back(read_node(in.message("NodeProto"), nesting)); break;
      case 2: graph.name = in.bytes(); break;
      case 5: graph.initializers.push_back(read_tensor(in.message("TensorProto"))); break;
      case 11: graph.inputs.push_back(read_value_info(in.message("ValueInfoProto"))); break;
      case 12: graph.outputs.push_back(read_value_info(in.message("ValueInfoProto"))); break;
      case 13: graph.value_infos.push_back(read_value_info(in.message("ValueInfoProto"))); break;
      case 15:
        graph.sparse_initializers.push_back(read_sparse_tensor(in.message("SparseTensorProto")));
        break;
    }
  }
  return graph;
}

FunctionView read_function(WireReader in) {
  FunctionView function;
  while (in.next()) {
    switch (in.field()) {
      case 1: function.name = in.bytes(); break;
      case 4: function.inputs.push_back(in.bytes()); break;
      case 5: function.outputs.push_back(in.bytes()); break;
      case 6: function.attributes.push_back(in.bytes()); break;
      case 7: function.nodes.push_back(read_node(in.message("NodeProto"), 0)); break;
      case 9: function.opset_imports.push_back(read_opset_import(in.message("OperatorSetIdProto"))); break;
      case 10: function.domain = in.bytes(); break;
      case 11: function.attribute_defaults.push_back(read_attribute(in.message("AttributeProto"), 0)); break;
      case 13: function.overload = in.bytes(); break;
    }
  }
  return function;
}

DimView read_dim(WireReader in) {
  DimView dim;
  while (in.next()) {
    switch (in.field()) {
      case 1: dim.value = in.integer(); break;
      case 2: dim.param = in.bytes(); break;
    }
  }
  return dim;
}

std::vector<DimView> read_shape(WireReader in) {
  std::vector<DimView> dims;
  while (in.next())
    if (in.field() == 1) dims.push_back(read_dim(in.message("Dimension")));
  return dims;
}

}  // namespace

TensorView read_tensor(WireReader in) {
  TensorView tensor;
  tensor.message = in.rest();
  while (in.next()) {
    switch (in.field()) {
      case 1: in.append(tensor.dims); break;
      case 2: tensor.dtype = in.integer(); break;
      case 3: tensor.is_segment = true; break;
      case 8: tensor.name = in.bytes(); break;
      case 9: tensor.raw_data = in.bytes(); break;
      case 13: tensor.external_data.push_back(read_string_pair(in.message("StringStringEntryProto"))); break;
      case 14: tensor.is_external = in.integer() == 1; break;
    }
  }
  return tensor;
}

SparseTensorView read_sparse_tensor(WireReader in) {
  SparseTensorView sparse;
  while (in.next()) {
    switch (in.field()) {
      case 1: sparse.values = read_tensor(in.message("TensorProto")); break;
      case 2: sparse.indices = read_tensor(in.message("TensorProto")); break;
      case 3: in.append(sparse.dims); break;
    }
  }
  return sparse;
}

namespace {

/// Tensor, SparseTensor, Sequence, Optional and Map share their field numbers: 1 is the element or key, 2 the
/// rest.
void read_type_content(WireReader in, TypeView::Kind kind, TypeView& type, int nesting) {
  type = TypeView{};
  type.kind = kind;
  const bool nested = kind == TypeView::Kind::kSequence || kind == TypeView::Kind::kOptional;
  while (in.next()) {
    if (in.field() == 1 && nested)
      type.element = {read_type(in.message("TypeProto"), nesting + 1)};
    else if (in.field() == 2 && kind == TypeView::Kind::kMap)
      type.element = {read_type(in.message("TypeProto"), nesting + 1)};
    else if (in.field() == 1 && kind != TypeView::Kind::kOpaque)
      type.dtype = in.integer();
    else if (in.field() == 2 && kind != TypeView::Kind::kOpaque && !nested)
      type.shape = read_shape(in.message("TensorShapeProto"));
  }
}

}  // namespace

TypeView read_type(WireReader in, int nesting) {
  if (nesting > kMaxNesting)
    in.fail("expected at most " + std::to_string(kMaxNesting) + " types inside each other, found more");
  TypeView type;
  while (in.next()) {
    switch (in.field()) {
      case 1:
        read_type_content(in.message("TypeProto.Tensor"), TypeView::Kind::kTensor, type, nesting);
        break;
      case 4:
        read_type_content(in.message("TypeProto.Sequence"), TypeView::Kind::kSequence, type, nesting);
        break;
      case 5: read_type_content(in.message("TypeProto.Map"), TypeView::Kind::kMap, type, nesting); break;
      case 7:
        read_type_content(in.message("TypeProto.Opaque"), TypeView::Kind::kOpaque, type, nesting);
        break;
      case 8:
        read_type_content(in.message("TypeProto.SparseTensor"), TypeView::Kind::kSparseTensor, type, nesting);
        break;
      case 9:
        read_type_content(in.message("TypeProto.Optional"), TypeView::Kind::kOptional, type, nesting);
        break;
    }
  }
  return type;
}

ModelView read_model(std::string_view file) {
  ModelView model;
  WireReader in(file, "ModelProto");
  while (in.next()) {
    switch (in.field()) {
      case 1: model.ir_version = in.integer(); break;
      case 2: model.producer_name = in.bytes(); break;
      case 3: model.producer_version = in.bytes(); break;
      case 4: model.domain = in.bytes(); break;
      case 5: model.model_version = in.integer(); break;
      case 7: model.graph = read_graph(in.message("GraphProto"), 0); break;
      case 8: model.opset_imports.push_back(read_opset_import(in.message("OperatorSetIdProto"))); break;
      case 14: model.metadata.push_back(read_string_pair(in.message("StringStringEntryProto"))); break;
      case 20: model.has_training = true; break;
      case 25: model.functions.push_back(read_function(in.message("FunctionProto"))); break;
    }
  }
  return model;
}

}  // namespace wootz::onnx
