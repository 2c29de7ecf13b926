// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/foreign_file.h"

#include <algorithm>

namespace wootz::onnx {
namespace {

struct Mark {
  std::string_view start, what;
  size_t at = 0;
};

constexpr Mark kMarks[] = {
    {"version https://git-lfs", "a Git LFS pointer; `git lfs pull` fetches the model itself"},
    {"WOOTZENG", "a Wootz engine, not a model"},
    {"PK\x03\x04", "a zip archive: a PyTorch, Keras or NumPy file; export it to ONNX"},
    {"\x1f\x8b", "a gzip file; unpack it first"},
    {"\x89HDF\r\n", "an HDF5 file: a Keras model; convert it with tf2onnx"},
    {"TFL3", "a TensorFlow Lite model; convert it with tf2onnx", 4},
    {"\x93NUMPY", "a NumPy array, not a model"},
    {"\x80\x02", "a Python pickle: an old PyTorch file; export it to ONNX"},
    {"<", "a web page or XML; was the download refused?"},
    {"{", "JSON text"},
};

}  // namespace

std::string_view foreign_file(std::string_view file) {
  for (const Mark& m : kMarks)
    if (file.size() >= m.at && file.substr(m.at).starts_with(m.start)) return m.what;
  const std::string_view head = file.substr(0, 256);
  const bool is_text = !head.empty() && std::all_of(head.begin(), head.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
  return is_text ? "text" : "";
}

}  // namespace wootz::onnx
