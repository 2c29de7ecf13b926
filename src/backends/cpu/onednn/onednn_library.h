// SPDX-License-Identifier: Apache-2.0
// oneDNN, loaded at run time: a table of its C functions and handles that clean up after themselves.
#pragma once
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace wootz::onednn {

#define WOOTZ_DNNL_FUNCTIONS(X)                                                                            \
  X(engine_create)                                                                                         \
  X(engine_destroy)                                                                                        \
  X(stream_create)                                                                                         \
  X(stream_destroy)                                                                                        \
  X(memory_desc_create_with_strides) X(memory_desc_create_with_tag) X(memory_desc_destroy)                 \
      X(memory_desc_get_size) X(memory_desc_equal) X(memory_desc_clone) X(memory_create) X(memory_destroy) \
          X(memory_set_data_handle) X(primitive_attr_create) X(primitive_attr_destroy)                     \
              X(primitive_attr_set_post_ops) X(post_ops_create) X(post_ops_destroy)                        \
                  X(post_ops_append_eltwise) X(post_ops_append_sum)                                        \
                      X(convolution_forward_primitive_desc_create)                                         \
                          X(deconvolution_forward_primitive_desc_create) X(matmul_primitive_desc_create)   \
                              X(reorder_primitive_desc_create) X(primitive_desc_query)                     \
                                  X(primitive_desc_query_md) X(primitive_desc_destroy) X(primitive_create) \
                                      X(primitive_execute) X(primitive_destroy)

/// The loaded library. One engine serves the process; a stream is a cheap object of each kernel.
class Library {
 public:
  /// Null where no libdnnl.so.3 is found: beside the program, in its ../lib, in the virtual environment of
  /// the build, or on the loader's paths.
  static const Library* get();

#define X(name) decltype(&dnnl_##name) name = nullptr;
  WOOTZ_DNNL_FUNCTIONS(X)
#undef X
  void (*omp_set_num_threads)(int) = nullptr;  // null for a build without OpenMP
  int (*omp_get_max_threads)() = nullptr;
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;

 private:
  bool load();
};

/// While it lives, oneDNN opens no team on this thread: primitives made so run on the calling thread alone,
/// but a few of them look at the setting again when executed.
class OneThread {
 public:
  explicit OneThread(const Library& library) : library_(library) {
    if (!library_.omp_set_num_threads) return;
    before_ = library_.omp_get_max_threads();
    if (before_ != 1) library_.omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 1) library_.omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const Library& library_;
  int before_ = 1;
};

/// Throws Error(kDevice) that names the call when a status is not success.
void require(dnnl_status_t status, const char* call);

struct DescDeleter {
  void operator()(dnnl_memory_desc* p) const { Library::get()->memory_desc_destroy(p); }
};
using Desc = std::unique_ptr<dnnl_memory_desc, DescDeleter>;
struct MemoryDeleter {
  void operator()(dnnl_memory* p) const { Library::get()->memory_destroy(p); }
};
using Memory = std::unique_ptr<dnnl_memory, MemoryDeleter>;
struct PrimitiveDescDeleter {
  void operator()(dnnl_primitive_desc* p) const { Library::get()->primitive_desc_destroy(p); }
};
using PrimitiveDesc = std::unique_ptr<dnnl_primitive_desc, PrimitiveDescDeleter>;
struct PrimitiveDeleter {
  void operator()(dnnl_primitive* p) const { Library::get()->primitive_destroy(p); }
};
using Primitive = std::unique_ptr<dnnl_primitive, PrimitiveDeleter>;
struct AttributesDeleter {
  void operator()(dnnl_primitive_attr* p) const { Library::get()->primitive_attr_destroy(p); }
};
using PrimitiveAttributes = std::unique_ptr<dnnl_primitive_attr, AttributesDeleter>;

Desc strided_desc(const Dims& dims, const Dims& strides);  // float32
Desc any_desc(const Dims& dims);                           // float32, layout chosen by the primitive
Memory make_memory(const_dnnl_memory_desc_t desc, const void* data);
Primitive make_primitive(const_dnnl_primitive_desc_t desc);
/// Attributes with `clamp to [low, high]` as post-op where the bounds are finite.
PrimitiveAttributes clamp_attributes(float low, float high);
/// The implementation's name, e.g. "brgconv:avx512_core".
std::string implementation(const_dnnl_primitive_desc_t desc);

/// Weights in the layouts that primitives want, each layout once. Primitives of one implementation may want
/// different layouts where their sizes differ.
class PackedWeights {
 public:
  /// `data`, laid out as `from`, as the primitive wants it; valid while this lives. `from` and `data` are the
  /// same in all calls.
  const void* pack(const_dnnl_primitive_desc_t primitive, const_dnnl_memory_desc_t from, const void* data);

 private:
  struct Layout {
    Desc desc;
    Tensor data;
  };
  std::vector<Layout> layouts_;
};

}  // namespace wootz::onednn
