// SPDX-License-Identifier: Apache-2.0
// The C interface to operators of the caller's own.
#include <algorithm>

#include <wootz/c_api.h>
#include <wootz/op.h>
#include "compiler/c_status.h"

struct wootz_op_call {
  const wootz::OpAttributes* attributes = nullptr;
  // Shape function:
  std::span<const wootz::TensorInfo> input_infos;
  std::vector<wootz::TensorInfo> output_infos;
  // Reference and kernel:
  std::span<const wootz::Tensor> inputs;
  std::span<wootz::Tensor> outputs;
  bool allocates = false;  // the reference tells its outputs' dims
  std::string failure;

  bool is_inference() const { return inputs.empty() && outputs.empty(); }
};

namespace wootz {
namespace {

template <class T>
const T* find(const wootz_op_call* call, const char* name) {
  const auto it = call->attributes->find(name);
  return it == call->attributes->end() ? nullptr : std::get_if<T>(&it->second);
}

void check_index(size_t index, size_t count) {
  if (index >= count)
    throw Error(ErrorKind::kInvalidArgument,
                "expected an index below " + std::to_string(count) + ", found " + std::to_string(index));
}

void check_rank(size_t rank) {
  if (rank > WOOTZ_MAX_RANK)
    throw Error(ErrorKind::kUnsupported, "expected a rank of at most " + std::to_string(WOOTZ_MAX_RANK) +
                                             ", found " + std::to_string(rank));
}

void describe(const Tensor& from, wootz_tensor* to) {
  check_rank(from.dims().size());
  to->dtype = static_cast<int32_t>(from.dtype());
  to->rank = static_cast<int32_t>(from.dims().size());
  std::copy(from.dims().begin(), from.dims().end(), to->dims);
  to->data = const_cast<void*>(from.data());
}

void call_back(wootz_op_function function, wootz_op_call& call, void* user) {
  const wootz_status status = function(&call, user);
  if (status != WOOTZ_OK)
    throw Error(kind_of(status), call.failure.empty() ? "the operator's function failed" : call.failure);
}

UserOp op_from(const wootz_op& from) {
  UserOp op;
  op.domain = from.domain ? from.domain : "";
  op.name = from.name ? from.name : "";
  op.doc = "an operator of the caller";
  op.min_inputs = from.min_inputs;
  op.max_inputs = from.max_inputs;
  op.outputs = from.outputs;
  for (size_t i = 0; i < from.attribute_count; ++i) op.attributes.emplace_back(from.attributes[i]);
  const auto count = static_cast<size_t>(std::max(from.outputs, 0));
  if (from.infer)
    op.infer = [f = from.infer, user = from.user, count](std::span<const TensorInfo> inputs,
                                                         const OpAttributes& a) {
      wootz_op_call call;
      call.attributes = &a;
      call.input_infos = inputs;
      call.output_infos.resize(count);
      call_back(f, call, user);
      return call.output_infos;
    };
  if (from.evaluate)
    op.evaluate = [f = from.evaluate, user = from.user, count](std::span<const Tensor> inputs,
                                                               const OpAttributes& a) {
      std::vector<Tensor> outputs(count);
      wootz_op_call call;
      call.attributes = &a;
      call.inputs = inputs;
      call.outputs = outputs;
      call.allocates = true;
      call_back(f, call, user);
      return outputs;
    };
  if (from.kernel)
    op.kernels.push_back(
        {"kernel",
         1,
         {},
         [f = from.kernel, user = from.user](std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                             const OpAttributes& a) {
           wootz_op_call call;
           call.attributes = &a;
           call.inputs = inputs;
           call.outputs = outputs;
           call_back(f, call, user);
         }});
  return op;
}

}  // namespace
}  // namespace wootz

extern "C" {

size_t wootz_op_input_count(const wootz_op_call* call) {
  return call->is_inference() ? call->input_infos.size() : call->inputs.size();
}

wootz_status wootz_op_input(const wootz_op_call* call, size_t index, wootz_tensor* input) {
  return wootz::guarded([&] {
    wootz::check_index(index, wootz_op_input_count(call));
    if (!call->is_inference()) return wootz::describe(call->inputs[index], input);
    const wootz::TensorInfo& info = call->input_infos[index];
    wootz::check_rank(info.dims.size());
    input->dtype = static_cast<int32_t>(info.dtype);
    input->rank = info.has_shape ? static_cast<int32_t>(info.dims.size()) : -1;
    for (size_t i = 0; i < info.fixed.size(); ++i) input->dims[i] = info.fixed[i].value_or(-1);
    input->data = nullptr;
  });
}

const char* wootz_op_input_dim(const wootz_op_call* call, size_t index, int32_t axis) {
  if (index >= call->input_infos.size() || axis < 0) return nullptr;
  const auto& dims = call->input_infos[index].dims;
  return static_cast<size_t>(axis) < dims.size() ? dims[static_cast<size_t>(axis)].c_str() : nullptr;
}

wootz_status wootz_op_set_output(wootz_op_call* call, size_t index, int32_t dtype, int32_t rank,
                                 const char* const* dims) {
  return wootz::guarded([&] {
    wootz::check_index(index, call->output_infos.size());
    wootz::TensorInfo& info = call->output_infos[index];
    info.dtype = static_cast<wootz::DType>(dtype);
    info.has_shape = rank >= 0;
    info.dims.clear();
    for (int32_t i = 0; i < rank; ++i) info.dims.emplace_back(dims[i] ? dims[i] : "?");
  });
}

wootz_status wootz_op_output(wootz_op_call* call, size_t index, wootz_tensor* output) {
  return wootz::guarded([&] {
    wootz::check_index(index, call->outputs.size());
    wootz::Tensor& tensor = call->outputs[index];
    if (call->allocates) {
      wootz::check_rank(static_cast<size_t>(std::max(output->rank, 0)));
      if (output->dtype <= 0 || output->dtype >= wootz::kDTypeCount || output->rank < 0)
        throw wootz::Error(wootz::ErrorKind::kInvalidArgument,
                           "expected an element type and a rank for the output");
      tensor = wootz::Tensor::zeros(static_cast<wootz::DType>(output->dtype),
                                    wootz::Dims(output->dims, output->dims + output->rank));
    }
    wootz::describe(tensor, output);
  });
}

int64_t wootz_op_int(const wootz_op_call* call, const char* name, int64_t fallback) {
  const int64_t* value = wootz::find<int64_t>(call, name);
  return value ? *value : fallback;
}

float wootz_op_float(const wootz_op_call* call, const char* name, float fallback) {
  const float* value = wootz::find<float>(call, name);
  return value ? *value : fallback;
}

const char* wootz_op_string(const wootz_op_call* call, const char* name, const char* fallback) {
  const std::string* value = wootz::find<std::string>(call, name);
  return value ? value->c_str() : fallback;
}

size_t wootz_op_ints(const wootz_op_call* call, const char* name, const int64_t** values) {
  const auto* list = wootz::find<std::vector<int64_t>>(call, name);
  *values = list ? list->data() : nullptr;
  return list ? list->size() : 0;
}

size_t wootz_op_floats(const wootz_op_call* call, const char* name, const float** values) {
  const auto* list = wootz::find<std::vector<float>>(call, name);
  *values = list ? list->data() : nullptr;
  return list ? list->size() : 0;
}

void wootz_op_fail(wootz_op_call* call, const char* message) { call->failure = message ? message : ""; }

wootz_status wootz_add_op(const wootz_op* op) {
  return wootz::guarded([&] { wootz::add_op(wootz::op_from(*op)); });
}

}  // extern "C"
