/* SPDX-License-Identifier: Apache-2.0
 * The C interface. Every function that can fail returns a wootz_status; wootz_last_error() has the text of
 * this thread's last failure. Objects are freed by their own function; engines may be used from several
 * threads at once, contexts from one at a time. */
#ifndef WOOTZ_C_API_H
#define WOOTZ_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WOOTZ_C_API __attribute__((visibility("default")))

typedef enum {
  WOOTZ_OK = 0,
  WOOTZ_INVALID_MODEL = 1,
  WOOTZ_UNSUPPORTED = 2,
  WOOTZ_INVALID_ARGUMENT = 3,
  WOOTZ_INVALID_ENGINE = 4,
  WOOTZ_IO = 5,
  WOOTZ_OUT_OF_MEMORY = 6,
  WOOTZ_VERIFICATION = 7,
  WOOTZ_DEVICE = 8,
  WOOTZ_CANCELLED = 9,
  WOOTZ_INTERNAL = 10
} wootz_status;

typedef struct wootz_engine wootz_engine;
typedef struct wootz_context wootz_context;

#define WOOTZ_MAX_RANK 16

/* A row-major host tensor. dtype: the numbers of ONNX's TensorProto.DataType. */
typedef struct {
  int32_t dtype;
  int32_t rank;
  int64_t dims[WOOTZ_MAX_RANK];
  void* data;
} wootz_tensor;

/* An input or output: name is owned by the engine; dims are -1 where they vary; rank -1: unknown. */
typedef struct {
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t dims[WOOTZ_MAX_RANK];
} wootz_tensor_info;

WOOTZ_C_API const char* wootz_version(void);
WOOTZ_C_API const char* wootz_last_error(void);

/* Compiles a model. threads 0: every CPU that the process may use. tune 0: first guesses instead of a race.
 */
WOOTZ_C_API wootz_status wootz_build(const char* onnx_path, int32_t threads, int32_t tune,
                                     wootz_engine** engine);
/* What a build may be asked for; zero-initialise it and set size to sizeof(wootz_build_options), so that a
 * newer library knows which fields there are. Null strings mean the default. */
typedef struct {
  size_t size;
  int32_t threads;                 /* 0: every CPU that the process may use */
  int32_t no_tune;                 /* 1: first guesses instead of a race */
  const char* device;              /* "cpu" */
  const char* precision;           /* "fp32", "tf32", "fp16", "bf16" */
  const char* const* precision_of; /* "PATTERN=fp32|fp16|bf16" */
  size_t precision_of_count;
} wootz_build_options;
WOOTZ_C_API wootz_status wootz_build_with(const char* onnx_path, const wootz_build_options* options,
                                          wootz_engine** engine);
WOOTZ_C_API wootz_status wootz_load(const char* path, wootz_engine** engine);
WOOTZ_C_API wootz_status wootz_save(const wootz_engine* engine, const char* path);
WOOTZ_C_API void wootz_engine_free(wootz_engine* engine);

WOOTZ_C_API size_t wootz_input_count(const wootz_engine* engine);
WOOTZ_C_API size_t wootz_output_count(const wootz_engine* engine);
WOOTZ_C_API wootz_status wootz_input_info(const wootz_engine* engine, size_t index, wootz_tensor_info* info);
WOOTZ_C_API wootz_status wootz_output_info(const wootz_engine* engine, size_t index, wootz_tensor_info* info);

WOOTZ_C_API wootz_status wootz_context_create(const wootz_engine* engine, int32_t threads,
                                              wootz_context** context);
WOOTZ_C_API void wootz_context_free(wootz_context* context);

/* Runs on inputs and outputs in the engine's order. An output with data is written in place: its dtype and
 * dims must be the result's. An output without data receives memory that the context owns until its next run.
 */
WOOTZ_C_API wootz_status wootz_run(wootz_context* context, const wootz_tensor* inputs, size_t input_count,
                                   wootz_tensor* outputs, size_t output_count);

/* --- Operators of the caller's own (the C++ header op.h says what they are) --- */

/* One call of an operator: its operands and attributes. Lives as long as the call. */
typedef struct wootz_op_call wootz_op_call;

WOOTZ_C_API size_t wootz_op_input_count(const wootz_op_call* call);
/* dtype 0 where the node leaves the input out. In a shape function: dtype and rank (-1: unknown), no data. */
WOOTZ_C_API wootz_status wootz_op_input(const wootz_op_call* call, size_t index, wootz_tensor* input);
/* In a shape function: the dimension as text, a number or an expression such as "2*n + 1"; null beyond the
 * rank. */
WOOTZ_C_API const char* wootz_op_input_dim(const wootz_op_call* call, size_t index, int32_t axis);
/* In a shape function: the type of an output; dims as text, "?" where only the run can tell. rank -1:
 * unknown. */
WOOTZ_C_API wootz_status wootz_op_set_output(wootz_op_call* call, size_t index, int32_t dtype, int32_t rank,
                                             const char* const* dims);
/* In a reference: dtype, rank and dims are read, data receives the memory to fill. In a kernel: all are set.
 */
WOOTZ_C_API wootz_status wootz_op_output(wootz_op_call* call, size_t index, wootz_tensor* output);
/* Attributes; the fallback where the node does not state one. */
WOOTZ_C_API int64_t wootz_op_int(const wootz_op_call* call, const char* name, int64_t fallback);
WOOTZ_C_API float wootz_op_float(const wootz_op_call* call, const char* name, float fallback);
WOOTZ_C_API const char* wootz_op_string(const wootz_op_call* call, const char* name, const char* fallback);
/* The number of elements; *values is theirs, null where the node does not state the attribute. */
WOOTZ_C_API size_t wootz_op_ints(const wootz_op_call* call, const char* name, const int64_t** values);
WOOTZ_C_API size_t wootz_op_floats(const wootz_op_call* call, const char* name, const float** values);
/* What a callback says before it returns something other than WOOTZ_OK. */
WOOTZ_C_API void wootz_op_fail(wootz_op_call* call, const char* message);

typedef wootz_status (*wootz_op_function)(wootz_op_call* call, void* user);

typedef struct {
  const char* domain;
  const char* name;
  int32_t min_inputs, max_inputs; /* -1: any number */
  int32_t outputs;
  const char* const* attributes; /* names that a node may state */
  size_t attribute_count;
  wootz_op_function infer;    /* the shape function */
  wootz_op_function evaluate; /* the reference */
  wootz_op_function kernel;   /* a fast way, or null; checked against the reference */
  void* user;                 /* handed to the functions */
} wootz_op;

/* Before any model or engine that uses the operator is read, and from one thread. */
WOOTZ_C_API wootz_status wootz_add_op(const wootz_op* op);

#ifdef __cplusplus
}
#endif
#endif
