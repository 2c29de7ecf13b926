#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One visit to a GPU: every CUDA tactic against the references, then networks built, verified and timed on the device.

    session.py --bin FOLDER --out FOLDER [--networks FOLDER] [--only conformance|networks] [--rows resnet50:1:fp16,...] [--seconds N]
               [--tests FILTER] [--sanitizer memcheck|racecheck|initcheck|synccheck]

--bin has wootz and test_cuda; --networks has .onnx files (or skeletons of skeleton.py, that are filled first). Each test and each network
runs in a process of its own with a time limit, for a kernel that faults or hangs takes its process along. What failed is printed at once
with its last lines; everything lies in --out: conformance.json, rows.jsonl and a log a step. Exit status 1 if anything failed.

--tests leaves tests out (a filter of GoogleTest). --sanitizer runs each test under that tool of NVIDIA's compute-sanitizer (of the PATH,
of the wheel nvidia-cuda-sanitizer-api or of /usr/local/cuda; ten to a hundred times slower); what it finds fails the test.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

WORK = pathlib.Path(tempfile.gettempdir()) / "wootz-gpu"  # models, engines and caches: too large for --out
ROWS = ("resnet50:1:fp16,resnet50:128:fp16,bert_base:1:fp16,vit_b_16:1:fp16,efficientnet_b0:1:fp16,mobilenet_v3_large:1:fp16,"
        "ssd300_vgg16_heads:1:fp16,convnext_tiny:1:fp16,yolov5s_like:1:fp16,swin_t:1:fp16,resnet50:1:fp32,bert_base:1:fp32,"
        "bert_base:128:fp16,vit_b_16:128:fp16,efficientnet_b0:128:fp16")


