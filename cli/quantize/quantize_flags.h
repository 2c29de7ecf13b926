// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <wootz/quantize.h>

namespace CLI {
class App;
}

namespace wootz::cli {

/// What `wootz quantize` takes.
struct QuantizeFlags {
  std::string model, output;
  std::vector<std::string> samples;  // .npz and .npy files, folders of them, folders of pictures
  std::string calibration;           // file to read instead
  QuantizeOptions options;
  PictureOptions pictures;
  std::string size;  // 224x224, of pictures
  bool per_tensor = false, json = false;
};

/// The subcommand, with its flags bound to `flags`.
CLI::App* add_quantize(CLI::App& app, QuantizeFlags& flags);
int run_quantize(const QuantizeFlags& flags);

}  // namespace wootz::cli
