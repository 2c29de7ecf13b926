#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wootz beside PyTorch eager and torch.compile on one GPU, all by graph replay, in turns in one run.

    compare.py --wootz PROGRAM --out FOLDER [--rows resnet50:1,resnet50:128:bf16,resnet50:8:tf32,...] [--autotune] [--alone] [--resume]
               [--rounds 5] [--until SECONDS] [--row-seconds SECONDS] [--inductor FOLDER]

Needs torch, torchvision, transformers, onnx, onnxscript (networks.py beside benchmarks/cpu). A network is exported in float32 and built
with --precision fp16 (or bf16, tf32, fp32, where a row says so); its device time for a run (inputs on the device, copies apart) is what
`wootz bench` measures. PyTorch runs the same weights in the same type, channels_last for pictures: eager, torch.compile with frozen weights,
and with --autotune its max-autotune too, which takes minutes the first time (its choices stay in the folder that --inductor names, under
--out where it does not; what --row-seconds cuts off continues there). `peer` and `peer_ms` are the fastest of them. --alone measures Wootz
without them. Times are medians over the rounds of each round's median. Errors are relative Frobenius norms against PyTorch in float32
with TF32 off, the largest over the outputs. Device memory is what the card has less while the program runs, its context included;
PyTorch's is that of eager alone, the smaller one. One JSON line a row goes to
FOLDER/compare.jsonl, the engine's plan and times beside it; --resume leaves out rows that are there.
"""
import argparse
import copy
import datetime
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cpu"))
import networks  # noqa: E402

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "fp32": torch.float32}
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


def used_mb():
    """Memory of the card that anybody uses."""
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 2**20


def used_before_mb():
    """The same before this process has a context."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", os.environ.get("CUDA_VISIBLE_DEVICES", "0")]
    return float(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0])


