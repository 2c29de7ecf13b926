#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How near the cost model's predicted times are to the raced ones: cost_model.py FOLDER [--held-out NAME ...] [--worst KIND]

FOLDER is one of collect_builds.py. A region counts when something ran and was timed; it is near when predicted / measured lies between
1/1.3 and 1.3. --held-out names networks that no constant was chosen on: they are counted apart. --worst lists a kind's regions.
"""
import argparse
import collections
import glob
import json
import math
import os

NEAR = 1.3


def kind_of(region):
    ops = region["region"].split("+")
    for op, kind in (("Conv", "convolution"), ("ConvTranspose", "convolution"), ("MatMul", "product"), ("Gemm", "product"),
                     ("MatMulInteger", "product"), ("ConvInteger", "convolution"), ("Attention", "attention"), ("Relayout", "relayout"),
                     ("LSTM", "recurrent"), ("GRU", "recurrent")):
        if ops[0] == op:
            return kind
    if ops[0].endswith("Pool"):
        return "pooling"
    if any(op.startswith("Reduce") or op in ("Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "InstanceNormalization",
                                             "GroupNormalization") for op in ops):
        return "reduction"
    if region["kind"] == "pointwise" or ops[0] in ("Add", "Mul", "Relu", "Sigmoid", "Cast", "Where"):
        return "pointwise"
    return "movement"


def load(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        for step in json.load(open(path))["steps"]:
            if step["time_us"] > 0 and step["tactic"] not in ("view",) and not step["tactic"].startswith("reference"):
                yield os.path.splitext(os.path.basename(path))[0], step


def print_table(title, rows, by):
    groups = collections.defaultdict(list)
    for name, step in rows:
        groups[by(name, step)].append(step)
    print(f"\n| {title} | regions | within 30% | median predicted / measured | time, ms |\n| --- | --- | --- | --- | --- |")
    for key in sorted(groups) + ["all"]:
        steps = groups[key] if key != "all" else [s for _, s in rows]
        ratios = sorted(s["predicted_us"] / s["time_us"] for s in steps)
        near = sum(1 / NEAR <= r <= NEAR for r in ratios) / len(ratios)
        print(f"| {key} | {len(ratios)} | {100 * near:.0f}% | {ratios[len(ratios) // 2]:.2f} | {sum(s['time_us'] for s in steps) / 1e3:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--held-out", nargs="*", default=[])
    parser.add_argument("--worst")
    arguments = parser.parse_args()
    rows = list(load(arguments.folder))
    if arguments.worst:
        chosen = [(n, s) for n, s in rows if kind_of(s) == arguments.worst]
        chosen.sort(key=lambda r: -abs(math.log(max(r[1]["predicted_us"], 1e-3) / r[1]["time_us"])))
        for name, s in chosen[:60]:
            print(f"{s['predicted_us'] / s['time_us']:6.2f} {s['time_us']:9.1f} us  {name:18.18} {s['region'][:34]:34} "
                  f"{'x'.join(map(str, s['outputs'][0]['dims'])):18} {s['tactic']} {s['config']}")
        return
    print_table("kind", rows, lambda n, s: kind_of(s))
    print_table("network", rows, lambda n, s: n)
    if arguments.held_out:
        for title, keep in (("fitted", False), ("held out", True)):
            print_table(title, [r for r in rows if (r[0] in arguments.held_out) == keep], lambda n, s: kind_of(s))


if __name__ == "__main__":
    main()
