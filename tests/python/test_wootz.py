# SPDX-License-Identifier: Apache-2.0
"""The Python interface that others script against."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import wootz


def small_model(path, opset=17):
    """y = relu(conv(x)) summed with its mean; k = argmax over channels."""
    random = np.random.default_rng(1)
    weights = random.normal(size=(4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["m"], axes=[2, 3]),
        helper.make_node("Add", ["r", "m"], ["y"]),
        helper.make_node("ArgMax", ["y"], ["k"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes, "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None), helper.make_tensor_value_info("k", TensorProto.INT64, None)],
        [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return weights


def expected(x, weights):
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    h, w = x.shape[2:]
    conv = sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + h, j:j + w], weights[:, :, i, j]) for i in range(3) for j in range(3))
    relu = np.maximum(conv, 0)
    return relu + relu.mean(axis=(2, 3), keepdims=True)


class WootzTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "small.onnx")
        cls.weights = small_model(cls.path)
        cls.engine = wootz.build(cls.path, shapes={"x": (1, 3, 8, 8)}, timing_cache=None)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def x(self, *dims):
        return np.random.default_rng(2).normal(size=dims).astype(np.float32)

    def check(self, engine, x):
        results = engine.run({"x": x})
        want = expected(x, self.weights)
        np.testing.assert_allclose(results["y"], want, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(results["k"], results["y"].argmax(axis=1))
        self.assertEqual(results["k"].dtype, np.int64)

    def test_runs_at_any_shape(self):
        for dims in [(1, 3, 8, 8), (2, 3, 5, 9), (1, 3, 1, 1)]:
            self.check(self.engine, self.x(*dims))

    def test_takes_arrays_that_are_not_contiguous(self):
        x = self.x(1, 8, 8, 3).transpose(0, 3, 1, 2)
        self.check(self.engine, x)

    def test_describes_inputs_and_outputs(self):
        self.assertEqual(self.engine.inputs, [("x", "float32", ("n", 3, "h", "w"))])
        self.assertEqual([o.name for o in self.engine.outputs], ["y", "k"])
        self.assertEqual(self.engine.output_shapes({"x": (2, 3, 6, 7)}), {"y": (2, 4, 6, 7), "k": (2, 6, 7)})

    def test_saves_and_loads(self):
        path = os.path.join(self.folder.name, "small.wtz")
        self.engine.save(path)
        loaded = wootz.load(path)
        self.check(loaded, self.x(1, 3, 8, 8))
        self.assertEqual(loaded.explain()["steps"], self.engine.explain()["steps"])

    def test_builds_from_bytes(self):
        with open(self.path, "rb") as file:
            engine = wootz.build(file.read(), shapes={"x": (1, 3, 8, 8)}, tune=False, timing_cache=None)
        self.check(engine, self.x(1, 3, 8, 8))

    def test_writes_into_given_arrays(self):
        x, out = self.x(1, 3, 8, 8), np.empty((1, 4, 8, 8), np.float32)
        self.engine.run({"x": x}, out={"y": out})
        np.testing.assert_allclose(out, expected(x, self.weights), rtol=1e-4, atol=1e-4)

    def test_verifies(self):
        x = self.x(1, 3, 8, 8)
        rows = self.engine.verify([{"inputs": {"x": x}, "outputs": {"y": expected(x, self.weights).astype(np.float32)}}])
        self.assertTrue(rows[0]["passed"])
        rows = self.engine.verify([{"inputs": {"x": x}, "outputs": {"y": expected(x, self.weights).astype(np.float32) + 1}}])
        self.assertFalse(rows[0]["passed"])
        self.assertTrue(all(row["relative"] <= row["bound"] for row in self.engine.verify()))

    def test_shadow_checks_count(self):
        engine = wootz.build(self.path, shapes={"x": (1, 3, 8, 8)}, tune=False, timing_cache=None)
        engine.shadow(0.5)
        for _ in range(4):
            engine.run({"x": self.x(1, 3, 8, 8)})
        counts = engine.shadow_counts()
        self.assertEqual((counts["runs"], counts["failures"], counts["last_failure"]), (2, 0, ""))
        self.assertGreater(counts["regions"], 0)
        with self.assertRaises(wootz.Error):
            engine.shadow(2)

    def test_reference_agrees(self):
        x = self.x(2, 3, 4, 4)
        np.testing.assert_allclose(wootz.run_reference(self.path, {"x": x})["y"], expected(x, self.weights), rtol=1e-5, atol=1e-5)

    def test_runs_from_many_threads(self):
        failures = []

        def work(seed):
            try:
                for _ in range(20):
                    self.check(self.engine, self.x(1, 3, 8 + seed, 8))
            except Exception as error:  # noqa: BLE001  any failure fails the test
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def assert_error(self, kind, part, call):
        with self.assertRaises(wootz.Error) as caught:
            call()
        self.assertEqual(caught.exception.kind, kind)
        self.assertIn(part, str(caught.exception))

    def test_errors_have_a_kind_and_say_what_was_expected(self):
        x = self.x(1, 3, 8, 8)
        self.assert_error("invalid argument", "dimension 1: expected 3, found 4", lambda: self.engine.run({"x": self.x(1, 4, 8, 8)}))
        self.assert_error("invalid argument", "expected inputs 'x', found 'z'", lambda: self.engine.run({"z": x}))
        self.assert_error("invalid argument", "expected input 'x'", lambda: self.engine.run({}))
        self.assert_error("invalid argument", "expected float32, found float64", lambda: self.engine.run({"x": x.astype(np.float64)}))
        self.assert_error("file error", "missing.onnx", lambda: wootz.build("missing.onnx"))
        self.assert_error("invalid argument", "found 'presicion'", lambda: wootz.build(self.path, presicion="fp16"))
        self.assert_error("invalid engine", "not a Wootz engine", lambda: wootz.load(self.path))

    def test_progress_can_cancel(self):
        seen = []

        def progress(stage, detail, fraction):
            seen.append(fraction)
            return stage != "race"

        self.assert_error("cancelled", "cancelled", lambda: wootz.build(self.path, progress=progress, timing_cache=None))
        self.assertEqual(seen, sorted(seen))

    def compare(self, *words):
        command = os.environ.get("WOOTZ_CLI")
        if not command:
            self.skipTest("WOOTZ_CLI names no program")
        flags = ["--json", "--no-tune", "--no-verify", "--timing-cache", ""]
        done = subprocess.run([command, "compare", *words, *flags], capture_output=True, text=True,
                              env={**os.environ, "WOOTZ_PYTHON": sys.executable})
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    def test_compares_inner_tensors_of_two_runtimes(self):
        code, found = self.compare(self.path, "onnxruntime:" + self.path, "--all")
        self.assertEqual(code, 0, found)
        self.assertGreater(len(found["tensors"]), 1)
        self.assertIsNone(found["first_divergence"])
        self.assertGreater(min(t["sqnr_db"] for t in found["tensors"] if t["sqnr_db"] is not None), 100)

    def test_compare_names_the_first_tensor_that_differs(self):
        model = onnx.load(self.path)
        weight = onnx.numpy_helper.to_array(model.graph.initializer[0]).copy()
        weight.flat[0] += 1
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, model.graph.initializer[0].name))
        other = os.path.join(self.folder.name, "other.onnx")
        onnx.save(model, other)
        code, found = self.compare("reference:" + self.path, "reference:" + other, "--all")
        self.assertEqual(code, 4)
        self.assertEqual(found["first_divergence"], model.graph.node[0].output[0])

    def test_compare_says_what_a_peer_said(self):
        code, said = self.compare(self.path, "onnxruntime:nothing.onnx")
        self.assertEqual(code, 3)
        self.assertIn("onnxruntime did not run 'nothing.onnx'", said)

    def test_diff_of_engines(self):
        command = os.environ.get("WOOTZ_CLI")
        if not command:
            self.skipTest("WOOTZ_CLI names no program")
        flags = ["--no-tune", "--no-verify", "--timing-cache", ""]
        paths = [os.path.join(self.folder.name, n) for n in ("a.wtz", "b.wtz")]
        subprocess.run([command, "build", self.path, "-o", paths[0], *flags], check=True, capture_output=True)
        subprocess.run([command, "build", self.path, "-o", paths[1], *flags, "--disable-pass", "fuse"], check=True, capture_output=True)
        diff = lambda *p: json.loads(subprocess.run([command, "diff", *p, "--json"], check=True, capture_output=True).stdout)
        self.assertEqual(diff(paths[0], paths[0])["regions"], [])
        regions = diff(*paths)["regions"]
        self.assertTrue(any(r["a"] is None for r in regions) and any(r["b"] is None for r in regions))

    def test_command_line(self):
        command = os.environ.get("WOOTZ_CLI")
        if not command:
            self.skipTest("WOOTZ_CLI names no program")
        inputs, outputs = os.path.join(self.folder.name, "in.npz"), os.path.join(self.folder.name, "out.npz")
        x = self.x(1, 3, 6, 6)
        np.savez(inputs, x=x)
        subprocess.run([command, "run", self.path, "--inputs", inputs, "--outputs", outputs, "--timing-cache", ""], check=True, capture_output=True)
        np.testing.assert_allclose(np.load(outputs)["y"], expected(x, self.weights), rtol=1e-4, atol=1e-4)
        expect = os.path.join(self.folder.name, "expect.npz")
        np.savez(expect, x=x, y=expected(x, self.weights).astype(np.float32))
        flags = ["--expect", expect, "--json", "--no-tune", "--timing-cache", ""]
        good = subprocess.run([command, "verify", self.path, *flags], capture_output=True, text=True)
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertTrue(json.loads(good.stdout)["outputs"][0]["passed"])
        np.savez(expect, x=x, y=expected(x, self.weights).astype(np.float32) * 1.01)
        self.assertEqual(subprocess.run([command, "verify", self.path, *flags], capture_output=True).returncode, 4)
        bad = subprocess.run([command, "build", "missing.onnx"], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 5)
        self.assertIn("missing.onnx", bad.stderr)
        self.assertEqual(subprocess.run([command, "fly"], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
