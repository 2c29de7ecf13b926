# SPDX-License-Identifier: Apache-2.0
"""`wootz doctor` finds what was planted, proposes the few nodes around it, and what it proposes can be built."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COMMAND = os.environ["WOOTZ_CLI"]


def sick_model(path):
    """x -> product -> square (beyond float16) -> root -> product -> tanh (flat); a channel of the first product is always 0."""
    random = np.random.default_rng(2)
    w = random.normal(size=(16, 16)) * 100
    w[:, 5] = 0
    weights = {"w": w, "v": random.normal(size=(16, 8)), "u": random.normal(size=(8, 8))}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "first"), helper.make_node("Mul", ["a", "a"], ["b"], "square"),
             helper.make_node("Sqrt", ["b"], ["c"], "root"), helper.make_node("MatMul", ["c", "v"], ["d"], "second"),
             helper.make_node("Tanh", ["d"], ["e"], "flat"), helper.make_node("MatMul", ["e", "u"], ["y"], "third")]
    tensors = [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.model, cls.samples = str(cls.folder / "sick.onnx"), str(cls.folder / "s.npz")
        sick_model(cls.model)
        cls.x = np.random.default_rng(3).normal(size=(32, 16)).astype(np.float32)
        np.savez(cls.samples, x=cls.x)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_doctor(self, *flags, samples=None):
        return subprocess.run([COMMAND, "doctor", self.model, "--samples", samples or self.samples, *map(str, flags)],
                              capture_output=True, text=True)

    def found(self, *flags, samples=None):
        run = self.run_doctor("--json", *flags, samples=samples)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        return report, {(s["tensor"], s["kind"]) for s in report["symptoms"]}

    def test_float16(self):
        report, symptoms = self.found()
        self.assertIn(("b", "overflow"), symptoms)
        self.assertIn(("e", "saturation"), symptoms)
        self.assertIn(("a", "dead channels"), symptoms)
        self.assertNotIn(("x", "overflow"), symptoms)
        self.assertEqual(set(report["overrides"]), {"square=bf16", "root=bf16"})

    def test_bfloat16_holds_it(self):
        report, symptoms = self.found("--precision", "bf16")
        self.assertFalse({t for t, kind in symptoms if kind == "overflow"})
        self.assertEqual(report["overrides"], [])

    def test_underflow(self):
        small = str(self.folder / "small.npz")
        np.savez(small, x=self.x * 1e-9)
        _, symptoms = self.found(samples=small)
        self.assertIn(("x", "underflow"), symptoms)

    def test_outliers_of_activations(self):
        wild = str(self.folder / "wild.npz")
        x = np.tile(self.x, (100, 1))
        x[7, 3] = 1000
        np.savez(wild, x=x)
        report, symptoms = self.found("--precision", "int8", samples=wild)
        self.assertIn(("x", "outliers"), symptoms)
        self.assertIn("first", report["overrides"])

    def test_what_is_proposed_can_be_applied(self):
        engine = self.folder / "healed.wtz"
        run = self.run_doctor("--apply", "-o", engine)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("--precision-of 'square=bf16'", run.stdout)
        self.assertTrue(engine.exists())
        model = self.folder / "healed.onnx"
        run = self.run_doctor("--precision", "int8", "--apply", "-o", model)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("QuantizeLinear", {n.op_type for n in onnx.load(model).graph.node})

    def test_wrong_calls_are_named(self):
        run = self.run_doctor("--precision", "fp64")
        self.assertEqual(run.returncode, 2)
        self.assertIn("fp16, bf16 or int8", run.stderr)
        bad = str(self.folder / "bad.npz")
        np.savez(bad, x=np.full((2, 16), np.inf, np.float32))
        run = self.run_doctor(samples=bad)
        self.assertEqual(run.returncode, 2)
        self.assertIn("found an infinity", run.stderr)


if __name__ == "__main__":
    unittest.main()
