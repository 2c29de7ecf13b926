// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize/sample_files.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <wootz/check.h>

#include "cli/npz.h"

namespace wootz::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void bad(const std::string& what) {
  throw Error(ErrorKind::kInvalidArgument, "--samples: " + what);
}

bool is_array_file(const fs::path& path) { return path.extension() == ".npz" || path.extension() == ".npy"; }

std::vector<std::string> array_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_array_file(entry.path())) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// How many samples are stacked in the array; 0: it is one whole sample.
int64_t stacked(const Tensor& t, const TensorInfo& input) {
  if (!input.has_shape || t.rank() == 0) return 0;
  const auto rank = static_cast<int64_t>(input.dims.size());
  if (t.rank() == rank + 1) return t.dims()[0];
  if (t.rank() != rank || !input.fixed[0] || *input.fixed[0] <= 0 || t.dims()[0] == *input.fixed[0] ||
      t.dims()[0] % *input.fixed[0] != 0)
    return 0;
  return t.dims()[0] / *input.fixed[0];
}

/// Part `index` of `count` along the first dimension, in the input's rank.
Tensor part(const Tensor& t, int64_t index, int64_t count, size_t rank) {
  Dims dims = t.dims();
  dims[0] /= count;
  const size_t bytes = t.size_bytes() / static_cast<size_t>(count);
  auto* data = const_cast<char*>(t.as<char>()) + static_cast<size_t>(index) * bytes;
  if (dims.size() > rank) dims.erase(dims.begin());
  return Tensor::view(t.dtype(), dims, data, t.owner());
}

class Reader {
 public:
  explicit Reader(const std::string& model) : inputs_(check(model).inputs) {}

  void add(const std::string& path) {
    std::vector<std::pair<std::string, Tensor>> arrays;
    if (fs::path(path).extension() == ".npy") {
      if (inputs_.size() != 1)
        bad("'" + path + "': expected an .npz for a model with " + std::to_string(inputs_.size()) +
            " inputs");
      arrays.emplace_back(inputs_[0].name, read_npy(path));
    } else {
      arrays = read_npz(path);
    }
    int64_t count = 0;
    for (const auto& [name, tensor] : arrays)
      if (const TensorInfo* input = find(name)) count = std::max(count, stacked(tensor, *input));
    const auto samples = static_cast<size_t>(std::max<int64_t>(count, 1));
    std::vector<NamedData> list(samples);
    for (const auto& [name, tensor] : arrays) {
      const TensorInfo* input = find(name);
      const int64_t own = input ? stacked(tensor, *input) : 0;
      if (own != 0 && own != count)
        bad("'" + path + "': expected " + std::to_string(count) + " samples in each array, found " +
            std::to_string(own) + " in '" + name + "'");
      for (size_t i = 0; i < samples; ++i)
        list[i][name] = own > 0 ? part(tensor, static_cast<int64_t>(i), own, input->dims.size()) : tensor;
    }
    for (NamedData& sample : list) samples_.push_back(std::move(sample));
  }

  std::vector<NamedData> take() { return std::move(samples_); }

 private:
  const TensorInfo* find(const std::string& name) const {
    const auto it =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const TensorInfo& i) { return i.name == name; });
    return it == inputs_.end() ? nullptr : &*it;
  }

  std::vector<TensorInfo> inputs_;
  std::vector<NamedData> samples_;
};

}  // namespace

SampleSource file_samples(const std::vector<std::string>& paths, const std::string& model,
                          const PictureOptions& pictures) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      if (!is_array_file(path)) bad("expected .npz or .npy files, or a folder, found '" + path + "'");
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> inside = array_files(path);
    if (inside.empty() && paths.size() == 1) return picture_samples(path, model, pictures);
    if (inside.empty())
      bad("expected .npz or .npy files in '" + path + "', found none; give a folder of pictures alone");
    files.insert(files.end(), inside.begin(), inside.end());
  }
  Reader reader(model);
  for (const std::string& file : files) reader.add(file);
  const auto samples = std::make_shared<const std::vector<NamedData>>(reader.take());
  return [samples](size_t index, NamedData& sample) {
    if (index >= samples->size()) return false;
    sample = (*samples)[index];
    return true;
  };
}

}  // namespace wootz::cli
