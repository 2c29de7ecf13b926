#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collects what a visit to a GPU needs where nothing can be built or fetched: programs of a build folder with the libraries that a bare
# machine may lack, and the networks as skeletons. Usage: pack.sh BUILD_FOLDER NETWORKS_FOLDER TARGET_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 networks=$2 target=$3
mkdir -p "$target/bin" "$target/lib" "$target/networks"
for program in wootz test_cuda bench_cuda_layers; do
  [[ -e $build/bin/$program ]] || continue
  cp "$build/bin/$program" "$target/bin/"
  strip "$target/bin/$program"
done
# All but the C and C++ libraries.
ldd "$target/bin/wootz" | awk '$3 ~ /^\// {print $3}' | grep -vE '/lib(c|m|gcc_s|stdc\+\+|pthread|dl|rt)\.so' | xargs -r -I{} cp -L {} "$target/lib/"
for network in resnet50 bert_base bert_base_nomask bert_large vit_b_16 efficientnet_b0 mobilenet_v3_large ssd300_vgg16_heads convnext_tiny yolov5s_like swin_t; do
  [[ -e $networks/$network.onnx ]] && python3 "$here/skeleton.py" strip "$networks/$network.onnx" "$target/networks/$network.onnx"
done
du -sh "$target"
