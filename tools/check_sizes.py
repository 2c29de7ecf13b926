#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the length of hand-written files: more than 800 lines fails. Prints median, 95th percentile and the longest.

A long file holds several things; give each its name and its file.
"""
import pathlib
import statistics
import sys

LIMIT = 800
TARGET_MEDIAN = 120
TARGET_P95 = 450
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".cmake"}
FOLDERS = ["src", "include", "cli", "python", "server", "tests", "benchmarks", "examples", "tools", "cmake"]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    sizes = []
    for folder in FOLDERS:
        for file in (root / folder).rglob("*"):
            if file.suffix in SUFFIXES and file.is_file():
                sizes.append((len(file.read_text(encoding="utf-8").splitlines()), str(file.relative_to(root))))
    sizes.sort()
    lines = [count for count, _ in sizes]
    p95 = lines[min(len(lines) - 1, len(lines) * 95 // 100)]
    print(f"{len(lines)} files, {sum(lines)} lines; median {statistics.median(lines):.0f} (target {TARGET_MEDIAN}), "
          f"95th percentile {p95} (target {TARGET_P95})")
    for count, name in reversed(sizes[-5:]):
        print(f"{count:6} {name}")
    too_long = [(count, name) for count, name in sizes if count > LIMIT]
    for count, name in too_long:
        print(f"{name}: {count} lines, expected at most {LIMIT}")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
