#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and error of 8-bit models on this machine's CPU, beside float32 and beside ONNX Runtime and OpenVINO on the same Q/DQ file.

    precision.py WOOTZ FOLDER [NAME ...] [--threads 2] [--rounds 7] [--batch 1] [--sums] [--results benchmarks/results]

FOLDER is that of compare.py. `wootz quantize` makes each model from eight samples of its inputs; one process a runtime, in turn. Writes
precision.md and precision.jsonl (a line a row) into --results. OpenVINO's column is empty where it is not installed; PYTHONPATH must
have the module wootz.
"""
import argparse
import datetime
import importlib.util
import json
import os
import subprocess
import tempfile

import numpy as np

from compare import Worker, machine, output_error, wootz_inputs, write_inputs

NETWORKS = ["resnet50", "bert_base"]


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


def measure(a, name, scratch):
    inputs = os.path.join(scratch, "inputs.npz")
    arrays = write_inputs(a.folder, name, a.batch, inputs)
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
    row = {"suite": "cpu", "network": name, "batch": a.batch, "precision": "int8"}
    for kind in ("fp32", "onnxruntime", "openvino"):
        key = "wootz_fp32" if kind == "fp32" else kind
        row[key + "_ms"] = float(np.median(times[kind])) if kind in times else None
        row["over_" + key] = float(np.median(np.divide(times["wootz"], times[kind]))) if kind in times else None
    return {**row, "wootz_ms": float(np.median(times["wootz"])), "error": error}


def write(rows, folder):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for row in rows:
        row.update(device=machine(), commit=commit, date=datetime.date.today().isoformat())
    with open(os.path.join(folder, "precision.jsonl"), "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    number = lambda v, form: "" if v is None else format(v, form)
    with open(os.path.join(folder, "precision.md"), "w") as out:
        out.write(f"# 8-bit models on the CPU\n\n{rows[0]['device']}; commit {commit}, {rows[0]['date']}; `benchmarks/cpu/precision.py`. Times in "
                  "ms, ratios are Wootz over the other; error: of the output's largest magnitude, against float32.\n\n"
                  "| network | batch | Wootz | Wootz float32 | ratio | ONNX Runtime | ratio | OpenVINO | ratio | error |\n"
                  "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
        for r in rows:
            peers = " | ".join(f"{number(r[k + '_ms'], '.2f')} | {number(r['over_' + k], '.2f')}" for k in ("wootz_fp32", "onnxruntime", "openvino"))
            out.write(f"| {r['network']} | {r['batch']} | {r['wootz_ms']:.2f} | {peers} | {r['error']:.1e} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wootz")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--sums", action="store_true", help="quantize residual sums too")
    parser.add_argument("--results", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "results"))
    a = parser.parse_args()
    rows = []
    for name in a.names or NETWORKS:
        with tempfile.TemporaryDirectory() as scratch:
            rows.append(measure(a, name, scratch))
        print(json.dumps(rows[-1]), flush=True)
    write(rows, a.results)


if __name__ == "__main__":
    main()
