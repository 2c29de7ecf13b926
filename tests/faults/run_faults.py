# SPDX-License-Identifier: Apache-2.0
"""run_faults.py TREE [--fault NAME ..] [--clean FOLDER] [--table FILE.md]: builds the networks of fault_models.py with each
fault of a planted tree awake (plant.py; built with the Python module in TREE/build/dev), and says which builds noticed.

Of a fault and a network: *refused*: the build failed verification or another check; *thrown out*: a wrong tactic was, and the engine
is right; *crashed*: the build died; *missed*: an engine came out whose results are wrong at one of the network's shapes; *right*: the
engine's results are right everywhere. A fault is caught when some network shows it and none misses it; where every network is right
it has no effect, and counts for neither side. --table writes the rows to a file as they come; what stands there is not run again.

--clean runs the build of every ONNX file of FOLDER (or FOLDER/*/model.onnx) without a fault: a refusal or a tactic thrown out is a
false alarm."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import fault_models
import plant

LIMIT_S = 240
TOLERANCE = {"float16": 2e-2}  # of results to judge a missed fault by: twice what a build allows


def compare(np, expected, found):
    """The largest difference over the largest magnitude; infinite where dims or non-finite numbers differ."""
    if expected.shape != found.shape:
        return float("inf")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind in "biu":
        return 0.0 if (expected == found).all() else float("inf")
    a, b = expected.astype(float), found.astype(float)
    if not (np.isfinite(a) == np.isfinite(b)).all():
        return float("inf")
    scale = np.abs(a[np.isfinite(a)]).max(initial=0) or 1.0
    return float(np.abs(a - b)[np.isfinite(a)].max(initial=0) / scale)


def try_model(path, runs):
    """Builds and runs one network in this process; prints the outcome as JSON."""
    import numpy as np
    import wootz
    result = {}
    try:
        engine = wootz.build(path, shapes={k: tuple(v) for k, v in runs["shapes"].items()}, timing_cache=None, reproducers=None, threads=2,
                             vendor_libraries=False)
    except Exception as error:  # whatever stops the build
        print(json.dumps({"outcome": "refused", "why": str(error)[:300]}))
        return
    thrown = [r["text"] for r in engine.explain()["remarks"] if r["text"].startswith("thrown out")]
    context, worst, why = engine.context(), 0.0, ""
    for case in runs["cases"]:
        data = np.load(case)
        given = {k[2:]: data[k] for k in data if k.startswith("i_")}
        try:
            got = context.run(given)
        except Exception as error:
            worst, why = float("inf"), f"run: {error}"[:300]
            break
        for name in (k[2:] for k in data if k.startswith("o_")):
            difference = compare(np, data["o_" + name], np.asarray(got[name]))
            limit = TOLERANCE.get(runs["type"], 2e-4)
            if difference > limit and difference > worst:
                worst, why = difference, f"{os.path.basename(case)} output {name}: {difference:.2g}"
    result["outcome"] = "missed" if worst else "thrown out" if thrown else "right"
    result["why"] = why or "; ".join(thrown)[:300]
    print(json.dumps(result))


def environment(tree, fault):
    env = {**os.environ, "PYTHONPATH": str(tree / "build/dev/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("WOOTZ_FAULT", None)
    return {**env, "WOOTZ_FAULT": fault} if fault else env


def child(tree, fault, path, runs):
    try:
        run = subprocess.run([sys.executable, __file__, "--try", path, json.dumps(runs)], env=environment(tree, fault), capture_output=True,
                             text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"outcome": "crashed", "why": f"no end within {LIMIT_S} s", "reached": [fault]}
    reached = re.findall(r"planted fault (\S+) was reached", run.stderr)
    if run.returncode == 99:
        sys.exit(f"{fault}: the tree does not know it; run plant.py and build again")
    if run.returncode != 0:
        return {"outcome": "crashed", "why": run.stderr[-200:] or f"signal {-run.returncode}", "reached": [fault]}
    return {**json.loads(run.stdout.splitlines()[-1]), "reached": reached}


def prepare(tree, folder):
    """Writes the networks with the references' results, made without a fault."""
    script = """
import sys, json, numpy as np, wootz
for path, cases in json.load(sys.stdin):
    for case in cases:
        data = dict(np.load(case))
        outputs = wootz.run_reference(path, {k[2:]: v for k, v in data.items()})
        np.savez(case, **data, **{"o_" + k: v for k, v in outputs.items()})
"""
    import numpy as np
    import onnx
    prepared, jobs = [], []
    for name, model, runs in fault_models.models():
        path = os.path.join(folder, name + ".onnx")
        onnx.save(model, path)
        cases = []
        for i, dims in enumerate([runs[0], *runs[1:], runs[0], *runs[1:]]):  # each shape again, with other numbers
            cases.append(os.path.join(folder, f"{name}_{i}.npz"))
            np.savez(cases[-1], **{"i_" + k: v for k, v in fault_models.inputs(model, dims, i).items()})
        jobs.append((path, cases))
        prepared.append((name, path, {"shapes": runs[0], "cases": cases, "type": "float16" if name == "half" else "float32"}))
    subprocess.run([sys.executable, "-c", script], env=environment(tree, None), input=json.dumps(jobs), text=True, check=True)
    return prepared


