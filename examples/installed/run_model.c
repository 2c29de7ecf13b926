/* SPDX-License-Identifier: Apache-2.0
 * The same in C: run_model_c MODEL.onnx */
#include <stdio.h>
#include <stdlib.h>
#include <wootz/c_api.h>

static size_t byte_count(const wootz_tensor* tensor) {
  size_t count = 8; /* at most 8 bytes an element among the types that this example takes */
  for (int32_t i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->dims[i];
  return count;
}

static int fail(void) {
  fprintf(stderr, "%s\n", wootz_last_error());
  return 1;
}

int main(int argc, char** argv) {
  wootz_engine* engine = NULL;
  wootz_context* context = NULL;
  if (argc != 2) return fprintf(stderr, "usage: run_model_c MODEL.onnx\n"), 2;
  if (wootz_build(argv[1], 0, 1, &engine) != WOOTZ_OK) return fail();
  if (wootz_context_create(engine, 0, &context) != WOOTZ_OK) return fail();
  const size_t input_count = wootz_input_count(engine), output_count = wootz_output_count(engine);
  wootz_tensor* inputs = calloc(input_count, sizeof *inputs);
  wootz_tensor* outputs = calloc(output_count, sizeof *outputs);
  for (size_t i = 0; i < input_count; ++i) {
    wootz_tensor_info info;
    if (wootz_input_info(engine, i, &info) != WOOTZ_OK) return fail();
    inputs[i].dtype = info.dtype;
    inputs[i].rank = info.rank;
    for (int32_t k = 0; k < info.rank; ++k) inputs[i].dims[k] = info.dims[k] < 0 ? 8 : info.dims[k];
    inputs[i].data = calloc(1, byte_count(&inputs[i]));
  }
  if (wootz_run(context, inputs, input_count, outputs, output_count) != WOOTZ_OK) return fail();
  for (size_t i = 0; i < output_count; ++i) {
    wootz_tensor_info info;
    if (wootz_output_info(engine, i, &info) != WOOTZ_OK) return fail();
    printf("%s:", info.name);
    for (int32_t k = 0; k < outputs[i].rank; ++k) printf(" %lld", (long long)outputs[i].dims[k]);
    printf("\n");
  }
  for (size_t i = 0; i < input_count; ++i) free(inputs[i].data);
  free(inputs);
  free(outputs);
  wootz_context_free(context);
  wootz_engine_free(engine);
  return 0;
}
