#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wootz beside PyTorch eager and torch.compile on one GPU, all by graph replay, in turns in one run.

    compare.py --wootz PROGRAM --out FOLDER [--rows resnet50:1,resnet50:128:bf16,resnet50:8:tf32,...] [--autotune | --eager | --alone] [--resume]
               [--rounds 5] [--no-verify] [--until SECONDS] [--row-seconds SECONDS] [--inductor FOLDER] [--turns FILE]
    compare.py --prefill --out FOLDER [--rows ...] [--autotune] [--processes 6] [--inductor FOLDER]

Needs torch, torchvision, transformers, onnx, onnxscript (networks.py beside benchmarks/cpu). A network is exported in float32 and built
with --precision fp16 (or bf16, tf32, fp32, where a row says so); its device time for a run (inputs on the device, copies apart) is what
`wootz bench` measures. PyTorch runs the same weights in the same type, channels_last for pictures: eager, torch.compile with frozen weights,
and with --autotune its max-autotune too, which takes minutes the first time (its choices stay in the folder that --inductor names, under
--out where it does not; what --row-seconds cuts off continues there). `peer` and `peer_ms` are the fastest of them. --eager leaves
torch.compile out, --alone PyTorch altogether, --no-verify builds without the builds' own checks (the row's error is measured either way). Times are medians over the rounds
of each round's median. Errors are relative Frobenius norms against PyTorch in float32 with TF32 off, the largest over the outputs. Device
memory is what the card has less while the program runs, its context included; PyTorch's is that of eager alone, the smaller one; neither
is given where another process took or gave memory meanwhile. One JSON line a row goes to FOLDER/compare.jsonl, the engine's plan and times
beside it; --resume leaves out rows that are there. Standard error has a line for each phase of a row; each has a limit.

