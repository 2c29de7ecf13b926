#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Wootz with ONNX Runtime on this machine's CPU, network by network.

    compare.py FOLDER [NAME ...] [--batch 1 8] [--threads 2] [--rounds 7] [--memory] [--json FILE]

FOLDER holds NAME.onnx and NAME.ref.npz (inputs in0, in1, ... of two samples), as networks.py exports them. Each runtime lives in a
process of its own; they run in turn, one idle while the other works, and what is printed is the median over rounds of the ratio
of their median times. Outputs are held against ONNX Runtime with its optimisations off; their error is divided by the standard
deviation between samples, since with random weights outputs hardly vary. With --memory only the peak memory of loading and the first
run is compared, in processes in turn; that needs no quiet machine.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
STATIC = {"ssd300_vgg16_nms"}   # batch 1 only
BOUND = 1e-4                    # error over the output's largest magnitude


class Worker:
    def __init__(self, runtime, model, threads, inputs, engine=None):
        command = [sys.executable, os.path.join(HERE, "worker.py"), runtime, model, str(threads), inputs] + ([engine] if engine else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"compare.py: {runtime} could not open {model}")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def median_ms(self, runs):
        return float(np.median(json.loads(self.ask(f"run {runs}"))))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def write_inputs(folder, name, batch, path):
    """The reference inputs repeated to the batch, every copy a little different."""
    reference = np.load(os.path.join(folder, name + ".ref.npz"))
    random = np.random.default_rng(11)
    arrays = {}
    for key in sorted(k for k in reference.files if k.startswith("in")):
        x = reference[key]
        if name not in STATIC:
            x = np.concatenate([x] * (batch // len(x) + 1))[:batch]
            if x.dtype == np.float32:
                x = (x + random.normal(0, 0.05, x.shape)).astype(np.float32)
        arrays[key] = x
    np.savez(path, **arrays)
    return arrays


def build_engine(model, arrays, threads, path, cache):
    import wootz

    if os.path.exists(path):
        return float(wootz.load(path).explain()["facts"]["build_seconds"])
    session_inputs = [i.name for i in wootz_inputs(model)]
    shapes = {n: list(arrays[f"in{i}"].shape) for i, n in enumerate(session_inputs)}
    engine = wootz.build(model, threads=threads, shapes=shapes, timing_cache=cache)
    engine.save(path)
    return float(engine.explain()["facts"]["build_seconds"])


def wootz_inputs(model):
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    constants = {i.name for i in graph.initializer}
    return [i for i in graph.input if i.name not in constants]


def output_error(expected_path, found_path):
    """(largest error over the output's largest magnitude, the same over the deviation between samples)."""
    expected, found = np.load(expected_path), np.load(found_path)
    worst, worst_deviation = 0.0, 0.0
    for key in expected.files:
        a, b = expected[key], found[key]
        if a.shape != b.shape:
            return float("inf"), float("inf")
        if a.dtype.kind != "f":
            worst = max(worst, 0.0 if (a == b).all() else float("inf"))
            continue
        difference = np.abs(a.astype(np.float64) - b).max() if a.size else 0.0
        worst = max(worst, difference / max(np.abs(a).max(), 1e-30) if a.size else 0.0)
        if a.ndim and a.shape[0] > 1:
            worst_deviation = max(worst_deviation, difference / max(a.std(axis=0).mean(), 1e-30))
    return worst, worst_deviation


def prepare(folder, name, batch, arguments, scratch):
    """(model, inputs, engine, seconds of its build): the paths of what both sides run."""
    model = os.path.join(folder, name + ".onnx")
    inputs = os.path.join(scratch, "inputs.npz")
    engine = os.path.join(arguments.engines or scratch, f"{name}_b{batch}.wtz")
    arrays = write_inputs(folder, name, batch, inputs)
    build_s = build_engine(model, arrays, arguments.threads, engine, arguments.timing_cache)
    return model, inputs, engine, build_s


def compare(folder, name, batch, arguments, scratch):
    model, inputs, engine, build_s = prepare(folder, name, batch, arguments, scratch)
    judge = Worker("onnxruntime-unoptimised", model, arguments.threads, inputs)
    judge.ask("outputs " + os.path.join(scratch, "expected.npz"))
    judge.close()
    ours = Worker("wootz", model, arguments.threads, inputs, engine)
    peer = Worker("onnxruntime", model, arguments.threads, inputs)
    ours.ask("outputs " + os.path.join(scratch, "found.npz"))
    error, deviation = output_error(os.path.join(scratch, "expected.npz"), os.path.join(scratch, "found.npz"))
    runs = max(3, min(200, int(arguments.slice_ms / max(peer.median_ms(3), 0.01))))
    ratios, our_times, peer_times = [], [], []
    for _ in range(arguments.rounds):
        our_times.append(ours.median_ms(runs))
        peer_times.append(peer.median_ms(runs))
        ratios.append(our_times[-1] / peer_times[-1])
    row = dict(network=name, batch=batch, wootz_ms=float(np.median(our_times)), peer_ms=float(np.median(peer_times)),
               ratio=float(np.median(ratios)), error=error, error_over_deviation=deviation, build_s=build_s,
               wootz_mb=json.loads(ours.ask("memory")), peer_mb=json.loads(peer.ask("memory")))
    ours.close()
    peer.close()
    return row


def compare_memory(folder, name, batch, arguments, scratch):
    model, inputs, engine, build_s = prepare(folder, name, batch, arguments, scratch)
    peaks = {"wootz": [], "onnxruntime": []}
    for _ in range(arguments.rounds):
        for runtime, found in peaks.items():
            worker = Worker(runtime, model, arguments.threads, inputs, engine if runtime == "wootz" else None)
            found.append(json.loads(worker.ask("memory")))
            worker.close()
    return dict(network=name, batch=batch, build_s=build_s, wootz_mb=float(np.median(peaks["wootz"])),
                peer_mb=float(np.median(peaks["onnxruntime"])))


def machine():
    text = open("/proc/cpuinfo").read()
    model = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), "unknown")
    return f"{model}, {len(os.sched_getaffinity(0))} CPUs"


