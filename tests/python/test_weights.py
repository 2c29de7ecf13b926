# SPDX-License-Identifier: Apache-2.0
"""`wootz quantize --weights` and `wootz prune`: the written files mean the same to ONNX Runtime, products run in the kernels for such
weights, and the report tells what was lost."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import wootz

COMMAND = os.environ["WOOTZ_CLI"]
RANDOM = np.random.default_rng(8)


def model_of(path, rows="n"):
    """MatMul 192 -> 160 with bias and Relu, Gemm 160 -> 128 with transposed weights; inputs of very different size by channel."""
    weights = {"w": RANDOM.normal(size=(192, 160)) / 12, "b": RANDOM.normal(size=160) / 8, "v": RANDOM.normal(size=(128, 160)) / 12,
               "c": RANDOM.normal(size=128) / 8}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "first"), helper.make_node("Add", ["m", "b"], ["a"]),
             helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Gemm", ["r", "v", "c"], ["y"], "second", transB=1)]
    tensors = [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 192])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 128])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def peer(path, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]


def tactics(engine):
    return {s["tactic"] for s in engine.explain()["steps"]}


class Weights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.model = str(cls.folder / "m.onnx")
        model_of(cls.model)
        scale = RANDOM.permutation(np.geomspace(0.05, 5, 192)).astype(np.float32)
        cls.samples = [{"x": (RANDOM.normal(size=(4, 192)) * scale).astype(np.float32)} for _ in range(12)]
        cls.x = cls.samples[0]
        cls.want = peer(cls.model, cls.x)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def error(self, y):
        return float(np.abs(y - self.want).max() / np.abs(self.want).max())

    def test_weights_alone(self):
        for weights, block, bound in (("int8", 0, 0.02), ("int8", 32, 0.02), ("int4", 0, 0.15), ("int4", 16, 0.15), ("fp8", 0, 0.06)):
            with self.subTest(weights=weights, block=block):
                path = str(self.folder / f"{weights}{block}.onnx")
                report = wootz.quantize(self.model, path, self.samples[:2], weights=weights, block=block)
                self.assertEqual([n["quantized"] for n in report["nodes"]], [True, True])
                self.assertLess(report["outputs"][0]["relative"], bound)
                onnx.checker.check_model(path, full_check=True)
                self.assertLess(os.path.getsize(path), 0.45 * os.path.getsize(self.model))
                theirs = peer(path, self.x)
                self.assertLess(self.error(theirs), bound)
                for rows in (1, 4):
                    engine = wootz.build(path, shapes={"x": (rows, 192)}, timing_cache=None)
                    self.assertIn("cpu.matmul.dequantized", tactics(engine))
                    ours = engine.run({"x": self.x["x"][:rows]})["y"]
                    self.assertLess(np.abs(ours - theirs[:rows]).max(), 2e-5 * np.abs(theirs).max())

    def test_the_command_needs_no_samples(self):
        out = self.folder / "c.onnx"
        run = subprocess.run([COMMAND, "quantize", self.model, "-o", out, "--weights", "int4"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("2 of 2 products in int4 weights", run.stdout)
        for flags, text in ((["--weights", "int3"], "int8, int4 or fp8"), (["--weights", "int4", "--block", "24"], "power of two"),
                            (["--weights", "fp8", "--block", "32"], "output channel"), (["--weights", "int8", "--sums"], "no options of activations"),
                            (["--block", "32", "--dynamic"], "weights")):
            run = subprocess.run([COMMAND, "quantize", self.model, "-o", out, *flags], capture_output=True, text=True)
            self.assertEqual(run.returncode, 2)
            self.assertIn(text, run.stderr)

    def test_nbits_of_the_peer(self):
        """com.microsoft's MatMulNBits, as ONNX Runtime's own tools write it."""
        n, k, block = 96, 256, 32
        q = RANDOM.integers(0, 256, (n, k // block, block // 2)).astype(np.uint8)
        scales = RANDOM.uniform(0.01, 0.02, n * k // block).astype(np.float32)
        node = helper.make_node("MatMulNBits", ["x", "q", "s"], ["y"], domain="com.microsoft", K=k, N=n, bits=4, block_size=block)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, k])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, n])],
                                  [numpy_helper.from_array(q, "q"), numpy_helper.from_array(scales, "s")])
        path = str(self.folder / "nbits.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10), path)
        x = {"x": RANDOM.normal(size=(1, k)).astype(np.float32)}
        engine = wootz.build(path, timing_cache=None)
        self.assertEqual(tactics(engine), {"cpu.matmul.dequantized"})
        theirs, ours = peer(path, x), engine.run(x)["y"]
        self.assertLess(np.abs(ours - theirs).max(), 1e-4 * np.abs(theirs).max())

    def pruned(self, name, **options):
        path = str(self.folder / f"{name}.onnx")
        report = wootz.prune(self.model, path, self.samples, **options)
        onnx.checker.check_model(path, full_check=True)
        return path, report, [numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer]

    def test_two_of_four(self):
        path, report, tensors = self.pruned("two")
        self.assertEqual([round(n["zeros"], 2) for n in report["nodes"]], [0.5, 0.5])
        first, second = (next(t for t in tensors if t.shape == s) for s in ((192, 160), (128, 160)))
        self.assertLessEqual((first.reshape(48, 4, 160) != 0).sum(1).max(), 2)
        self.assertLessEqual((second.reshape(128, 40, 4) != 0).sum(2).max(), 2)
        engine = wootz.build(path, shapes={"x": (1, 192)}, timing_cache=None, tactics=["cpu.matmul.sparse"])
        self.assertEqual({"cpu.matmul.sparse"}, tactics(engine))
        theirs, ours = peer(path, self.x), engine.run({"x": self.x["x"]})["y"]
        self.assertLess(np.abs(ours - theirs).max(), 1e-5 * np.abs(theirs).max())

    def test_the_data_aware_rule_loses_less(self):
        errors = {aware: self.pruned(f"aware{aware}", data_aware=aware)[1]["outputs"][0]["sqnr_db"] for aware in (False, True)}
        self.assertGreater(errors[True], errors[False] + 1)

    def test_magnitude(self):
        _, report, tensors = self.pruned("share", share=0.3)
        self.assertEqual([round(n["zeros"], 3) for n in report["nodes"]], [0.3, 0.3])
        old = numpy_helper.to_array(next(t for t in onnx.load(self.model).graph.initializer if t.name == "w"))
        new = next(t for t in tensors if t.shape == (192, 160))
        self.assertLess(np.abs(old[new == 0]).max(), np.abs(old[new != 0]).min() + 1e-12)
        kept = self.pruned("kept", keep=["first"])[1]
        self.assertEqual([n["pruned"] for n in kept["nodes"]].count(True), 1)

    def test_the_prune_command(self):
        out, samples = self.folder / "p.onnx", self.folder / "s.npz"
        np.savez(samples, x=self.x["x"])
        run = subprocess.run([COMMAND, "prune", self.model, "-o", out, "--2of4", "--data-aware", "--samples", samples, "--json"],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual((report["samples"], [n["pruned"] for n in report["nodes"]]), (1, [True, True]))
        for flags, text in (([], "--2of4, or --share"), (["--share", "1.5"], "less than 1"), (["--2of4", "--data-aware"], "needs --samples"),
                            (["--2of4", "--keep", "nothing"], "found 'nothing'")):
            run = subprocess.run([COMMAND, "prune", self.model, "-o", out, *flags], capture_output=True, text=True)
            self.assertEqual(run.returncode, 2)
            self.assertIn(text, run.stderr)


if __name__ == "__main__":
    unittest.main()