--prefill exports the rows' networks and fills torch.compile's caches, in a process for each network, several at once, without Wootz.
Several compare.py may share a card by --turns: what needs it to itself waits for its turn, compiling and loading does not.
"""
import argparse
import concurrent.futures
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

from card import Phases, Turns, measure_choices_in, used_before_mb, used_mb
from torch_peer import MODES, Network, Peers, replay_ms

ROWS = "resnet50:1,resnet50:128,bert_base:1,efficientnet_b0:1,vit_b_16:1,bert_base:128,efficientnet_b0:128,vit_b_16:128"
SECONDS = 120  # limit of a phase that has no other


def error_of(found, expected):
    def one(f, e):
        return float(np.linalg.norm(f.astype(np.float64) - e) / np.linalg.norm(e))
    return max(one(f, e.astype(np.float64)) for f, e in zip(found, expected))


def bench_wootz(wootz, engine, environment, log):
    """(milliseconds of a run, MB of the card while it ran or None)"""
    before = most = used_mb()
    # Into a file: a pipe that nobody reads stops the program once the times of many steps fill it.
    with open(log, "w") as text, subprocess.Popen([wootz, "bench", engine, "--iterations", "60", "--json"], stdout=text,
                                                  env=environment) as run:
        try:
            while run.poll() is None:
                most = max(most, used_mb())
                time.sleep(0.05)
        except TimeoutError:
            run.kill()
            raise
    if run.returncode != 0:
        raise RuntimeError(f"wootz bench ended with status {run.returncode}")
    text = log.read_text()
    undisturbed = abs(used_mb() - before) < 8
    return json.loads(text[text.index("{"):])["device"]["run_us"] / 1e3, most - before if undisturbed else None


def build(o, network, batch, precision, environment):
    engine = o.out / f"{network.name}-{batch}-{precision}.wtz"
    shapes = []
    for name, example in zip(network.inputs, network.examples):
        shapes += ["--shapes", name + ":" + "x".join(map(str, [batch, *example.shape[1:]]))]
    start = time.monotonic()
    done = subprocess.run([o.wootz, "build", network.path, "-o", engine, "--device", "cuda:0", "--precision", precision, *shapes,
                           *(["--no-verify"] if o.no_verify else [])], capture_output=True, text=True, env=environment)
    (o.out / f"{engine.stem}.build.log").write_text(done.stderr)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return engine, time.monotonic() - start


def outputs_of(o, network, batch, engine, environment):
    inputs, outputs = engine.with_suffix(".in.npz"), engine.with_suffix(".out.npz")
    np.savez(inputs, **{n: x.cpu().numpy() for n, x in zip(network.inputs, network.arguments(batch))})
    subprocess.run([o.wootz, "run", engine, "--inputs", inputs, "--outputs", outputs], check=True, capture_output=True, env=environment)
    with np.load(outputs) as found:
        made = [found[n] for n in network.outputs]
    inputs.unlink()
    outputs.unlink()
    return made


def compile_peers(peers, row, o, phase):
    keys = [] if o.eager else list(MODES)[: 2 if o.autotune else 1]
    for key in reversed(keys) if o.prefill else keys:  # what takes minutes first, beside what else is prepared
        try:
            with phase(key, o.row_seconds, card=False):
                peers.compile(key)
        except Exception as failure:
            print(f"{row}: torch.compile ({key}): {(str(failure).splitlines() or [''])[0]}", flush=True)


def network_of(name, o, cache, phase):
    if name not in cache:
        cache.clear()
        with phase("network", SECONDS, card=False):
            cache[name] = Network(name, o.out)
    return cache[name]


def rounds(o, engine, environment, graphs):
    """({name: median milliseconds}, MB of the engine or None)"""
    times, memory = {key: [] for key in ("wootz", *graphs)}, []
    for _ in range(o.rounds):
        milliseconds, megabytes = bench_wootz(o.wootz, engine, environment, engine.with_suffix(".bench.json"))
        times["wootz"].append(milliseconds)
        memory += [megabytes] if megabytes is not None else []
        for key, graph in graphs.items():
            times[key].append(replay_ms(graph, 60))
    return {key: round(statistics.median(t), 4) for key, t in times.items()}, round(max(memory)) if memory else None


def measure(row, o, cache):
    name, batch, precision = (row + ":fp16").split(":")[:3]
    batch, phase = int(batch), Phases(row, o.turns)
    environment = {**os.environ, "XDG_CACHE_HOME": str(o.cache or o.out / "cache")}
    network = network_of(name, o, cache, phase)
    with phase("build", 2 * SECONDS):
        engine, seconds = build(o, network, batch, precision, environment)
    with open(engine.with_suffix(".explain.json"), "w") as plan:
        subprocess.run([o.wootz, "explain", engine, "--json"], stdout=plan, env=environment)
    with phase("expected", SECONDS):
        expected = network.expected(batch)
    with phase("run", SECONDS):
        found = outputs_of(o, network, batch, engine, environment)
    peers = None
    if not o.alone:
        with phase("eager", SECONDS):
            peers = Peers(network, batch, precision, o.context_mb)
        compile_peers(peers, row, o, phase)
    with phase("rounds", SECONDS):
        median, memory = rounds(o, engine, environment, peers.graphs if peers else {})
    peer = min(peers.graphs, key=lambda key: median[key]) if peers else None
    record = {"suite": "gpu", "network": name, "batch": batch, "precision": precision, "wootz_ms": median["wootz"],
              "eager_ms": median.get("eager"), "compile_ms": median.get("compile"), "autotune_ms": median.get("autotune"),
              "peer": peer, "peer_ms": median.get(peer), "error": error_of(found, expected),
              "peer_error": error_of(peers.outputs, expected) if peers else None,
              "wootz_device_mb": memory, "peer_device_mb": round(peers.mb) if peers and not o.turns.file else None,
              "build_s": round(seconds, 1), "verified": not o.no_verify, "device": torch.cuda.get_device_name(),
              "torch": torch.__version__, "date": datetime.date.today().isoformat()}
    engine.unlink()
    return record


def fill(row, o, cache):
    """What --prefill does for a row: the ONNX file and the caches of torch.compile."""
    name, batch, precision = (row + ":fp16").split(":")[:3]
    phase = Phases(row, o.turns)
    network = network_of(name, o, cache, phase)
    if o.alone:
        return
    with phase("eager", SECONDS):
        peers = Peers(network, int(batch), precision, o.context_mb)
    compile_peers(peers, row, o, phase)


def prefill_in_processes(o, rows):
    """One process for each network, of which o.processes run at once; the card by turns."""
    by_network = {}
    for row in rows:
        by_network.setdefault(row.split(":")[0], []).append(row)
    flags = ["--prefill", "--out", o.out, "--turns", o.turns_file or o.out / "turns", "--row-seconds", str(o.row_seconds),
             "--until", str(o.until), "--inductor", os.environ["TORCHINDUCTOR_CACHE_DIR"]]
    threads = str(max(2, os.cpu_count() // min(o.processes, len(by_network))))
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": threads, "OMP_NUM_THREADS": threads}
    flags += [f for f, wanted in (("--autotune", o.autotune), ("--alone", o.alone)) if wanted]

    def one(some):
        return subprocess.run([sys.executable, __file__, *flags, "--processes", "1", "--rows", ",".join(some)],
                              env=environment).returncode
    with concurrent.futures.ThreadPoolExecutor(o.processes) as pool:
        return max(pool.map(one, by_network.values()))


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wootz")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--autotune", action="store_true", help="torch.compile's max-autotune too; takes minutes")
    parser.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    parser.add_argument("--alone", action="store_true", help="Wootz without PyTorch's times")
    parser.add_argument("--no-verify", action="store_true", help="build without the builds' own checks")
    parser.add_argument("--row-seconds", type=float, default=300, help="limit of each torch.compile")
    parser.add_argument("--inductor", type=pathlib.Path, help="folder that keeps what torch.compile has compiled and chosen")
    parser.add_argument("--cache", type=pathlib.Path, help="folder that keeps Wootz's kernels and times")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which no further row is begun")
    parser.add_argument("--turns", dest="turns_file", type=pathlib.Path, help="file by which processes take turns on the card")
    parser.add_argument("--prefill", action="store_true", help="only export and fill torch.compile's caches")
    parser.add_argument("--processes", type=int, default=6, help="of --prefill, at once")
    o = parser.parse_args()
    if not o.prefill and not o.wootz:
        parser.error("--wootz: expected the program, found nothing")
    return o


def main():
    o, start = parsed(), time.monotonic()
    o.out.mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str((o.inductor or o.out / "inductor").resolve())
    os.environ.setdefault("TRITON_CACHE_DIR", os.environ["TORCHINDUCTOR_CACHE_DIR"] + "/triton")
    rows = o.rows.split(",")
    if o.prefill and o.processes > 1:
        return prefill_in_processes(o, rows)
    o.turns = Turns(o.turns_file)
    measure_choices_in(o.turns)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    before = used_before_mb()
    torch.zeros(1, device="cuda")
    o.context_mb = used_mb() - before
    results, cache = o.out / "compare.jsonl", {}
    seen = [json.loads(line) for line in results.read_text().splitlines()] if o.resume and results.exists() else []
    done = {f"{r['network']}:{r['batch']}:{r['precision']}" for r in seen}
    for row in rows:
        if (row if row.count(":") == 2 else row + ":fp16") in done or time.monotonic() - start > o.until:
            continue
        try:
            if o.prefill:
                fill(row, o, cache)
                continue
            record = measure(row, o, cache)
        except Exception as failure:
            print(f"{row}: {type(failure).__name__}: {str(failure).strip().splitlines()[0] if str(failure).strip() else ''}", flush=True)
            continue
        with open(results, "a") as file:
            print(json.dumps(record), file=file, flush=True)
        print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
