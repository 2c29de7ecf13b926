#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wootz beside PyTorch eager and torch.compile on one GPU, half precision, all by graph replay, in turns in one run.

    compare.py --wootz PROGRAM --out FOLDER [--rows resnet50:1,resnet50:128,...] [--resume] [--rounds 5] [--until SECONDS]

Needs torch, torchvision, transformers, onnx, onnxscript (networks.py beside benchmarks/cpu). A network is exported in float32 and built
with --precision fp16; its device time for a run (inputs on the device, copies apart) is what `wootz bench` measures. PyTorch runs the
same weights in float16, channels_last for pictures. Times are medians over the rounds of each round's median. Errors are relative
Frobenius norms against PyTorch in float32 with TF32 off, the largest over the outputs. One JSON line a row goes to FOLDER/compare.jsonl;
--resume leaves out rows that are there.
"""
import argparse
import copy
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cpu"))
import networks  # noqa: E402

ROWS = "resnet50:1,resnet50:128,bert_base:1,efficientnet_b0:1,vit_b_16:1,bert_base:128,efficientnet_b0:128,vit_b_16:128"


def as_list(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def repeated(argument, batch):
    """`batch` rows that differ: the example's rows, each a little changed where they are floats."""
    rows = torch.cat([argument] * ((batch + len(argument) - 1) // len(argument)))[:batch].clone()
    return rows + 0.1 * torch.randn(rows.shape, generator=networks.seeded(9)) if rows.is_floating_point() else rows


def captured(call, arguments):
    """A graph of one call, and its outputs."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(4):
            call(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        outputs = as_list(call(*arguments))
    return graph, outputs


def replay_ms(graph, count):
    times = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def error_of(found, expected):
    def one(f, e):
        return float(np.linalg.norm(f.astype(np.float64) - e) / np.linalg.norm(e))
    return max(one(f, e.astype(np.float64)) for f, e in zip(found, expected))


def bench_wootz(wootz, engine, environment):
    text = subprocess.run([wootz, "bench", engine, "--iterations", "60", "--json"], capture_output=True, text=True, check=True,
                          env=environment).stdout
    return json.loads(text[text.index("{"):])["device"]["run_us"] / 1e3


class Network:
    """One network: its modules on the GPU and its ONNX file."""

    def __init__(self, name, out):
        torch.manual_seed(0)
        self.name, (self.module, self.examples, self.inputs, self.outputs) = name, networks.NETWORKS[name]()
        self.path = out / f"{name}.onnx"
        if not self.path.exists():
            networks.export(name, self.module, self.examples, self.inputs, self.outputs, str(self.path))
        self.full = copy.deepcopy(self.module).cuda()
        self.half = copy.deepcopy(self.module).cuda().half()
        if self.examples[0].dim() == 4:
            self.half = self.half.to(memory_format=torch.channels_last)

    def arguments(self, batch, half):
        made = []
        for example in self.examples:
            x = repeated(example, batch).cuda()
            if half and x.is_floating_point():
                x = x.half()
            made.append(x.to(memory_format=torch.channels_last) if half and x.dim() == 4 else x)
        return made


def build(wootz, network, batch, out, environment):
    engine = out / f"{network.name}-{batch}.wtz"
    shapes = []
    for name, x in zip(network.inputs, network.arguments(batch, False)):
        shapes += ["--shapes", name + ":" + "x".join(map(str, x.shape))]
    start = time.monotonic()
    done = subprocess.run([wootz, "build", network.path, "-o", engine, "--device", "cuda:0", "--precision", "fp16", *shapes],
                          capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return engine, time.monotonic() - start


def compiled(network, batch):
    torch._dynamo.reset()
    torch._inductor.config.freezing = True
    with torch.no_grad():
        return captured(torch.compile(network.half), network.arguments(batch, True))


def measure(row, o, cache):
    name, batch = row.split(":")
    batch = int(batch)
    environment = {**os.environ, "XDG_CACHE_HOME": str(o.out / "cache")}
    if name not in cache:
        cache.clear()
        cache[name] = Network(name, o.out)
    network = cache[name]
    engine, seconds = build(o.wootz, network, batch, o.out, environment)
    with torch.no_grad():
        expected = [t.float().cpu().numpy() for t in as_list(network.full(*network.arguments(batch, False)))]
    inputs, outputs = o.out / "inputs.npz", o.out / "outputs.npz"
    np.savez(inputs, **{n: x.cpu().numpy() for n, x in zip(network.inputs, network.arguments(batch, False))})
    subprocess.run([o.wootz, "run", engine, "--inputs", inputs, "--outputs", outputs], check=True, capture_output=True, env=environment)
    found = np.load(outputs)
    graphs = {"eager": captured(network.half, network.arguments(batch, True))}
    try:
        graphs["compile"] = compiled(network, batch)
    except Exception as failure:
        print(f"{row}: torch.compile: {str(failure).splitlines()[0]}", flush=True)
    times = {key: [] for key in ("wootz", *graphs)}
    for _ in range(o.rounds):
        times["wootz"].append(bench_wootz(o.wootz, engine, environment))
        for key, (graph, _) in graphs.items():
            times[key].append(replay_ms(graph, 60))
    median = {key: round(statistics.median(t), 4) for key, t in times.items()}
    record = {"suite": "gpu", "network": name, "batch": batch, "precision": "fp16", "wootz_ms": median["wootz"], "eager_ms": median["eager"],
              "compile_ms": median.get("compile"), "error": error_of([found[n] for n in network.outputs], expected),
              "peer_error": error_of([t.float().cpu().numpy() for t in graphs["eager"][1]], expected),
              "build_s": round(seconds, 1), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
              "date": datetime.date.today().isoformat()}
    engine.unlink()
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wootz", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which no further row is begun")
    o = parser.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    results, cache, start = o.out / "compare.jsonl", {}, time.monotonic()
    seen = [json.loads(line) for line in results.read_text().splitlines()] if o.resume and results.exists() else []
    done = {f"{r['network']}:{r['batch']}" for r in seen}
    for row in o.rows.split(","):
        if row in done or time.monotonic() - start > o.until:
            continue
        try:
            record = measure(row, o, cache)
        except Exception as failure:
            print(f"{row}: {type(failure).__name__}: {str(failure).strip().splitlines()[0] if str(failure).strip() else ''}", flush=True)
            continue
        with open(results, "a") as file:
            print(json.dumps(record), file=file, flush=True)
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
