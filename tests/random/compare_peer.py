# SPDX-License-Identifier: Apache-2.0
"""Runs the graphs that `wootz_random_graphs --export FOLDER` wrote with ONNX Runtime and compares with the references.

    compare_peer.py FOLDER [--optimise]

Graphs that ONNX Runtime refuses (an operator, type or shape that it lacks) are counted by reason; differences are printed.
"""

import argparse
import collections
import pathlib
import re

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper


def read(folder: pathlib.Path, prefix: str) -> list[tuple[str, np.ndarray]]:
    """In the order of the graph; an output may be listed twice."""
    tensors = [onnx.TensorProto.FromString(path.read_bytes()) for path in sorted(folder.glob(f"{prefix}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))]
    return [(tensor.name, numpy_helper.to_array(tensor)) for tensor in tensors]


def difference(found: np.ndarray, expected: np.ndarray) -> str:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{list(found.shape)} for {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind in "biuOUS":
        wrong = found != expected
        return f"{int(wrong.sum())} of {wrong.size} elements, e.g. {found[wrong][0]} for {expected[wrong][0]}" if wrong.any() else ""
    if expected.dtype.kind == "c":
        return "" if np.allclose(found, expected, 1e-3, 1e-4) else "complex numbers"
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    tolerance = {4: 1e-4, 8: 1e-6}.get(found.dtype.itemsize, 1e-2) * max(scale, 1e-2)
    wrong = ~((np.abs(found - expected) <= max(tolerance, 1e-4 * scale)) | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    return f"{int(wrong.sum())} of {wrong.size} elements, e.g. {found[wrong][0]} for {expected[wrong][0]}" if wrong.any() else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--optimise", action="store_true")
    arguments = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not arguments.optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    agreed, differing, refused = 0, 0, collections.Counter()
    for folder in sorted(arguments.folder.iterdir(), key=lambda p: int(p.name)):
        try:
            session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
            found = session.run(None, dict(read(folder, "in")))
        except Exception as error:
            text = re.sub(r"node with name '[^']*'|\([A-Za-z0-9_]*\d+\)|'[^']*'", "", str(error))
            refused[text[:90]] += 1
            continue
        graph = onnx.load(folder / "model.onnx").graph
        expected = read(folder, "out")
        problems = [(name, what) for (name, want), have in zip(expected, found, strict=True) if (what := difference(np.asarray(have), want))]
        agreed, differing = agreed + (not problems), differing + bool(problems)
        if problems:
            producers = {output: node.op_type for node in graph.node for output in node.output}
            print(f"{folder.name}: " + "; ".join(f"{producers.get(name)} {what}" for name, what in problems[:3]))
    print(f"{agreed} agree, {differing} differ, {sum(refused.values())} refused")
    for reason, count in refused.most_common(25):
        print(f"{count:5} {reason}")


if __name__ == "__main__":
    main()
