#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens explain reports in headless Chromium: check_in_browser.py CHROMIUM WOOTZ MODEL [FOLDER]

Builds MODEL, then pages of the engine itself and of its steps repeated to 500 and 5,000. Fails when a script reports an
error, when rows, points, memory blocks or (of a float16 engine, with --of) nodes' errors are missing, or when a page takes 10 seconds. With FOLDER, screenshots are kept.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np


def repeated(explanation, count):
    """The explanation with its steps chained until there are `count`, values renamed to stay distinct."""
    steps, values, original = [], [], explanation["steps"]
    while len(steps) < count:
        turn, base = len(steps) // len(original), len(steps)
        for step in original[: count - len(steps)]:
            copy = json.loads(json.dumps(step))
            for value in copy.get("inputs", []) + copy.get("outputs", []):
                value["name"] += f"/{turn}"
            steps.append(copy)
        for value in explanation["memory"]["values"]:
            if base + value["last"] < count:
                values.append({**value, "first": base + value["first"], "last": base + value["last"]})
    return {**explanation, "steps": steps, "memory": {**explanation["memory"], "values": values}}


def open_page(chromium, page, screenshot, dark):
    """The page's content after its scripts ran, and the seconds that took."""
    flags = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,2600",
             "--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000"]
    if dark:
        flags.append("--blink-settings=preferredColorScheme=0")
    if screenshot:
        subprocess.run(flags + [f"--screenshot={screenshot}", page.as_uri()], check=True, capture_output=True, timeout=120)
    start = time.monotonic()
    done = subprocess.run(flags + ["--dump-dom", page.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    return done.stdout, time.monotonic() - start


def check(chromium, page, explanation, screenshot, dark=False):
    content, seconds = open_page(chromium, page, screenshot, dark)
    rows = len(re.findall(r"<tr [^>]*data-step=", content))
    running = sum(step["tactic"] != "view" for step in explanation["steps"])
    assert rows == min(running, 400), f"{page.name}: {rows} rows, expected {min(running, 400)}"
    blocks = content.split('id="memory"')[1].split("</svg>")[0].count("<rect")
    assert blocks == len(explanation["memory"]["values"]), f"{page.name}: {blocks} memory blocks"
    points = content.count("<circle")
    timed = sum(step["time_us"] > 0 and step["flops"] > 0 and step["bytes"] > 0 for step in explanation["steps"])
    assert points == timed, f"{page.name}: {points} points, expected {timed}"
    assert seconds < 10, f"{page.name} took {seconds:.1f} s"
    print(f"{page.name}: {len(explanation['steps'])} steps, {seconds:.1f} s with the browser's start")


def check_precision(chromium, wootz, model, shapes, folder, keep):
    """What float16 costs, before and after."""
    sample, engine, page = folder / "sample.npz", folder / "fp16.wtz", folder / "fp16.html"
    np.savez(sample, **{name: np.random.default_rng(1).random(dims, np.float32) for name, dims in shapes.items()})
    subprocess.run([wootz, "build", model, "-o", engine, "--precision", "fp16", "--samples", sample, "--no-tune"], check=True, capture_output=True)
    flags = ["--of", model, "--samples", sample]
    subprocess.run([wootz, "explain", engine, *flags, "--html", page], check=True, capture_output=True)
    table = json.loads(subprocess.run([wootz, "explain", engine, *flags, "--json"], check=True, capture_output=True).stdout)["precision"]
    assert table["nodes"] and table["outputs"]
    assert max(o["after"]["relative"] for o in table["outputs"]) > max(o["before"]["relative"] for o in table["outputs"])
    assert any((n["after"]["own"] or 0) > (n["before"]["own"] or 0) for n in table["nodes"])
    for dark in (False, True):
        content, _ = open_page(chromium, page, folder / ("precision_dark.png" if dark else "precision.png") if keep else None, dark)
        part = content.split('id="nodeerrors"')[1].split("</tbody>")[0]
        assert part.count("<tr") == min(len(table["nodes"]), 400), f"{part.count('<tr')} nodes, expected {len(table['nodes'])}"
        assert content.split('id="outputerrors"')[1].split("</table>")[0].count("<tr") == len(table["outputs"]) + 1


def main():
    chromium, wootz, model = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else scratch).absolute()
        engine, page = folder / "engine.wtz", folder / "engine.html"
        subprocess.run([wootz, "build", model, "-o", engine, "--timing-cache", ""], check=True, capture_output=True)
        subprocess.run([wootz, "explain", engine, "--html", page], check=True, capture_output=True)
        text = page.read_text()
        marks = re.search(r'(<script id="data" type="application/json">)(.*?)(</script>)', text, re.S)
        explanation = json.loads(marks.group(2))
        keep = len(sys.argv) > 4
        check(chromium, page, explanation, folder / "light.png" if keep else None)
        check(chromium, page, explanation, folder / "dark.png" if keep else None, dark=True)
        check_precision(chromium, wootz, model, explanation["tuned_shapes"], folder, keep)
        for count in (500, 5000):
            longer = repeated(explanation, count)
            other = folder / f"steps_{count}.html"
            data = json.dumps(longer).replace("<", "\\u003c")
            other.write_text(text[: marks.start(2)] + data + text[marks.end(2):])
            check(chromium, other, longer, folder / f"steps_{count}.png" if keep else None)


if __name__ == "__main__":
    main()
