#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU's part of benchmarks/precision.py: 8-bit models beside float32 and beside ONNX Runtime and OpenVINO on the same Q/DQ file, one process a
runtime, in turn. OpenVINO's numbers are missing where it is not installed; PYTHONPATH must have the module wootz.
"""
import importlib.util
import os
import subprocess
import tempfile

import numpy as np

from compare import Worker, machine, output_error, wootz_inputs, write_inputs

ROWS = ["resnet50:1:int8", "bert_base:1:int8"]


def quantize(wootz, folder, name, arrays, scratch, flags):
    model = os.path.join(folder, name + ".onnx")
    names = [i.name for i in wootz_inputs(model)]
    random = np.random.default_rng(7)
    paths = []
    for k in range(8):
        sample = {}
        for i, input_name in enumerate(names):
            x = arrays[f"in{i}"]
            sample[input_name] = (x + random.normal(0, 0.2, x.shape)).astype(np.float32) if x.dtype == np.float32 and k else x
        paths.append(os.path.join(scratch, f"sample{k}.npz"))
        np.savez(paths[-1], **sample)
    out = os.path.join(scratch, name + ".int8.onnx")
    subprocess.run([wootz, "quantize", model, "-o", out, "--samples", *paths, "--report-samples", "0", *flags], check=True, stdout=subprocess.DEVNULL)
    return out, paths


def build(wootz, model, arrays, sample, threads, path):
    shapes = [f"{i.name}:{'x'.join(map(str, arrays[f'in{k}'].shape))}" for k, i in enumerate(wootz_inputs(model))]
    subprocess.run([wootz, "build", model, "-o", path, "--threads", str(threads), "--samples", sample, "--shapes", *shapes], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def measure(a, name, batch, precision, scratch):
    if precision != "int8":
        raise SystemExit(f"precision.py: {precision} is not measured on the CPU, expected int8")
    inputs = os.path.join(scratch, "inputs.npz")
    arrays = write_inputs(a.folder, name, batch, inputs)
    model, samples = quantize(a.wootz, a.folder, name, arrays, scratch, ["--sums"] if a.sums else [])
    plain = os.path.join(a.folder, name + ".onnx")
    engines = {kind: build(a.wootz, m, arrays, samples[0], a.threads, os.path.join(scratch, f"{kind}.wtz"))
               for kind, m in (("fp32", plain), ("int8", model))}
    workers = {"wootz": Worker("wootz", model, a.threads, inputs, engines["int8"]),
               "fp32": Worker("wootz", plain, a.threads, inputs, engines["fp32"]),
               "onnxruntime": Worker("onnxruntime", model, a.threads, inputs)}
    if importlib.util.find_spec("openvino"):
        workers["openvino"] = Worker("openvino", model, a.threads, inputs)
    for kind in ("fp32", "wootz"):
        workers[kind].ask("outputs " + os.path.join(scratch, kind + ".npz"))
    error, _ = output_error(os.path.join(scratch, "fp32.npz"), os.path.join(scratch, "wootz.npz"))
    times = {kind: [] for kind in workers}
    runs = max(3, min(100, int(400 / workers["fp32"].median_ms(3))))
    for _ in range(a.rounds):
        for kind, worker in workers.items():
            times[kind].append(worker.median_ms(runs))
    for worker in workers.values():
        worker.close()
    row = {"suite": "cpu", "network": name, "batch": batch, "precision": precision}
    for kind in ("fp32", "onnxruntime", "openvino"):
        key = "wootz_fp32" if kind == "fp32" else kind
        row[key + "_ms"] = float(np.median(times[kind])) if kind in times else None
        row["over_" + key] = float(np.median(np.divide(times["wootz"], times[kind]))) if kind in times else None
    return {**row, "wootz_ms": float(np.median(times["wootz"])), "error": error, "device": machine()}
