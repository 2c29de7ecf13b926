#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles trained networks and holds them against expected values.

    verify_models.py WOOTZ FOLDER [NAME ...] [--all] [-- FLAGS of wootz verify]

Without names: the small ones, with --all every one of models.json. Models are fetched into FOLDER. The expected values in golden/
come from ONNX Runtime on the CPU with every optimisation off: floats must lie within 1e-4 of the output's largest magnitude
(1e-2 in a float16 model), inner tensors within 2e-3. A `saturated` classifier's outputs are so near to 0 that the peer's own
approximation of the sigmoid shows: they must lie within 1e-6, and its inner tensors judge it. Models that quantize in every run may differ by
a step or two of 1/255 where a value lies on a rounding tie: their `tolerance` says so; integer outputs must be equal.
"""
import argparse
import json
import os
import subprocess
import sys
import time

from fetch import fetch

HERE = os.path.dirname(os.path.abspath(__file__))


def passes(row, entry):
    return row["passed"] or (entry.get("saturated") and not row["output"].count(":") and row["max_abs"] < 1e-6)


def verify(wootz, entry, folder, flags):
    """(passed, worst relative error, text)"""
    command = [wootz, "verify", fetch(entry, folder), "--expect", os.path.join(HERE, "golden", entry["name"] + ".npz"), "--json",
               "--timing-cache", "", *flags]
    if "tolerance" in entry:
        command += ["--tolerance", str(entry["tolerance"])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 4) or not done.stdout:
        return False, float("nan"), done.stderr.strip() or f"exit code {done.returncode}"
    rows = json.loads(done.stdout)["outputs"]
    failed = [r for r in rows if not passes(r, entry)]
    text = ", ".join(f"{r['case']} {r['output']}: {r['relative']}" for r in failed)
    return not failed, max(r["relative"] if r["relative"] is not None else float("inf") for r in rows), text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wootz")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    arguments, flags = parser.parse_known_args()
    entries = json.load(open(os.path.join(HERE, "models.json")))
    chosen = [e for e in entries if (e["name"] in arguments.names if arguments.names else arguments.all or e["fast"])]
    failures = 0
    for entry in chosen:
        start = time.perf_counter()
        passed, worst, text = verify(arguments.wootz, entry, arguments.folder, [f for f in flags if f != "--"])
        failures += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {entry['name']:22} worst relative error {worst:.1e}  {time.perf_counter() - start:5.1f} s  {text}", flush=True)
    print(f"{len(chosen) - failures} passed, {failures} failed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
