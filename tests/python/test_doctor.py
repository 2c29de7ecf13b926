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


def far_model(path):
    """x -> product -> sum -> relu -> (beyond float16) -> product -> tanh of (beyond float16) -> product."""
    random = np.random.default_rng(4)
    weights = {"w": random.normal(size=(16, 16)) * 3e4, "b": random.normal(size=16) * 1e4, "v": random.normal(size=(16, 8)) * 1e-1, "u": random.normal(size=(8, 8))}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "first"), helper.make_node("Add", ["a", "b"], ["s"], "sum"),
             helper.make_node("Relu", ["s"], ["r"], "relu"), helper.make_node("MatMul", ["r", "v"], ["d"], "second"),
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

    def run_doctor(self, *flags, samples=None, model=None):
        return subprocess.run([COMMAND, "doctor", str(model or self.model), "--samples", samples or self.samples, *map(str, flags)],
                              capture_output=True, text=True)

    def found(self, *flags, samples=None, model=None):
        run = self.run_doctor("--json", *flags, samples=samples, model=model)
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

    def outputs(self, model, name):
        out, given = str(self.folder / f"{name}.out.npz"), str(self.folder / "few.npz")
        np.savez(given, x=self.x[:4])
        run = subprocess.run([COMMAND, "run", str(model), "--inputs", given, "--outputs", out], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        with np.load(out) as found:
            return found["y"]

    def test_scale_and_clip_instead_of_wider_types(self):
        model = self.folder / "far.onnx"
        far_model(model)
        report, symptoms = self.found(model=model)
        self.assertLessEqual({("a", "overflow"), ("r", "overflow"), ("d", "overflow")}, symptoms)
        self.assertEqual(report["overrides"], [])
        mendings = {m["kind"]: m for m in report["mendings"]}
        self.assertEqual(len(report["mendings"]), 2)
        self.assertEqual(mendings["scale"]["tensor"], "a")
        self.assertEqual(set(mendings["scale"]["nodes"]), {"first", "sum", "second"})
        self.assertEqual(np.frexp(mendings["scale"]["factor"])[0], 0.5)
        self.assertEqual((mendings["clip"]["tensor"], mendings["clip"]["nodes"]), ("d", ["flat"]))

        engine = self.folder / "far.wtz"
        run = self.run_doctor("--apply", "-o", engine, model=model)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("mend: scale a by", run.stdout)
        mended = self.folder / "far.mended.onnx"
        self.assertIn("Clip", {n.op_type for n in onnx.load(mended).graph.node})
        plain = self.outputs(model, "plain")
        np.testing.assert_allclose(self.outputs(mended, "mended"), plain, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(self.outputs(engine, "engine"), plain, atol=2e-2)
        left, _ = self.found(model=mended)
        self.assertEqual([m for m in left["mendings"] if m["kind"] == "scale"], [])

    def test_clip_of_few_outliers(self):
        wild = str(self.folder / "few.npz")
        x = np.tile(self.x, (4000, 1)) * 0.01
        x[:, 0] += np.where(np.arange(len(x)) % 2, 1, -1)
        x[7, 3] = 30
        np.savez(wild, x=x)
        report, symptoms = self.found("--precision", "int8", samples=wild)
        self.assertIn(("x", "outliers"), symptoms)
        self.assertNotIn("first", report["overrides"])
        clip = next(m for m in report["mendings"] if m["tensor"] == "x")
        self.assertEqual((clip["kind"], clip["nodes"]), ("clip", ["first"]))
        self.assertLess(clip["high"], 2)
        model = self.folder / "clipped.onnx"
        run = self.run_doctor("--precision", "int8", "--apply", "-o", model, samples=wild)
        self.assertEqual(run.returncode, 0, run.stderr)
        scales = {t.name: numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer}
        self.assertTrue(any("x_clipped" in name and "scale" in name and value.max() < 0.02 for name, value in scales.items()), list(scales))

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
