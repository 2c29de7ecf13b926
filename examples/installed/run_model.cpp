// SPDX-License-Identifier: Apache-2.0
// Compiles a model, runs it on zeros and prints the outputs' shapes: run_model MODEL.onnx
#include <cstdio>

#include <wootz/wootz.h>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_model MODEL.onnx\n");
    return 2;
  }
  try {
    const wootz::Engine engine = wootz::build(argv[1]);
    wootz::NamedData inputs;
    for (const wootz::TensorInfo& info : engine.inputs()) {
      wootz::Dims dims;
      for (const auto& fixed : info.fixed)
        dims.push_back(fixed.value_or(8));  // any size will do for what varies
      inputs[info.name] = wootz::Tensor::zeros(info.dtype, dims);
    }
    wootz::Context context = engine.context();
    for (const auto& [name, datum] : context.run(inputs)) {
      std::printf("%s:", name.c_str());
      for (int64_t d : datum.tensor.dims()) std::printf(" %lld", static_cast<long long>(d));
      std::printf("\n");
    }
    return 0;
  } catch (const wootz::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
