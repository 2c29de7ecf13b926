#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom, and how source files open. Prints each breach as file:line and exits 1 if there is one.

A folder of src/ may include itself and what stands before it in ORDER. Backends see only BACKENDS_SEE and themselves.
Programs and bindings see only the public headers (and their own folder), and those see only each other.
"""
import pathlib
import re
import sys

ORDER = ["base", "ir", "ops", "device", "memory", "engine", "runtime",  # the runtime library
         "import", "export", "passes", "schedule", "tuning", "compiler", "quantize", "mixed"]  # the compiler library
BACKENDS_SEE = ["base", "ir", "ops", "device", "backends/reference"]  # the reference is every backend's last resort
# The one file that joins a program to the backends: it calls the generated manifest.
JOINS = {"src/backends/linked.cpp"}
# Texts for the run-time compiler include one another by their path below this folder.
KERNELS = "src/backends/cuda/kernels"
KERNELS_SEE = {"conv": ["gemm"], "depthwise": ["gemm"]}
OUTSIDE = ["cli", "python", "server", "examples"]
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def allowed_in_src(path):
    """Folders of src/ that a file of src/ may include, as path prefixes."""
    folder = path.parts[1]
    if folder == "backends":
        own = [] if len(path.parts) < 4 else ["backends/" + path.parts[2]]
        return BACKENDS_SEE + own
    return ORDER[:ORDER.index(folder) + 1] if folder in ORDER else []


def breach(path, quote, target):
    """What is wrong with this include, or None. `path` is relative to the project."""
    if ".." in target.split("/"):
        return "includes go down from the include root, never up"
    top = path.parts[0]
    public = target.startswith("wootz/")
    if top == "include":
        if quote == '"':
            return "a public header includes only <wootz/...> and libraries of the system"
        return None
    if public and quote == '"':
        return "public headers are included as <wootz/...>"
    if quote == "<":
        return None
    folder = target.split("/")[0]
    if top in OUTSIDE:
        return None if folder == top else f"{top}/ sees only <wootz/...> and itself"
    if str(path) in JOINS:
        return None
    if path.suffix in (".cu", ".cuh") and str(path).startswith(KERNELS):
        family = path.relative_to(KERNELS).parts[0]
        return None if folder in KERNELS_SEE.get(family, []) + ["base", family] else f"kernels of {family} include no {folder}"
    if not any(target.startswith(prefix + "/") for prefix in allowed_in_src(path)):
        return f"{'/'.join(path.parts[:2])} may include only {', '.join(allowed_in_src(path)) or 'nothing'}"
    return None


def opening(path, lines):
    """What is wrong with the first lines of a file, or None."""
    if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
        return "the first line must be the SPDX licence line"
    guards = ("#pragma once", "HWY_TARGET_TOGGLE", "#ifndef WOOTZ_")  # Highway includes again; C may want the old way
    if path.suffix == ".h" and not any(guard in line for line in lines for guard in guards):
        return "a header needs #pragma once"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    breaches = 0
    checked = 0
    for top in ["src", "include", *OUTSIDE, "tests", "benchmarks"]:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            path = file.relative_to(root)
            lines = file.read_text(encoding="utf-8").splitlines()
            checked += 1
            found = [(1, opening(path, lines))]
            if top not in ("tests", "benchmarks"):  # these may look at everything
                for number, line in enumerate(lines, 1):
                    match = INCLUDE.match(line)
                    if match:
                        found.append((number, breach(path, *match.groups())))
            for number, what in found:
                if what:
                    breaches += 1
                    print(f"{path}:{number}: {what}: {lines[number - 1].strip() if lines else ''}")
    print(f"{checked} files checked, {breaches} breaches")
    return 1 if breaches or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