def run(command, limit, log, environment=None):
    """Exit status and output; 124: the time was up."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit,
                              env={**os.environ, **(environment or {})})
        status, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        text = [x.decode(errors="replace") if isinstance(x, bytes) else x or "" for x in (late.stdout, late.stderr)]
        status, output = 124, "".join(text) + f"\nstopped after {limit} s"
    log.write_text(output)
    return status, output, time.monotonic() - start


def sanitizer_command(tool):
    """What a program is put behind; none where no tool is asked for."""
    if not tool:
        return []
    wheels = (pathlib.Path(p) / "nvidia/cu13/bin/compute-sanitizer" for p in sys.path if p)
    places = [shutil.which("compute-sanitizer"), *wheels, "/usr/local/cuda/bin/compute-sanitizer"]
    program = next((str(p) for p in places if p and os.access(p, os.X_OK)), None)
    if not program:
        sys.exit("--sanitizer: no compute-sanitizer here; the Python package nvidia-cuda-sanitizer-api has it")
    return [program, "--tool", tool, "--error-exitcode", "86", "--print-limit", "20"]


def test_names(binary, tests):
    names, suite = [], ""
    for line in subprocess.run([binary, "--gtest_list_tests", f"--gtest_filter={tests}"], capture_output=True, text=True).stdout.splitlines():
        line = line.split("#")[0].rstrip()
        if line and not line.startswith(" "):
            suite = line
        elif line and not suite.startswith("Running"):
            names.append(suite + line.strip())
    return names


def conformance(binary, out, seconds, tests="*", before=()):
    """Every test of the suite, only run, not compiled for other architectures."""
    logs = out / "conformance"
    logs.mkdir(parents=True, exist_ok=True)
    names = [n for n in test_names(binary, tests) if not n.startswith("Emulated")]
    # What counts the card's free memory runs when nothing else does.
    alone = [n for n in names if n.startswith("CudaCycles.")]
    names = [n for n in names if n not in alone]

    def one(name):
        return name, *run([*before, binary, f"--gtest_filter={name}"], seconds, logs / f"{name.replace('/', '_')}.log", {"WOOTZ_TEST_ARCHS": "none"})

    results = {}
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for name, status, output, spent in itertools.chain(pool.map(one, names), map(one, alone)):
            verdict = "passed" if status == 0 and "[  SKIPPED ]" not in output else "skipped" if status == 0 else f"failed ({status})"
            results[name] = {"verdict": verdict, "seconds": round(spent, 2)}
            if verdict.startswith("failed"):
                print(f"FAILED {name}: {status}\n  " + "\n  ".join(output.splitlines()[-14:]), flush=True)
    (out / "conformance.json").write_text(json.dumps(results, indent=1))
    count = {v: sum(r["verdict"].startswith(v) for r in results.values()) for v in ("passed", "failed", "skipped")}
    print(f"conformance: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
    return count["failed"] == 0


def first_input(model, batch):
    """--shapes for every input: the first dimension is the batch, others as they are or as the reference had them."""
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    weights = {t.name for t in graph.initializer}
    shapes = []
    for value in graph.input:
        if value.name in weights:
            continue
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        shapes += ["--shapes", value.name + ":" + "x".join(str(d if d > 0 else batch) for d in dims)]
    return shapes


def filled(networks, name):
    target = WORK / f"{name}.onnx"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        skeleton = pathlib.Path(__file__).with_name("skeleton.py")
        subprocess.run([sys.executable, skeleton, "fill", networks / f"{name}.onnx", target], check=True)
    return target


def network_row(wootz, networks, out, row, seconds):
    name, batch, precision = row.split(":")
    model = filled(networks, name)
    stem = out / f"{name}-{batch}-{precision}"
    engine = str(WORK / f"{stem.name}.wtz")
    command = [wootz, "build", str(model), "-o", engine, "--device", "cuda:0", *first_input(model, batch)]
    if precision != "fp32":
        command += ["--precision", precision]
    environment = {"WOOTZ_LOG": "warning", "XDG_CACHE_HOME": str(WORK / "cache")}
    record = {"network": name, "batch": int(batch), "precision": precision}
    status, output, record["build_seconds"] = run(command, seconds, pathlib.Path(str(stem) + ".build.log"), environment)
    record["build"] = status
    if status != 0:
        record["message"] = output.strip().splitlines()[-1][-400:] if output.strip() else ""
        return record
    status, text, _ = run([wootz, "explain", engine, "--json"], 60, pathlib.Path(str(stem) + ".explain.json"), environment)
    if status == 0:
        plan = json.loads(text[text.index("{"):])
        record["verification"] = [{k: v[k] for k in ("output", "relative", "bound", "sample")} for v in plan["verification"]]
        record["on_host"] = [s["region"] for s in plan["steps"] if s["tactic"].startswith("reference")]
        record["steps"] = len(plan["steps"])
        record["raced_us"] = round(sum(s["time_us"] for s in plan["steps"]), 1)
    status, text, _ = run([wootz, "bench", engine, "--duration", "2", "--json"], 90, pathlib.Path(str(stem) + ".bench.json"), environment)
    record["bench"] = status
    if status == 0:
        measured = json.loads(text[text.index("{"):])
        record["p50_ms"] = measured["p50_ms"]
        record["device"] = measured.get("device")
        record["slowest"] = [(round(s["time_us"], 1), s["region"], s["tactic"])
                             for s in sorted(measured["steps"], key=lambda s: -s["time_us"])[:8]]
    else:
        record["message"] = text.strip().splitlines()[-1][-400:] if text.strip() else ""
    os.remove(engine)
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--networks", type=pathlib.Path)
    parser.add_argument("--only", choices=["conformance", "networks"])
    parser.add_argument("--tests", default="*", help="GoogleTest's filter of the tests")
    parser.add_argument("--sanitizer", choices=["memcheck", "racecheck", "initcheck", "synccheck"])
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--seconds", type=int, default=150, help="limit of a build and of a test")
    parser.add_argument("--until", type=float, default=540, help="seconds after which no further row is begun")
    o = parser.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    start, good = time.monotonic(), True
    print(subprocess.run([o.bin / "wootz", "--version"], capture_output=True, text=True).stdout, flush=True)
    if o.only != "networks":
        good = conformance(str(o.bin / "test_cuda"), o.out, o.seconds, o.tests, sanitizer_command(o.sanitizer))
    if o.only != "conformance" and o.networks:
        with open(o.out / "rows.jsonl", "a") as rows:
            for row in o.rows.split(","):
                if time.monotonic() - start > o.until:
                    print(f"no time for {row}", flush=True)
                    continue
                record = network_row(str(o.bin / "wootz"), o.networks, o.out, row, o.seconds)
                good = good and record["build"] == 0 and record.get("bench") == 0
                print(json.dumps(record), file=rows, flush=True)
                print(json.dumps(record), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
