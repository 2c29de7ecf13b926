// SPDX-License-Identifier: Apache-2.0
#include "python/ops.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include <wootz/op.h>
#include "python/arrays.h"

namespace nb = nanobind;

namespace wootz::python {
namespace {

/// A Python function that C++ threads keep and call; the last reference is dropped under the lock.
class Function {
 public:
  explicit Function(nb::object function)
      : function_(new nb::object(std::move(function)), [](nb::object* f) {
          // At exit the interpreter may be gone: what is left is the process's memory.
          if (!Py_IsInitialized()) return;
          nb::gil_scoped_acquire lock;
          delete f;
        }) {}

  /// A Python exception becomes Error(kInvalidModel) with its text.
  template <class Make>
  auto call(Make&& make) const {
    nb::gil_scoped_acquire lock;
    try {
      return make(*function_);
    } catch (const nb::python_error& e) {
      throw Error(ErrorKind::kInvalidModel,
                  "the operator's Python function failed: " + std::string(e.what()));
    } catch (const nb::cast_error&) {
      throw Error(ErrorKind::kInvalidModel, "the operator's Python function gave something of another type");
    }
  }

 private:
  std::shared_ptr<nb::object> function_;
};

nb::object object_from(const OpAttribute& attribute) {
  return std::visit(
      [](const auto& value) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>)
          return object_from_datum(Datum(value));
        else
          return nb::cast(value);
      },
      attribute);
}

nb::dict dict_from(const OpAttributes& attributes) {
  nb::dict dict;
  for (const auto& [name, value] : attributes) dict[name.c_str()] = object_from(value);
  return dict;
}

nb::object object_from(const TensorInfo& info) {
  if (info.dtype == DType::kUndefined) return nb::none();
  nb::list shape;
  for (size_t i = 0; i < info.dims.size(); ++i)
    shape.append(info.fixed[i] ? nb::cast(*info.fixed[i]) : nb::cast(info.dims[i]));
  return nb::module_::import_("wootz").attr("TensorInfo")(
      info.name, std::string(dtype_name(info.dtype)),
      info.has_shape ? nb::object(nb::tuple(shape)) : nb::none());
}

TensorInfo info_from(nb::handle object) {
  TensorInfo info;
  const auto dtype = nb::cast<std::string>(object.attr("dtype"));
  const auto known = dtype_from_name(dtype);
  if (!known) throw Error(ErrorKind::kInvalidModel, "the shape function: '" + dtype + "' is no element type");
  info.dtype = *known;
  const nb::object shape = object.attr("shape");
  info.has_shape = !shape.is_none();
  if (info.has_shape)
    for (nb::handle dim : shape)
      info.dims.push_back(dim.is_none() ? "?" : nb::cast<std::string>(nb::str(dim)));
  return info;
}

nb::list list_from(std::span<const Tensor> tensors) {
  nb::list list;
  for (const Tensor& tensor : tensors)
    list.append(tensor.is_defined() ? object_from_datum(Datum(tensor)) : nb::none());
  return list;
}

void add(const std::string& domain, const std::string& name, const std::string& doc, int min_inputs,
         int max_inputs, int outputs, const std::vector<std::string>& attributes, nb::object infer,
         nb::object evaluate, nb::object kernel) {
  UserOp op;
  op.domain = domain;
  op.name = name;
  op.doc = doc;
  op.min_inputs = min_inputs;
  op.max_inputs = max_inputs;
  op.outputs = outputs;
  op.attributes = attributes;
  op.infer = [f = Function(std::move(infer))](std::span<const TensorInfo> inputs, const OpAttributes& a) {
    return f.call([&](const nb::object& function) {
      nb::list list;
      for (const TensorInfo& info : inputs) list.append(object_from(info));
      std::vector<TensorInfo> infos;
      for (nb::handle result : nb::object(function(list, dict_from(a)))) infos.push_back(info_from(result));
      return infos;
    });
  };
  op.evaluate = [f = Function(std::move(evaluate))](std::span<const Tensor> inputs, const OpAttributes& a) {
    return f.call([&](const nb::object& function) {
      std::vector<Tensor> tensors;
      for (nb::handle result : nb::object(function(list_from(inputs), dict_from(a))))
        tensors.push_back(datum_from_object(result, "output").tensor);
      return tensors;
    });
  };
  if (!kernel.is_none())
    op.kernels.push_back({"python",
                          1,
                          {},
                          [f = Function(std::move(kernel))](std::span<const Tensor> inputs,
                                                            std::span<Tensor> out, const OpAttributes& a) {
                            f.call([&](const nb::object& function) {
                              function(list_from(inputs), list_from({out.data(), out.size()}), dict_from(a));
                              return 0;
                            });
                          }});
  add_op(std::move(op));
}

}  // namespace

void define_ops(nb::module_& module) {
  module.def("add_op", &add, nb::arg("domain"), nb::arg("name"), nb::arg("doc"), nb::arg("min_inputs"),
             nb::arg("max_inputs"), nb::arg("outputs"), nb::arg("attributes"), nb::arg("infer"),
             nb::arg("evaluate"), nb::arg("kernel").none());
}

}  // namespace wootz::python
