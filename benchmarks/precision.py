#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and error of lower precisions: on the CPU beside float32, ONNX Runtime and OpenVINO, on a GPU beside Wootz's own float16, and what trained
networks still read and recognise.

    precision.py cpu|gpu|trained WOOTZ FOLDER [ROW ...] [--rounds 7] [--threads 2] [--sums] [--results benchmarks/results]

FOLDER has NAME.onnx, for the CPU also NAME.ref.npz (networks.py writes both). A ROW is NETWORK:BATCH:TYPE. `wootz quantize` makes each model from
samples. precision.jsonl in --results gets a line a row, in the place of an older one of the same row, and precision.md is written anew from all lines.
"""
import argparse
import concurrent.futures
import contextlib
import datetime
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def commit():
    return subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def key(row):
    return row["suite"], row["network"], row["batch"], row["precision"]


def merged(path, rows):
    old = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return sorted([r for r in old if key(r) not in {key(n) for n in rows}] + rows, key=key)


def number(value, form):
    return "" if value is None else format(value, form)


def table(columns, rows):
    lines = ["| " + " | ".join(title for title, _ in columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(cell(r) for _, cell in columns) + " |" for r in rows]
    return "\n".join(lines) + "\n"


COMMON = [("network", lambda r: r["network"]), ("batch", lambda r: str(r["batch"])), ("type", lambda r: r["precision"]),
          ("Wootz, ms", lambda r: number(r.get("wootz_ms"), ".3f"))]
LAST = [("error", lambda r: f"{r['error']:.1e}"), ("commit, date", lambda r: f"{r['commit']}, {r['date']}")]
CPU = [(title, lambda r, k=k, f=f: number(r.get(k), f)) for title, k, f in
       (("float32", "wootz_fp32_ms", ".2f"), ("ratio", "over_wootz_fp32", ".2f"), ("ONNX Runtime", "onnxruntime_ms", ".2f"),
        ("ratio", "over_onnxruntime", ".2f"), ("OpenVINO", "openvino_ms", ".2f"), ("ratio", "over_openvino", ".2f"))]
GPU = [("float16, ms", lambda r: f"{r['fp16_ms']:.3f}"), ("times faster", lambda r: f"{r['fp16_ms'] / r['wootz_ms']:.2f}"),
       ("a second", lambda r: f"{r['batch'] / r['wootz_ms'] * 1e3:,.0f}"), ("quality", lambda r: r["quality"]),
       ("chosen", lambda r: r["chosen"])]


TRAINED = [("float32, ms", lambda r: number(r.get("fp32_ms"), ".3f")), ("results", lambda r: r["quality"]),
           ("kept", lambda r: "yes" if r["kept"] else "NO")]


def report(rows):
    text = "# Lower precisions\n\nWritten by `benchmarks/precision.py`. Errors are those of the outputs against float32, of the largest magnitude.\n"
    for suite, title, columns in (("cpu", "The CPU; ratios are Wootz over the other", CPU), ("gpu", "GPUs; float16 is Wootz's own", GPU),
                                  ("trained", "Trained networks on the CPU, against float32 (kept: the text, the top-1 within 0.5 points, the budget; times beside other programs)", TRAINED)):
        own = [r for r in rows if r["suite"] == suite]
        if own:
            text += f"\n## {title}\n\n{'; '.join(sorted({r['device'] for r in own}))}\n\n" + table(COMMON + columns + LAST, own)
    return text


def measured(a, part):
    """Each row, or the error that it ended with. What needs no device to itself (`prepare` of a part that has one) runs ahead."""
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(4))
        ahead = []
        for text in a.rows or part.ROWS:
            name, batch, precision = text.split(":")
            job = (a, name, int(batch), precision, stack.enter_context(tempfile.TemporaryDirectory()))
            ahead.append((text, job, pool.submit(part.prepare, *job) if hasattr(part, "prepare") else None))
        for text, job, prepared in ahead:
            try:
                yield text, part.measure(*job, prepared.result()) if prepared else part.measure(*job)
            except subprocess.CalledProcessError as error:
                yield text, error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["cpu", "gpu", "trained"])
    parser.add_argument("wootz")
    parser.add_argument("folder")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2, help="of the CPU")
    parser.add_argument("--sums", action="store_true", help="quantize residual sums too (always on a GPU)")
    parser.add_argument("--no-verify", action="store_true", help="the GPU's builds are not verified; the table has errors of whole outputs anyway")
    parser.add_argument("--logs", type=pathlib.Path, help="a folder for what the engines say")
    parser.add_argument("--commit", default=None, help="where there is no repository")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    a = parser.parse_args()
    sys.path.insert(0, str(HERE / a.suite))
    part = importlib.import_module("precision")
    path, failed = a.results / "precision.jsonl", False
    a.results.mkdir(parents=True, exist_ok=True)
    for text, row in measured(a, part):
        if isinstance(row, subprocess.CalledProcessError):
            print(f"{text}: {(row.stderr or b'').decode(errors='replace').strip()[-600:]}", flush=True)
            failed = True
            continue
        row.update(commit=a.commit or commit(), date=datetime.date.today().isoformat())
        print(json.dumps(row), flush=True)
        rows = merged(path, [row])
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        (a.results / "precision.md").write_text(report(rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
