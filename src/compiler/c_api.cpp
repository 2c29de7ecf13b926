// SPDX-License-Identifier: Apache-2.0
#include <wootz/c_api.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include <wootz/wootz.h>
#include "compiler/c_status.h"

struct wootz_engine {
  wootz::Engine engine;
  std::vector<wootz::TensorInfo> inputs, outputs;
};

struct wootz_context {
  wootz::Context context;
  size_t input_count, output_count;
  std::vector<wootz::Datum> outputs;  // of the last run, while the caller may read them
};

namespace {

using wootz::guarded;
using wootz::last_error;

wootz_engine* make_engine(wootz::Engine engine) {
  auto inputs = engine.inputs(), outputs = engine.outputs();
  return new wootz_engine{std::move(engine), std::move(inputs), std::move(outputs)};
}

wootz_status fill_info(const std::vector<wootz::TensorInfo>& infos, size_t index, wootz_tensor_info* info) {
  return guarded([&] {
    if (index >= infos.size())
      throw wootz::Error(
          wootz::ErrorKind::kInvalidArgument,
          "expected an index below " + std::to_string(infos.size()) + ", found " + std::to_string(index));
    const wootz::TensorInfo& from = infos[index];
    info->name = from.name.c_str();
    info->dtype = static_cast<int32_t>(from.dtype);
    info->rank = from.has_shape ? static_cast<int32_t>(from.fixed.size()) : -1;
    for (size_t i = 0; i < std::min<size_t>(from.fixed.size(), WOOTZ_MAX_RANK); ++i)
      info->dims[i] = from.fixed[i].value_or(-1);
  });
}

wootz::Datum datum_of(const wootz_tensor& t) {
  if (t.rank < 0 || t.rank > WOOTZ_MAX_RANK)
    throw wootz::Error(wootz::ErrorKind::kInvalidArgument,
                       "expected a rank of 0 to 16, found " + std::to_string(t.rank));
  if (t.dtype <= 0 || t.dtype >= wootz::kDTypeCount || t.dtype == static_cast<int32_t>(wootz::DType::kString))
    throw wootz::Error(
        wootz::ErrorKind::kInvalidArgument,
        "expected the number of a numeric ONNX element type, found " + std::to_string(t.dtype));
  return wootz::Tensor::view(static_cast<wootz::DType>(t.dtype), wootz::Dims(t.dims, t.dims + t.rank), t.data,
                             nullptr);
}

void expect_count(const char* what, size_t expected, size_t found) {
  if (expected != found)
    throw wootz::Error(wootz::ErrorKind::kInvalidArgument, "expected " + std::to_string(expected) + " " +
                                                               what + ", found " + std::to_string(found));
}

}  // namespace

const char* wootz_version(void) { return WOOTZ_VERSION; }
const char* wootz_last_error(void) { return last_error.c_str(); }

wootz_status wootz_build(const char* onnx_path, int32_t threads, int32_t tune, wootz_engine** engine) {
  return guarded([&] {
    wootz::BuildOptions options;
    options.threads = threads;
    options.tune = tune != 0;
    *engine = make_engine(wootz::build(onnx_path, options));
  });
}

wootz_status wootz_build_with(const char* onnx_path, const wootz_build_options* asked,
                              wootz_engine** engine) {
  return guarded([&] {
    if (asked->size != sizeof(wootz_build_options))
      throw wootz::Error(wootz::ErrorKind::kInvalidArgument,
                         "wootz_build_with: expected options of size " +
                             std::to_string(sizeof(wootz_build_options)) + ", found " +
                             std::to_string(asked->size) + "; compile against the library's own header");
    wootz::BuildOptions options;
    options.threads = asked->threads;
    options.tune = asked->no_tune == 0;
    if (asked->device) options.device = asked->device;
    if (asked->precision) options.precision = asked->precision;
    for (size_t i = 0; i < asked->precision_of_count; ++i)
      options.precision_of.emplace_back(asked->precision_of[i]);
    *engine = make_engine(wootz::build(onnx_path, options));
  });
}

wootz_status wootz_load(const char* path, wootz_engine** engine) {
  return guarded([&] { *engine = make_engine(wootz::Engine::load(path)); });
}

wootz_status wootz_save(const wootz_engine* engine, const char* path) {
  return guarded([&] { engine->engine.save(path); });
}

void wootz_engine_free(wootz_engine* engine) { delete engine; }

size_t wootz_input_count(const wootz_engine* engine) { return engine->inputs.size(); }
size_t wootz_output_count(const wootz_engine* engine) { return engine->outputs.size(); }
wootz_status wootz_input_info(const wootz_engine* engine, size_t index, wootz_tensor_info* info) {
  return fill_info(engine->inputs, index, info);
}
wootz_status wootz_output_info(const wootz_engine* engine, size_t index, wootz_tensor_info* info) {
  return fill_info(engine->outputs, index, info);
}

wootz_status wootz_context_create(const wootz_engine* engine, int32_t threads, wootz_context** context) {
  return guarded([&] {
    *context =
        new wootz_context{engine->engine.context(threads), engine->inputs.size(), engine->outputs.size(), {}};
  });
}

void wootz_context_free(wootz_context* context) { delete context; }

wootz_status wootz_run(wootz_context* context, const wootz_tensor* inputs, size_t input_count,
                       wootz_tensor* outputs, size_t output_count) {
  return guarded([&] {
    expect_count("inputs", context->input_count, input_count);
    expect_count("outputs", context->output_count, output_count);
    std::vector<wootz::Datum> in, out;
    for (size_t i = 0; i < input_count; ++i) in.push_back(datum_of(inputs[i]));
    for (size_t i = 0; i < output_count; ++i)
      out.push_back(outputs[i].data ? datum_of(outputs[i]) : wootz::Datum());
    if (const std::string failure = context->context.run_ordered(in, out); !failure.empty())
      throw wootz::Error(wootz::ErrorKind::kInvalidArgument, failure);
    for (size_t i = 0; i < output_count; ++i) {
      const wootz::Tensor& t = out[i].tensor;
      if (out[i].kind != wootz::Datum::Kind::kTensor || t.rank() > WOOTZ_MAX_RANK)
        throw wootz::Error(wootz::ErrorKind::kUnsupported,
                           "output " + std::to_string(i) + " is no tensor of at most 16 dimensions");
      if (outputs[i].data && outputs[i].data != t.data())
        throw wootz::Error(wootz::ErrorKind::kInvalidArgument,
                           "output " + std::to_string(i) + ": the given dtype or dims are not the result's");
      outputs[i].dtype = static_cast<int32_t>(t.dtype());
      outputs[i].rank = static_cast<int32_t>(t.rank());
      std::copy(t.dims().begin(), t.dims().end(), outputs[i].dims);
      outputs[i].data = const_cast<void*>(t.data());
    }
    context->outputs = std::move(out);
  });
}