def print_row(r):
    if "ratio" not in r:
        mark = " " if r["wootz_mb"] <= r["peer_mb"] else "*"
        print(f"{r['network']:20} {r['batch']:3} {r['wootz_mb']:8.0f} {r['peer_mb']:8.0f}{mark} {r['build_s']:7.1f}", flush=True)
        return
    mark = " " if r["ratio"] <= 1.02 else "*"
    wrong = "" if r["error"] <= BOUND else "  WRONG"
    print(f"{r['network']:20} {r['batch']:3} {r['wootz_ms']:10.2f} {r['peer_ms']:10.2f} {r['ratio']:6.2f}{mark} {r['error']:9.1e} "
          f"{r['wootz_mb']:8.0f} {r['peer_mb']:8.0f} {r['build_s']:7.1f}{wrong}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slice-ms", type=float, default=600, help="milliseconds that one runtime works before the other's turn")
    parser.add_argument("--timing-cache", default=None)
    parser.add_argument("--engines", help="folder that keeps NAME_bBATCH.wtz; engines that lie there are not built again")
    parser.add_argument("--memory", action="store_true", help="compare peak memory alone")
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()
    import onnxruntime
    import wootz

    names = arguments.names or sorted(f[:-5] for f in os.listdir(arguments.folder) if f.endswith(".onnx"))
    print(f"Wootz {wootz.__version__} against ONNX Runtime {onnxruntime.__version__}, {arguments.threads} threads, {machine()}")
    times = "" if arguments.memory else f"{'Wootz ms':>10} {'ORT ms':>10} {'ratio':>6}  {'error':>9} "
    print(f"{'network':20} {'n':>3} {times}{'MB':>8} {'ORT MB':>8} {'build s':>7}")
    rows = []
    for name in names:
        for batch in [1] if name in STATIC else arguments.batch:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    measure = compare_memory if arguments.memory else compare
                    rows.append(measure(arguments.folder, name, batch, arguments, scratch))
                except wootz.Error as error:
                    print(f"{name:20} {batch:3} failed: {error}", flush=True)
                    rows.append(dict(network=name, batch=batch, failed=str(error)))
                    continue
            print_row(rows[-1])
    done = [r for r in rows if "ratio" in r]
    if done:
        print(f"geometric mean of {len(done)} ratios: {np.exp(np.mean([np.log(r['ratio']) for r in done])):.3f}")
    if arguments.json:
        header = dict(date=datetime.date.today().isoformat(), machine=machine(), threads=arguments.threads, wootz=wootz.__version__,
                      onnxruntime=onnxruntime.__version__)
        with open(arguments.json + ".part", "w") as file:
            json.dump(dict(header, rows=rows), file, indent=1)
        os.replace(arguments.json + ".part", arguments.json)


if __name__ == "__main__":
    main()
