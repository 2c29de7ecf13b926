// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/onednn/onednn_library.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace wootz::onednn {
namespace {

std::string folder_of(std::string path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Where the library may lie, in order.
std::vector<std::string> candidates() {
  std::vector<std::string> folders;
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&candidates), &here) && here.dli_fname)
    folders.push_back(folder_of(here.dli_fname));
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) > 0) folders.push_back(folder_of(program));
  if (const char* environment = std::getenv("VIRTUAL_ENV"))
    folders.push_back(std::string(environment) + "/lib");
  std::vector<std::string> paths;
  for (const std::string& f : folders)
    for (const char* below : {"", "/../lib", "/../../venv/lib", "/../../../venv/lib"})
      paths.push_back(f + below + "/libdnnl.so.3");
#ifdef WOOTZ_ONEDNN_LIBRARY
  paths.push_back(WOOTZ_ONEDNN_LIBRARY);
#endif
  paths.push_back("libdnnl.so.3");
  return paths;
}

}  // namespace

bool Library::load() {
  void* handle = nullptr;
  for (const std::string& path : candidates())
    if ((handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))) break;
  if (!handle) return false;
#define X(name)                                                          \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, "dnnl_" #name)); \
  if (!name) return false;
  WOOTZ_DNNL_FUNCTIONS(X)
#undef X
  omp_set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  omp_get_max_threads = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads"));
  if (!omp_get_max_threads) omp_set_num_threads = nullptr;
  return engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
         stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

const Library* Library::get() {
  // Never unloaded: its threads and caches may outlive any object of ours.
  static Library* const library = [] {
    auto* l = new Library;
    return l->load() ? l : nullptr;
  }();
  return library;
}

void require(dnnl_status_t status, const char* call) {
  if (status == dnnl_success) return;
  throw Error(ErrorKind::kDevice,
              std::string("oneDNN: ") + call + " failed with status " + std::to_string(status));
}

Desc strided_desc(const Dims& dims, const Dims& strides) {
  dnnl_memory_desc_t d = nullptr;
  require(Library::get()->memory_desc_create_with_strides(&d, static_cast<int>(dims.size()), dims.data(),
                                                          dnnl_f32, strides.data()),
          "memory descriptor");
  return Desc(d);
}

Desc any_desc(const Dims& dims) {
  dnnl_memory_desc_t d = nullptr;
  require(Library::get()->memory_desc_create_with_tag(&d, static_cast<int>(dims.size()), dims.data(),
                                                      dnnl_f32, dnnl_format_tag_any),
          "memory descriptor");
  return Desc(d);
}

Memory make_memory(const_dnnl_memory_desc_t desc, const void* data) {
  dnnl_memory_t m = nullptr;
  require(Library::get()->memory_create(&m, desc, Library::get()->engine, const_cast<void*>(data)), "memory");
  return Memory(m);
}

Primitive make_primitive(const_dnnl_primitive_desc_t desc) {
  dnnl_primitive_t p = nullptr;
  require(Library::get()->primitive_create(&p, desc), "primitive");
  return Primitive(p);
}

PrimitiveAttributes clamp_attributes(float low, float high) {
  const Library& l = *Library::get();
  dnnl_primitive_attr_t attributes = nullptr;
  require(l.primitive_attr_create(&attributes), "attributes");
  PrimitiveAttributes owned(attributes);
  if (std::isinf(low) && std::isinf(high)) return owned;
  dnnl_post_ops_t ops = nullptr;
  require(l.post_ops_create(&ops), "post-ops");
  const dnnl_status_t status = low == 0 && std::isinf(high)
                                   ? l.post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0)
                                   : l.post_ops_append_eltwise(ops, dnnl_eltwise_clip, low, high);
  const dnnl_status_t set = status == dnnl_success ? l.primitive_attr_set_post_ops(attributes, ops) : status;
  l.post_ops_destroy(ops);
  require(set, "post-op");
  return owned;
}

std::string implementation(const_dnnl_primitive_desc_t desc) {
  const char* name = nullptr;
  if (Library::get()->primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name)
    return "unknown";
  return name;
}

const void* PackedWeights::pack(const_dnnl_primitive_desc_t primitive, const_dnnl_memory_desc_t from,
                                const void* data) {
  const Library& l = *Library::get();
  const_dnnl_memory_desc_t to = l.primitive_desc_query_md(primitive, dnnl_query_weights_md, 0);
  for (const Layout& known : layouts_)
    if (l.memory_desc_equal(known.desc.get(), to)) return known.data.data();
  dnnl_memory_desc_t copy = nullptr;
  require(l.memory_desc_clone(&copy, to), "layout of weights");
  Desc desc(copy);
  Tensor packed = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(l.memory_desc_get_size(to))});
  dnnl_primitive_desc_t reorder = nullptr;
  require(l.reorder_primitive_desc_create(&reorder, from, l.engine, to, l.engine, nullptr),
          "reorder descriptor");
  const PrimitiveDesc owned(reorder);
  const Primitive p = make_primitive(reorder);
  const Memory source = make_memory(from, data), target = make_memory(to, packed.data());
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source.get()}, {DNNL_ARG_TO, target.get()}};
  require(l.primitive_execute(p.get(), l.stream, 2, args), "reorder");
  layouts_.push_back({std::move(desc), std::move(packed)});
  return layouts_.back().data.data();
}

}  // namespace wootz::onednn
