#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of few rows with weights of few bits on a GPU, beside float16 weights and the time of reading the weights.

    precision_weights.py WOOTZ OUT.jsonl [--layers 8] [--size 4096] [--rows 1 4 16] [--types int8 int4 fp8] [--element fp16 fp32] [--seconds 200]

A chain of `layers` products of rows with size x size weights, larger together than the last cache; times are graph replays on the device.
Needs numpy, onnx and the program wootz.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES_A_SECOND = 4.2e12  # that an H200 reaches
BITS = {"fp32": 32, "fp16": 16, "int8": 8, "fp8": 8, "int4": 4 + 32 / 32 + 8 / 32, "2of4": 9}  # int4: a scale and a zero point for 32


def call(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout.decode(errors="replace")


def chain(path, layers, size):
    random = np.random.default_rng(1)
    nodes, weights, last = [], [], "x"
    for i in range(layers):
        w = random.standard_normal((size, size), np.float32) * np.float32((2 / size) ** 0.5)
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"product{i}"), helper.make_node("Relu", [f"m{i}"], [f"y{i}"])]
        last = f"y{i}"
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", size])],
                              [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["rows", size])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wootz")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--types", nargs="+", default=["int8", "int4", "fp8", "2of4"])
    parser.add_argument("--elements", nargs="+", default=["fp16", "fp32"])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=200)
    a = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        models = {"dense": scratch / "dense.onnx"}
        chain(models["dense"], a.layers, a.size)
        for kind in a.types:
            models[kind] = scratch / f"{kind}.onnx"
            what = ("prune", "--2of4") if kind == "2of4" else ("quantize", "--weights", kind)
            call(a.wootz, what[0], models["dense"], "-o", models[kind], *what[1:])
        print(f"models after {time.monotonic() - began:.0f} s", file=sys.stderr)
        for element in a.elements:
            for rows in a.rows:
                for kind, model in models.items():
                    if time.monotonic() - began > a.seconds:
                        return
                    engine = scratch / "e.wtz"
                    precision = ["--precision", "fp16"] if element == "fp16" else []
                    try:
                        call(a.wootz, "build", model, "-o", engine, "--device", a.device, "--no-verify", *precision, "--shapes", f"x:{rows}x{a.size}")
                        text = call(a.wootz, "bench", engine, "--iterations", "200", "--json")
                    except subprocess.CalledProcessError as error:
                        print(f"{kind} {element} {rows}: {error.stderr.decode(errors='replace')[-400:]}", file=sys.stderr)
                        continue
                    us = json.loads(text[text.index("{"):])["device"]["run_us"] / a.layers
                    floor = a.size * a.size * BITS[element if kind == "dense" else kind] / 8 / BYTES_A_SECOND * 1e6
                    told = call(a.wootz, "explain", engine)
                    tactics = sorted({w.strip("│|,") for w in told.split() if w.strip("│|,").startswith("cuda.gemm")})
                    row = {"weights": kind, "element": element, "rows": rows, "size": a.size, "us_a_layer": round(us, 2), "floor_us": round(floor, 2),
                           "tactics": tactics}
                    with a.out.open("a") as f:
                        f.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