def verdict(results):
    kinds = collections.Counter(r["outcome"] for r in results.values())
    if kinds["missed"]:
        return "missed"
    if kinds["refused"] or kinds["thrown out"] or kinds["crashed"]:
        return "caught"
    return "no effect" if results else "not reached"


def row_of(fault, results):
    outcome = verdict(results)
    by = collections.defaultdict(list)
    for name, r in results.items():
        if r["outcome"] != "right":
            by[r["outcome"]].append(name)
    how = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in sorted(by.items()))
    return f"| {fault['name']} | {fault['area']} | {fault['what']} | {outcome} | {how} |"


def clean_builds(tree, folder):
    """(number of builds, false alarms) over the ONNX files of a folder."""
    files = sorted([*folder.glob("*.onnx"), *folder.glob("*/model.onnx")])
    alarms, done = [], 0
    for path in files:
        run = subprocess.run([tree / "build/dev/bin/wootz", "build", path, "-o", folder / "clean.wtz", "--no-vendor", "--timing-cache", "",
                              "--reproducers", ""], env=environment(tree, None), capture_output=True, text=True)
        if run.returncode in (2, 3):
            continue  # not a model that Wootz takes
        done += 1
        if run.returncode != 0 or "thrown out: " in run.stdout:
            alarms.append(f"{path}: exit code {run.returncode}: {(run.stderr + run.stdout)[-300:]}")
    return done, alarms


def main():
    if sys.argv[1:2] == ["--try"]:
        try_model(sys.argv[2], json.loads(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--faults", type=pathlib.Path, default=pathlib.Path(__file__).with_name("faults.toml"))
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--clean", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    o = parser.parse_args()
    o.tree = o.tree.resolve()
    if o.clean:
        done, alarms = clean_builds(o.tree, o.clean.resolve())
        print("\n".join(alarms + [f"{done} clean builds, {len(alarms)} false alarms"]))
        sys.exit(1 if alarms else 0)
    table = o.table if o.table else pathlib.Path(os.devnull)
    if o.table and not o.table.exists():
        o.table.write_text("| fault | area | what | outcome | by network |\n| --- | --- | --- | --- | --- |\n")
    told = [line.split(" | ") for line in table.read_text().splitlines()[2:]]
    counts = collections.Counter(row[3] for row in told)
    done = {row[0].removeprefix("| ") for row in told}
    faults = [f for f in plant.read_faults(o.faults) if (not o.fault or f["name"] in o.fault) and f["name"] not in done]
    with tempfile.TemporaryDirectory() as folder:
        networks = [n for n in prepare(o.tree, folder) if not o.model or n[0] in o.model]
        reached = {}
        for name, path, runs in networks:
            clean = child(o.tree, "?", path, runs)
            if clean["outcome"] != "right":
                sys.exit(f"{name} without a fault: {clean}")
            reached[name] = set(clean["reached"])
        for fault in faults:
            results = {name: child(o.tree, fault["name"], path, runs) for name, path, runs in networks if fault["name"] in reached[name]}
            counts[verdict(results)] += 1
            row = row_of(fault, results)
            print(row, flush=True)
            with open(table, "a") as file:
                file.write(row + "\n")
            for name, r in results.items():
                if r["outcome"] in ("missed", "crashed"):
                    print(f"    {name}: {r['outcome']}: {r['why']}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    sys.exit(1 if counts["missed"] else 0)


if __name__ == "__main__":
    main()
