#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every ONNX backend test of the installed onnx package, and the public bug reports, in several modes and writes benchmarks/results/conformance.md.

    conformance.py [--build build/release] [--tune]

Needs `wootz_node_tests` in the build folder's bin/.
"""

import argparse
import datetime
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODES = {
    "reference": "node by node, by the operators' references",
    "default": "an engine with every optimisation",
    "default-2": "the same on two threads",
    "plain": "an engine without any pass",
    "kernels": "an engine whose steps may not run by the reference where a kernel serves them",
    "kernels-2": "the same on two threads",
}


def run(build: pathlib.Path, cases: pathlib.Path, mode: str, tune: bool, folder: pathlib.Path) -> dict:
    report = folder / f"{cases.name}-{mode}.json"
    name, _, threads = mode.partition("-")
    command = [build / "bin/wootz_node_tests", cases, "--mode", name, "--threads", threads or "1", "--json", report, *(["--tune"] if tune else [])]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text())


def table(results: dict[str, dict]) -> list[str]:
    suites = sorted(results["reference"]["suites"])
    lines = ["| suite | " + " | ".join(results) + " | no reference at all |", "| --- |" + " --- |" * (len(results) + 1)]
    for suite in suites:
        cells = []
        for result in results.values():
            s = result["suites"][suite]
            cells.append(f"{s['passed']} of {s['passed'] + s['failed'] + s['ignored']}" + (f", {s['failed']} fail" if s["failed"] else ""))
        lines.append(f"| {suite} | " + " | ".join(cells) + f" | {results['kernels']['suites'][suite]['all_by_kernel']} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--tune", action="store_true", help="race kernels instead of taking first guesses")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for script, target in (("dump_node_tests.py", "backend_tests"), ("dump_bug_cases.py", "bug_cases")):
            subprocess.run([sys.executable, ROOT / "tests/conformance" / script, folder / target], check=True)
        backend = {mode: run(arguments.build, folder / "backend_tests", mode, arguments.tune, folder) for mode in MODES}
        bugs = {mode: run(arguments.build, folder / "bug_cases", mode, arguments.tune, folder) for mode in MODES}
    for result in bugs.values():
        suites = result["suites"].values()
        result["suites"] = {"bug reports": {key: sum(s[key] for s in suites) for key in ("passed", "failed", "ignored", "all_by_kernel")}}
    lines = ["# Conformance", "", f"Written by `benchmarks/conformance.py`{' --tune' if arguments.tune else ''} on {datetime.date.today()}, commit {commit}, onnx {importlib.metadata.version('onnx')}, CPU backend.", ""]
    lines += [f"- *{mode}*: {meaning}" for mode, meaning in MODES.items()]
    lines += ["- *no reference at all*: cases of mode kernels in which every step ran by a kernel", "", *table(backend), "", *table(bugs), ""]
    lines += ["## Listed exceptions", "", "| cases | reason |", "| --- | --- |"]
    lines += [f"| {count} | {reason} |" for reason, count in sorted(backend["reference"]["ignored"].items())]
    failures = [f"- {mode}: {name}: {what}" for results in (backend, bugs) for mode, result in results.items() for name, what in result["failed"]]
    lines += ["", "## Failures", "", *(failures or ["None."]), ""]
    (ROOT / "benchmarks/results/conformance.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
