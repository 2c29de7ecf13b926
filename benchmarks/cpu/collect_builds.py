#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds models with default options but no timing cache and keeps what `wootz explain --json` says of each.

    collect_builds.py WOOTZ FOLDER MODEL.onnx ... [-- FLAGS of wootz build]

Writes FOLDER/NAME.json. cost_model.py and verify_share.py read the folder. Flags of `wootz build` follow `--`, for instance
`-- --threads 2 --timing-cache times.txt`: builds that find their times in a cache show another cost model on the same measurements.
"""
import os
import subprocess
import sys
import tempfile


def build(wootz, folder, model, flags):
    name = os.path.splitext(os.path.basename(model))[0]
    with tempfile.TemporaryDirectory() as scratch:
        engine = os.path.join(scratch, "engine.wtz")
        built = subprocess.run([wootz, "build", model, "-o", engine, "--timing-cache", "", *flags], capture_output=True, text=True)
        if built.returncode == 0:
            told = subprocess.run([wootz, "explain", engine, "--json"], capture_output=True, text=True)
            with open(os.path.join(folder, name + ".json"), "w") as out:
                out.write(told.stdout)
    return built.returncode == 0, name, (built.stderr.strip().splitlines() or [""])[-1]


def main():
    arguments, flags = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1:]
    if len(arguments) < 3:
        sys.exit(__doc__)
    wootz, folder, models = arguments[0], arguments[1], arguments[2:]
    os.makedirs(folder, exist_ok=True)
    failures = 0
    for model in models:
        good, name, message = build(wootz, folder, model, flags)
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {name:24} {'' if good else message}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