def bench_wootz(wootz, engine, environment, log):
    """(milliseconds of a run, MB of the card while it ran)"""
    before = most = used_mb()
    command = [wootz, "bench", engine, "--iterations", "60", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        while run.poll() is None:
            most = max(most, used_mb())
            time.sleep(0.05)
        text = run.stdout.read()
    if run.returncode != 0:
        raise RuntimeError(f"wootz bench ended with status {run.returncode}")
    log.write_text(text)
    return json.loads(text[text.index("{"):])["device"]["run_us"] / 1e3, most - before


class Network:
    """One network: its modules on the GPU and its ONNX file."""

    def __init__(self, name, precision, out):
        torch.manual_seed(0)
        self.precision = precision
        self.name, (self.module, self.examples, self.inputs, self.outputs) = name, networks.NETWORKS[name]()
        self.path = out / f"{name}.onnx"
        if not self.path.exists():
            networks.export(name, self.module, self.examples, self.inputs, self.outputs, str(self.path))

    def expected(self, batch):
        """Outputs in float32."""
        full = copy.deepcopy(self.module).cuda()
        with torch.no_grad():
            outputs = [t.float().cpu().numpy() for t in as_list(full(*self.arguments(batch, False)))]
        del full
        torch.cuda.empty_cache()
        return outputs

    def half(self):
        module = copy.deepcopy(self.module).to("cuda", TYPES[self.precision])
        if self.examples[0].dim() == 4:
            for weight in module.parameters():
                if weight.dim() == 4:
                    weight.data = weight.data.contiguous(memory_format=torch.channels_last)
        return module

    def arguments(self, batch, half):
        made = []
        for example in self.examples:
            x = repeated(example, batch).cuda()
            if half and x.is_floating_point():
                x = x.to(TYPES[self.precision])
            made.append(x.to(memory_format=torch.channels_last) if half and x.dim() == 4 else x)
        return made


def build(wootz, network, batch, out, environment):
    engine = out / f"{network.name}-{batch}.wtz"
    shapes = []
    for name, x in zip(network.inputs, network.arguments(batch, False)):
        shapes += ["--shapes", name + ":" + "x".join(map(str, x.shape))]
    start = time.monotonic()
    done = subprocess.run([wootz, "build", network.path, "-o", engine, "--device", "cuda:0", "--precision", network.precision, *shapes],
                          capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return engine, time.monotonic() - start


class allowing_tf32:
    """The rest of the time float32 is float32: the expected outputs are made so."""

    def __init__(self, allowed):
        self.allowed = allowed

    def __enter__(self):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.allowed

    def __exit__(self, *_):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


class time_limit:
    """TimeoutError in whatever Python runs when the seconds are over."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        def late(*_):
            raise TimeoutError(f"more than {self.seconds} s")
        signal.signal(signal.SIGALRM, late)
        signal.alarm(int(self.seconds))

    def __exit__(self, *_):
        signal.alarm(0)


def compiled(module, arguments, mode):
    torch._dynamo.reset()
    torch._inductor.config.freezing = True
    with torch.no_grad():
        return captured(torch.compile(module, mode=mode), arguments)


def peers(network, batch, context_mb, autotune, seconds):
    """Graphs of PyTorch by name, eager's outputs (before its memory is used again), and eager's MB."""
    before = used_mb()
    module, arguments = network.half(), network.arguments(batch, True)
    graphs = {"eager": captured(module, arguments)}
    graphs["eager"][0].replay()
    outputs = [t.float().cpu().numpy() for t in graphs["eager"][1]]
    spent_mb = context_mb + used_mb() - before
    for key, mode in (("compile", None), ("autotune", "max-autotune-no-cudagraphs"))[: 2 if autotune else 1]:
        try:
            with time_limit(seconds):
                graphs[key] = compiled(module, arguments, mode)
        except Exception as failure:
            print(f"{network.name}:{batch}: torch.compile ({mode}): {(str(failure).splitlines() or [''])[0]}", flush=True)
    return {key: graph for key, (graph, _) in graphs.items()}, outputs, spent_mb, arguments


def measure(row, o, cache):
    name, batch, precision = (row + ":fp16").split(":")[:3]
    batch = int(batch)
    environment = {**os.environ, "XDG_CACHE_HOME": str(o.out / "cache")}
    if (name, precision) not in cache:
        cache.clear()
        cache[name, precision] = Network(name, precision, o.out)
    network = cache[name, precision]
    engine, seconds = build(o.wootz, network, batch, o.out, environment)
    log = o.out / f"{name}-{batch}-{precision}.bench.json"
    with open(o.out / f"{name}-{batch}-{precision}.explain.json", "w") as plan:
        subprocess.run([o.wootz, "explain", engine, "--json"], stdout=plan, env=environment)
    expected = network.expected(batch)
    inputs, outputs = o.out / "inputs.npz", o.out / "outputs.npz"
    np.savez(inputs, **{n: x.cpu().numpy() for n, x in zip(network.inputs, network.arguments(batch, False))})
    subprocess.run([o.wootz, "run", engine, "--inputs", inputs, "--outputs", outputs], check=True, capture_output=True, env=environment)
    found = np.load(outputs)
    graphs, peer_outputs, peer_mb, _kept = {}, None, None, None
    if not o.alone:
        with allowing_tf32(precision == "tf32"):
            graphs, peer_outputs, peer_mb, _kept = peers(network, batch, o.context_mb, o.autotune, o.row_seconds)
    times, memory = {key: [] for key in ("wootz", *graphs)}, 0
    for _ in range(o.rounds):
        milliseconds, megabytes = bench_wootz(o.wootz, engine, environment, log)
        times["wootz"].append(milliseconds)
        memory = max(memory, megabytes)
        for key, graph in graphs.items():
            times[key].append(replay_ms(graph, 60))
    median = {key: round(statistics.median(t), 4) for key, t in times.items()}
    peer = min(graphs, key=lambda key: median[key], default=None)
    record = {"suite": "gpu", "network": name, "batch": batch, "precision": precision, "wootz_ms": median["wootz"],
              "eager_ms": median.get("eager"), "compile_ms": median.get("compile"), "autotune_ms": median.get("autotune"),
              "peer": peer, "peer_ms": median.get(peer),
              "error": error_of([found[n] for n in network.outputs], expected),
              "peer_error": error_of(peer_outputs, expected) if peer else None,
              "wootz_device_mb": round(memory), "peer_device_mb": round(peer_mb) if peer else None, "build_s": round(seconds, 1),
              "device": torch.cuda.get_device_name(), "torch": torch.__version__, "date": datetime.date.today().isoformat()}
    engine.unlink()
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wootz", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--autotune", action="store_true", help="torch.compile's max-autotune too; takes minutes")
    parser.add_argument("--alone", action="store_true", help="Wootz without PyTorch's times")
    parser.add_argument("--row-seconds", type=float, default=300, help="limit of each torch.compile")
    parser.add_argument("--inductor", type=pathlib.Path, help="folder that keeps what torch.compile has compiled and chosen")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which no further row is begun")
    o = parser.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str((o.inductor or o.out / "inductor").resolve())
    os.environ.setdefault("TRITON_CACHE_DIR", os.environ["TORCHINDUCTOR_CACHE_DIR"] + "/triton")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    before = used_before_mb()
    torch.zeros(1, device="cuda")
    o.context_mb = used_mb() - before
    results, cache, start = o.out / "compare.jsonl", {}, time.monotonic()
    seen = [json.loads(line) for line in results.read_text().splitlines()] if o.resume and results.exists() else []
    done = {f"{r['network']}:{r['batch']}:{r['precision']}" for r in seen}
    for row in o.rows.split(","):
        if (row if row.count(":") == 2 else row + ":fp16") in done or time.monotonic() - start > o.until:
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
