// SPDX-License-Identifier: Apache-2.0
#include "python/arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include <wootz/error.h>

namespace nb = nanobind;

namespace wootz::python {
namespace {

/// The name of NumPy's or ml_dtypes' type of the same elements.
const char* numpy_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
    case DType::kFloat16: return "float16";
    case DType::kInt8: return "int8";
    case DType::kUint8: return "uint8";
    case DType::kInt16: return "int16";
    case DType::kUint16: return "uint16";
    case DType::kInt32: return "int32";
    case DType::kUint32: return "uint32";
    case DType::kInt64: return "int64";
    case DType::kUint64: return "uint64";
    case DType::kBool: return "bool";
    case DType::kComplex64: return "complex64";
    case DType::kComplex128: return "complex128";
    case DType::kBFloat16: return "bfloat16";
    case DType::kFloat8E4M3FN: return "float8_e4m3fn";
    case DType::kFloat8E4M3FNUZ: return "float8_e4m3fnuz";
    case DType::kFloat8E5M2: return "float8_e5m2";
    case DType::kFloat8E5M2FNUZ: return "float8_e5m2fnuz";
    case DType::kFloat8E8M0: return "float8_e8m0fnu";
    case DType::kFloat4E2M1: return "float4_e2m1fn";
    case DType::kFloat6E2M3: return "float6_e2m3fn";
    case DType::kFloat6E3M2: return "float6_e3m2fn";
    case DType::kInt4: return "int4";
    case DType::kUint4: return "uint4";
    case DType::kInt2: return "int2";
    case DType::kUint2: return "uint2";
    default: return nullptr;
  }
}

DType dtype_from_numpy(const std::string& name) {
  for (int i = 1; i < kDTypeCount; ++i)
    if (const char* n = numpy_name(static_cast<DType>(i)); n && name == n) return static_cast<DType>(i);
  return DType::kUndefined;
}

nb::object numpy() { return nb::module_::import_("numpy"); }

Tensor strings_from_array(const nb::object& array, const Dims& dims) {
  std::vector<std::string> strings;
  for (nb::handle item : array.attr("ravel")().attr("tolist")())
    strings.push_back(nb::isinstance<nb::bytes>(item) ? std::string(nb::cast<nb::bytes>(item).c_str())
                                                      : nb::cast<std::string>(nb::str(item)));
  return Tensor::strings(dims, std::move(strings));
}

Tensor tensor_from_array(nb::object array, const std::string& name) {
  Dims dims;
  for (nb::handle d : array.attr("shape")) dims.push_back(nb::cast<int64_t>(d));
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind == "O" || kind == "U" || kind == "S") return strings_from_array(array, dims);
  const auto dtype_text = nb::cast<std::string>(array.attr("dtype").attr("name"));
  const DType dtype = dtype_from_numpy(dtype_text);
  if (dtype == DType::kUndefined)
    throw Error(ErrorKind::kInvalidArgument,
                "input '" + name + "': element type " + dtype_text + " is not one that models take");
  array = numpy().attr("ascontiguousarray")(array);
  // The address alone: ml_dtypes kinds have no buffer format.
  const auto address = nb::cast<uintptr_t>(array.attr("__array_interface__")["data"][0]);
  auto* kept = new nb::object(std::move(array));
  const std::shared_ptr<const void> owner(kept, [](const void* p) {
    nb::gil_scoped_acquire gil;
    delete static_cast<nb::object*>(const_cast<void*>(p));
  });
  return Tensor::view(dtype, std::move(dims), reinterpret_cast<void*>(address), owner);
}

nb::object array_from_tensor(Tensor tensor) {
  nb::list shape;
  for (int64_t d : tensor.dims()) shape.append(d);
  if (tensor.dtype() == DType::kString) {
    nb::list items;
    for (const std::string& s : tensor.span<std::string>()) items.append(nb::str(s.data(), s.size()));
    nb::object array = numpy().attr("empty")(items.attr("__len__")(), nb::arg("dtype") = "object");
    for (size_t i = 0; i < nb::len(items); ++i) array[i] = items[i];
    return array.attr("reshape")(nb::tuple(shape));
  }
  const char* name = numpy_name(tensor.dtype());
  auto* kept = new Tensor(std::move(tensor));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  const size_t bytes = kept->size_bytes();
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> raw(kept->data(), {bytes}, owner);
  nb::object dtype = hasattr(numpy(), name)
                         ? numpy().attr("dtype")(name)
                         : numpy().attr("dtype")(nb::module_::import_("ml_dtypes").attr(name));
  return nb::cast(raw).attr("view")(dtype).attr("reshape")(nb::tuple(shape));
}

}  // namespace

Datum datum_from_object(nb::handle object, const std::string& name) {
  Datum datum;
  if (object.is_none()) {
    datum.kind = Datum::Kind::kOptional;
    return datum;
  }
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    datum.kind = Datum::Kind::kSequence;
    for (nb::handle item : object) datum.elements.push_back(datum_from_object(item, name));
    return datum;
  }
  if (nb::hasattr(object, "__dlpack__") && !nb::hasattr(object, "__array__"))
    return tensor_from_array(numpy().attr("from_dlpack")(object), name);
  return tensor_from_array(numpy().attr("asarray")(object), name);
}

nb::object object_from_datum(Datum datum) {
  switch (datum.kind) {
    case Datum::Kind::kTensor: return array_from_tensor(std::move(datum.tensor));
    case Datum::Kind::kSequence: {
      nb::list list;
      for (Datum& d : datum.elements) list.append(object_from_datum(std::move(d)));
      return list;
    }
    case Datum::Kind::kOptional:
      return datum.elements.empty() ? nb::none() : object_from_datum(std::move(datum.elements[0]));
    case Datum::Kind::kMap: {
      nb::dict dict;
      nb::object keys = array_from_tensor(datum.tensor).attr("tolist")();
      for (size_t i = 0; i < datum.elements.size(); ++i)
        dict[keys[i]] = object_from_datum(std::move(datum.elements[i]));
      return dict;
    }
    case Datum::Kind::kNone: break;
  }
  return nb::none();
}

}  // namespace wootz::python
