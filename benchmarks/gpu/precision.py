# SPDX-License-Identifier: Apache-2.0
"""The GPU's part of benchmarks/precision.py: a float32 model as float16, and quantized with what is not quantized in float16, both as graph
replays on the device, in turns. Needs numpy, onnx and the program wootz. Inputs are random: their values matter to errors only.
"""
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx

ROWS = ["resnet50:128:int8", "bert_base:128:int8", "ssd300_vgg16_heads:64:int8", "vit_b_16:128:int8", "vit_b_16:128:fp8", "bert_base:128:fp8", "resnet50:1:int8", "bert_base:1:int8"]
LEAST_CHANNELS = 16  # that the matrix unit's 8-bit form takes: first layers stay float16
# Convolutions at the start that stay float16 too: 64 to 64 channels at full resolution have a kernel with the pool behind them there.
KEPT_AT_START = {"ssd300_vgg16_heads": 2}
CHECKED = 8          # rows of a batch that errors are measured on


def call(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout.decode(errors="replace")


def inputs_of(graph, batch, seed):
    random = np.random.default_rng(seed)
    weights = {t.name for t in graph.initializer}
    arrays = {}
    for value in graph.input:
        if value.name in weights:
            continue
        dims = [d.dim_value if d.dim_value > 0 else batch for d in value.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if "mask" in value.name:
            arrays[value.name] = np.ones(dims, kind)
        elif np.issubdtype(kind, np.integer):
            arrays[value.name] = random.integers(0, 20000, dims).astype(kind)
        else:
            arrays[value.name] = random.normal(0, 1, dims).astype(kind)
    return arrays


def kept_layers(graph, name):
    """Names of convolutions that stay float16: those of few channels, and some at the start."""
    shapes = {t.name: list(t.dims) for t in graph.initializer}
    convolutions = [n for n in graph.node if n.op_type == "Conv"]
    few = [n.name for n in convolutions if shapes.get(n.input[1], [0, LEAST_CHANNELS])[1] < LEAST_CHANNELS]
    return {*few, *(n.name for n in convolutions[:KEPT_AT_START.get(name, 0)])}


def quantized(wootz, model, graph, name, precision, scratch):
    samples = []
    for seed in range(2):
        samples.append(scratch / f"sample{seed}.npz")
        np.savez(samples[-1], **inputs_of(graph, 1, seed))
    if precision == "fp8":
        out = scratch / "fp8.onnx"
        call(wootz, "quantize", model, "-o", out, "--samples", *samples, "--float8", "--report-samples", "0")
        return out, samples[0]
    keep = [x for layer in sorted(kept_layers(graph, name)) for x in ("--keep", layer)]
    out = scratch / "int8.onnx"
    call(wootz, "quantize", model, "-o", out, "--samples", *samples, "--fused-sums", "--method", "max", "--report-samples", "0", *keep)
    return out, samples[0]


def outputs(wootz, engine, arrays, scratch):
    np.savez(scratch / "in.npz", **arrays)
    call(wootz, "run", engine, "--inputs", scratch / "in.npz", "--outputs", scratch / "out.npz")
    with np.load(scratch / "out.npz") as found:
        return {k: found[k].astype(np.float64) for k in found.files}


def error_of(found, expected):
    return max(float(np.abs(found[k] - e).max() / max(np.abs(e).max(), 1e-30)) for k, e in expected.items() if e.dtype.kind == "f")


def quality_of(found, expected):
    """Agreement of the largest element where outputs are classes, else the least cosine."""
    first = next(iter(expected.values()))
    if len(expected) == 1 and first.ndim == 2:
        same = np.mean(next(iter(found.values())).argmax(1) == first.argmax(1))
        return f"top-1 of {len(first)} the same: {same:.2f}"
    cosine = min(float(np.vdot(found[k], e) / (np.linalg.norm(found[k]) * np.linalg.norm(e) + 1e-30)) for k, e in expected.items())
    return f"cosine {cosine:.4f}"


def prepare(a, name, batch, precision, scratch):
    """What takes the host alone: the quantized model, and what float32 gives."""
    if precision not in ("int8", "fp8"):
        raise SystemExit(f"precision.py: {precision} is not measured on a GPU, expected int8 or fp8")
    scratch, model = pathlib.Path(scratch), pathlib.Path(a.folder) / f"{name}.onnx"
    graph = onnx.load(model, load_external_data=False).graph
    bytes_model, sample = quantized(a.wootz, model, graph, name, precision, scratch)
    plain = scratch / "fp32.wtz"
    call(a.wootz, "build", model, "-o", plain, "--no-tune", "--no-verify")
    arrays = inputs_of(graph, min(batch, CHECKED), 5)
    return graph, bytes_model, sample, arrays, outputs(a.wootz, plain, arrays, scratch)


def measure(a, name, batch, precision, scratch, prepared):
    graph, bytes_model, sample, arrays, expected = prepared
    scratch, wootz, model = pathlib.Path(scratch), a.wootz, pathlib.Path(a.folder) / f"{name}.onnx"
    shapes = [x for n, array in inputs_of(graph, batch, 5).items() for x in ("--shapes", n + ":" + "x".join(map(str, array.shape)))]
    engines = {"fp16": scratch / "fp16.wtz", precision: scratch / f"{precision}.wtz"}
    for kind, source in (("fp16", model), (precision, bytes_model)):
        # Random weights in float16 may miss the bound on samples, which is a fifth of that on random inputs.
        more = (["--samples", sample] if kind != "fp16" else []) + (["--no-verify"] if a.no_verify else [])
        began = time.monotonic()
        call(wootz, "build", source, "-o", engines[kind], "--device", "cuda:0", "--precision", "fp16", *more, *shapes)
        print(f"{name}:{batch} {kind}: built in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    found = {kind: outputs(wootz, engines[kind], arrays, scratch) for kind in engines}
    times = {kind: [] for kind in engines}
    for _ in range(a.rounds):
        for kind in times:
            text = call(wootz, "bench", engines[kind], "--iterations", "60", "--json")
            times[kind].append(json.loads(text[text.index("{"):])["device"]["run_us"] / 1e3)
            if a.logs:
                (a.logs / f"{name}-{batch}-{kind}.bench.json").write_text(text)
    fp16, eight = (float(np.median(times[kind])) for kind in ("fp16", precision))
    device = call("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()[0]
    return {"suite": "gpu", "network": name, "batch": batch, "precision": precision, "wootz_ms": round(eight, 4), "fp16_ms": round(fp16, 4),
            "error": error_of(found[precision], expected), "fp16_error": error_of(found["fp16"], expected),
            "quality": quality_of(found[precision], expected), "chosen": precision if eight < fp16 else "fp16", "device": device}
