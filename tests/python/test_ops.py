# SPDX-License-Identifier: Apache-2.0
"""Operators written in Python."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

import wootz

calls = []


def halves_shape(x, gate=None, *, axis=0, keep="yes"):
    shape = list(x.shape)
    shape[axis] = f"floor_div({shape[axis]}, 2)"
    return wootz.TensorInfo("", x.dtype, tuple(shape)), wootz.TensorInfo("", "int64", ())


@wootz.op("test.ops", "Halves", infer=halves_shape, outputs=2)
def halves(x, gate=None, *, axis=0, keep="yes"):
    """The sum of neighbours, and the number of inputs."""
    n = x.shape[axis] // 2 * 2
    even, odd = (np.take(x, range(start, n, 2), axis) for start in (0, 1))
    return even + odd, np.int64(1 if gate is None else 2)


def scale_kernel(x, *, out, by=1.0):
    calls.append("kernel")
    np.multiply(x, np.float32(by), out=out)


@wootz.op("test.ops", "Scale", infer=lambda x, *, by=1.0: wootz.TensorInfo("", x.dtype, x.shape), kernel=scale_kernel)
def scale(x, *, by=1.0):
    return (x * by).astype(x.dtype)


def wrong_kernel(x, *, out):
    out[...] = x + 1


@wootz.op("test.ops", "Same", infer=lambda x: wootz.TensorInfo("", x.dtype, x.shape), kernel=wrong_kernel)
def same(x):
    return x.copy()


@wootz.op("test.ops", "NonZeros", infer=lambda x: wootz.TensorInfo("", x.dtype, (None,)))
def non_zeros(x):
    return x[x != 0]


@wootz.op("test.ops", "Fails", infer=lambda x: wootz.TensorInfo("", x.dtype, x.shape))
def fails(x):
    raise ValueError("no such luck")


def build(nodes, outputs, shape=("n", 4), **options):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("test.ops", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return wootz.build(model.SerializeToString(), timing_cache=None, **options)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, domain="test.ops", **attributes)


class UserOpTest(unittest.TestCase):
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5

    def test_shapes_are_expressions(self):
        engine = build([node("Halves", ["x"], ["y", "k"], axis=1)], [("y", TensorProto.FLOAT), ("k", TensorProto.INT64)])
        self.assertEqual(engine.outputs[0].shape, ("n", 2))
        results = engine.run({"x": self.x})
        np.testing.assert_array_equal(results["y"], self.x[:, ::2] + self.x[:, 1::2])
        self.assertEqual(results["k"], 1)

    def test_optional_input(self):
        engine = build([node("Halves", ["x", "x"], ["", "k"])], [("k", TensorProto.INT64)])
        self.assertEqual(engine.run({"x": self.x})["k"], 2)

    def test_kernel_is_used(self):
        engine = build([node("Scale", ["x"], ["s"], by=3.0), helper.make_node("Relu", ["s"], ["y"])], [("y", TensorProto.FLOAT)],
                       shapes={"x": (3, 4)})
        self.assertIn("user.test.ops.Scale.python", [step["tactic"] for step in engine.explain()["steps"]])
        calls.clear()
        np.testing.assert_array_equal(engine.run({"x": self.x})["y"], np.maximum(self.x * 3, 0))
        self.assertEqual(calls, ["kernel"])

    def test_wrong_kernel_never_runs(self):
        engine = build([node("Same", ["x"], ["y"])], [("y", TensorProto.FLOAT)], shapes={"x": (3, 4)})
        np.testing.assert_array_equal(engine.run({"x": self.x})["y"], self.x)

    def test_size_of_the_run(self):
        engine = build([node("NonZeros", ["x"], ["z"]), helper.make_node("Neg", ["z"], ["y"])], [("y", TensorProto.FLOAT)])
        np.testing.assert_array_equal(engine.run({"x": self.x})["y"], -self.x[self.x != 0])

    def test_failure_is_told(self):
        with self.assertRaisesRegex(wootz.Error, "no such luck"):
            build([node("Fails", ["x"], ["y"])], [("y", TensorProto.FLOAT)], tune=False, verify=False).run({"x": self.x})

    def test_unknown_operators_are_listed(self):
        with self.assertRaisesRegex(wootz.Error, r"(?s)test.ops.Nothing.*user-operators"):
            build([node("Nothing", ["x"], ["y"])], [("y", TensorProto.FLOAT)])

    def test_unknown_attribute(self):
        with self.assertRaisesRegex(wootz.Error, "attribute 'bye'"):
            build([node("Scale", ["x"], ["y"], bye=1.0)], [("y", TensorProto.FLOAT)])

    def test_twice(self):
        with self.assertRaisesRegex(wootz.Error, "already"):
            wootz.op("test.ops", "Same", infer=lambda x: x)(lambda x: x)

    def test_example_ends_without_a_word(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "examples/user_operator/scale.py"
        path = os.pathsep.join([str(pathlib.Path(wootz.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, example], capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": path})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("user.my.domain.Scale.python", run.stdout)


if __name__ == "__main__":
    unittest.main()
