# SPDX-License-Identifier: Apache-2.0
"""The trained networks' part of benchmarks/precision.py: what a precision does to the results that a user sees (text read, classes, pixels on a
side of the threshold), the error, and the time beside float32, on the CPU. FOLDER holds the models (tests/models/fetch.py); inputs and expected results are
tests/models/golden's. digits is trained here on scikit-learn's digits (tests/python/test_quantize.py). Needs numpy, onnx, scikit-learn.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "models" / "golden"
sys.path.insert(0, str(ROOT / "benchmarks" / "cpu"))
from compare import machine  # noqa: E402

BUDGET, SECONDS = 1e-2, 30  # of mixed
CLASSES = ["digits", "ppocrv4_rec", "ppocr_cls", "ppocrv4_det", "attacut_c", "deepcut", "oww_timer", "dnsmos_sig_bak_ovr"]
TRAINED_INT8 = ["smart_turn_qdq_int8", "t5_decoder_int8", "minilm_int8", "ddddocr_old_int8", "rawi_ensemble_int8"]
MIXED = ["digits", "ppocrv4_rec", "ppocr_cls", "ppocrv4_det", "attacut_c", "deepcut", "oww_timer", "dnsmos_sig_bak_ovr", "oww_hey_mycroft",
         "plcmos", "seizure_bilstm", "silero_vad_v6"]
ROWS = [f"{n}:1:{p}" for n in CLASSES for p in ("fp16", "bf16", "int8")] + [f"{n}:1:mixed" for n in MIXED] + \
       [f"{n}:1:int8-file" for n in TRAINED_INT8]


def call(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout.decode(errors="replace")


def digits(scratch, wootz):
    """The model and its cases: all test pictures as one, and training pictures for calibration."""
    os.environ.setdefault("WOOTZ_CLI", str(wootz))
    spec = importlib.util.spec_from_file_location("test_quantize", ROOT / "tests" / "python" / "test_quantize.py")
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    data = tests.load_digits()
    x = (data.images / 16).astype(np.float32)[:, None]
    net = tests.DigitsNet()
    net.train(x[:1200], data.target[:1200])
    net.save(str(scratch / "digits.onnx"))
    return scratch / "digits.onnx", [{"x": x[1200:]}], [{"x": x[i:i + 1]} for i in range(64)], data.target[1200:]


def golden(folder, name):
    model = pathlib.Path(folder) / f"{name}.onnx"
    graph = onnx.load(model, load_external_data=False).graph
    weights = {t.name for t in graph.initializer}
    names = [i.name for i in graph.input if i.name not in weights]
    cases = []
    with np.load(GOLDEN / f"{name}.npz") as file:
        while f"c{len(cases)}_i0" in file.files:
            k = len(cases)
            cases.append({n: file[f"c{k}_i{i}"] for i, n in enumerate(names)})
    return model, cases, cases, None


def decode(name, outputs, labels):
    """What a user sees, as comparable pieces."""
    first = next(iter(outputs.values()))
    if labels is not None:
        return list(first.argmax(-1) == labels)
    if name == "ppocrv4_rec":  # the classes of each step, repeats and blanks dropped
        return ["".join(f"{c}," for c, before in zip(row, [-1, *row[:-1]]) if c != before and c) for row in first.argmax(-1)]
    if name == "ppocrv4_det":
        return [(first > 0.3).mean(axis=(1, 2, 3)).round(2).tolist()]
    if first.shape[-1] > 1:
        return list(first.argmax(-1).reshape(-1))
    return list((first > 0.5).reshape(-1))


def run(wootz, engine, case, scratch):
    np.savez(scratch / "in.npz", **case)
    call(wootz, "run", engine, "--inputs", scratch / "in.npz", "--outputs", scratch / "out.npz")
    with np.load(scratch / "out.npz") as found:
        return {k: found[k] for k in found.files}


def times_of(wootz, engines, case, scratch, rounds):
    np.savez(scratch / "in.npz", **case)
    found = {kind: [] for kind in engines}
    for _ in range(rounds):
        for kind, engine in engines.items():
            text = call(wootz, "bench", engine, "--inputs", scratch / "in.npz", "--iterations", 20, "--json", "--no-self-test")
            found[kind].append(json.loads(text[text.index("{"):])["p50_ms"])
    return {kind: float(np.median(v)) for kind, v in found.items()}


def judged(name, want, found, labels):
    if labels is not None:
        plain, now = (float(np.mean(decode(name, r[0], labels))) for r in (want, found))
        return f"top-1 {plain:.4f} -> {now:.4f}", now >= plain - 0.005
    pieces = [(a, b) for w, f in zip(want, found) for a, b in zip(decode(name, w, None), decode(name, f, None))]
    same = float(np.mean([a == b for a, b in pieces]))
    what = "texts" if name == "ppocrv4_rec" else "decisions"
    return f"{same:.4f} of {len(pieces)} {what} the same", same == 1


def measure(a, name, batch, precision, scratch):
    scratch, wootz = pathlib.Path(scratch), a.wootz
    base = {"suite": "trained", "network": name, "batch": batch, "precision": precision, "device": machine()}
    if precision == "int8-file":
        done = subprocess.run([sys.executable, ROOT / "tests" / "models" / "verify_models.py", wootz, a.folder, name], capture_output=True, text=True)
        words = done.stdout.split("worst relative error ")
        return {**base, "error": float(words[1].split()[0]) if len(words) > 1 else float("nan"), "kept": done.returncode == 0,
                "quality": "within the bound of tests/models" if done.returncode == 0 else done.stdout.splitlines()[0][:80]}
    model, cases, samples, labels = digits(scratch, wootz) if name == "digits" else golden(a.folder, name)
    files = []
    for k, sample in enumerate(samples):
        files.append(scratch / f"sample{k}.npz")
        np.savez(files[-1], **sample)
    shapes = [x for n, array in cases[0].items() for x in ("--shapes", n + ":" + "x".join(map(str, array.shape)))]
    plain, other = scratch / "fp32.wtz", scratch / f"{precision}.wtz"
    common = ["--threads", a.threads, *shapes]
    if precision == "mixed":
        call(wootz, "build", model, "-o", other, "--precision", "mixed", "--max-error", BUDGET, "--search-seconds", SECONDS, "--samples", files[0], *common)
        trials = json.loads((scratch / "mixed.types.json").read_text())["trials"]
        chosen = next(t for t in trials if t["chosen"])
        return {**base, "wootz_ms": chosen["time_ms"], "fp32_ms": trials[0]["time_ms"], "error": chosen["error"],
                "kept": chosen["error"] <= BUDGET and chosen["time_ms"] <= trials[0]["time_ms"],
                "quality": f"{chosen['what']}, of {len(trials)} trials; budget {BUDGET:g}"}
    call(wootz, "build", model, "-o", plain, *common)
    note, command = "", ["build", model, "-o", other, "--precision", precision, "--samples", files[0], *common]
    if precision == "int8":
        bytes_model = scratch / "int8.onnx"
        call(wootz, "quantize", model, "-o", bytes_model, "--samples", *files, "--report-samples", 0)
        command = ["build", bytes_model, "-o", other, *common]
    try:
        call(wootz, *command)
    except subprocess.CalledProcessError as refused:
        if refused.returncode != 4:  # verification: the engine is judged by its results all the same
            raise
        call(wootz, *command, "--no-verify")
        note = "; the build refuses it: outputs are out of the type's bound"
    want, found = ([run(wootz, e, case, scratch) for case in cases] for e in (plain, other))
    error = max(float(np.abs(f[k].astype(np.float64) - w[k]).max() / max(np.abs(w[k]).max(), 1e-30))
                for w, f in zip(want, found) for k in w if w[k].dtype.kind == "f")
    quality, kept = judged(name, want, found, labels)
    times = times_of(wootz, {"fp32": plain, "other": other}, cases[0], scratch, a.rounds)
    return {**base, "wootz_ms": times["other"], "fp32_ms": times["fp32"], "error": error, "kept": bool(kept), "quality": quality + note}
