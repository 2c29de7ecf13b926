# SPDX-License-Identifier: Apache-2.0
"""`--precision mixed` keeps its budget on the samples, is never slower than float32 as measured, and says what it tried; `--precision int8`
is kept where it is faster."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COMMAND = os.environ["WOOTZ_CLI"]


def products_model(path):
    random = np.random.default_rng(1)
    nodes, tensors, name = [], [], "x"
    for i in range(6):
        tensors.append(numpy_helper.from_array((random.normal(size=(64, 64)) / 6).astype(np.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"m{i}"], f"product{i}"), helper.make_node("Relu", [f"m{i}"], [f"r{i}"], f"relu{i}")]
        name = f"r{i}"
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [128, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [128, 64])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Mixed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.model, cls.sample, cls.engine = (str(cls.folder / n) for n in ("m.onnx", "s.npz", "m.wtz"))
        products_model(cls.model)
        np.savez(cls.sample, x=np.random.default_rng(2).normal(size=(128, 64)).astype(np.float32))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def build(self, *flags):
        run = subprocess.run([COMMAND, "build", self.model, "-o", self.engine, "--precision", "mixed", "--samples", self.sample, "--no-tune",
                              "--timing-cache", "", *flags], capture_output=True, text=True, env={**os.environ, "WOOTZ_PYTHON": sys.executable})
        types = self.folder / "m.types.json"
        return run, json.loads(types.read_text()) if types.exists() and run.returncode == 0 else None

    def check(self, types, budget):
        trials = types["trials"]
        chosen = [t for t in trials if t["chosen"]]
        self.assertEqual(len(chosen), 1)
        self.assertLessEqual(chosen[0]["error"], budget)
        self.assertLessEqual(chosen[0]["time_ms"], trials[0]["time_ms"])
        self.assertEqual((trials[0]["precision"], types["precision"]), ("fp32", chosen[0]["precision"]))
        self.assertTrue(any(t["on_front"] for t in trials))
        for t in trials:  # nothing beats a trial of the front in both
            if t["on_front"]:
                self.assertFalse([o for o in trials if o["time_ms"] and o["time_ms"] < t["time_ms"] and o["error"] < t["error"]])
        return trials

    def test_a_wide_budget_takes_whole_networks(self):
        run, types = self.build("--max-error", "0.1")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([t["precision"] for t in self.check(types, 0.1)], ["fp32", "bf16", "fp16", "int8"])
        self.assertIn("chosen", run.stdout)

    def test_a_narrow_budget_tries_parts(self):
        run, types = self.build("--max-error", "3e-3")
        self.assertEqual(run.returncode, 0, run.stderr)
        trials = self.check(types, 3e-3)
        parts = [t for t in trials if "part" in t["what"]]
        self.assertTrue(parts)
        self.assertTrue(all(o.endswith("=fp32") for t in parts for o in t["precision_of"]))

    def test_float32_stays_where_nothing_fits(self):
        run, types = self.build("--max-error", "1e-6")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check(types, 1e-6)
        self.assertEqual(types["precision"], "fp32")

    def test_a_search_goes_on_where_it_ended(self):
        run, first = self.build("--max-error", "3e-3")
        self.assertEqual(run.returncode, 0, run.stderr)
        (self.folder / "m.types.json").write_text(json.dumps({"key": first["key"], "trials": first["trials"][:-2]}))
        run, again = self.build("--max-error", "3e-3", "--resume")
        self.assertEqual(run.returncode, 0, run.stderr)
        known = len(first["trials"]) - 2
        self.assertEqual([t["time_ms"] for t in first["trials"][:known]], [t["time_ms"] for t in again["trials"][:known]])
        self.assertGreater(len(again["trials"]), known)
        self.check(again, 3e-3)
        other = str(self.folder / "other.npz")
        np.savez(other, x=np.ones((128, 64), np.float32))
        run, _ = self.build("--max-error", "3e-3", "--resume", "--samples", other)
        self.assertEqual(run.returncode, 2)
        self.assertIn("found those of others", run.stderr)

    def test_int8_is_among_the_types(self):
        run, types = self.build("--max-error", "0.2")
        self.assertEqual(run.returncode, 0, run.stderr)
        int8 = [t for t in self.check(types, 0.2) if t["precision"] == "int8"]
        self.assertEqual(len(int8[0]["nodes"]), 6)
        self.assertGreater(int8[0]["error"], 1e-3)

    def test_a_script_judges(self):
        script = self.folder / "metric.py"
        script.write_text("import sys, numpy as np\na, b = (np.load(p)['y'] for p in sys.argv[1:])\nprint('loss', float(np.abs(a - b).mean()))\n")
        run, types = self.build("--metric", str(script), "--budget", "0.5")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check(types, 0.5)
        script.write_text("print('no number')\n")
        run, _ = self.build("--metric", str(script), "--budget", "0.5")
        self.assertEqual(run.returncode, 2)
        self.assertIn("print a number", run.stderr)

    def test_wrong_calls_are_named(self):
        run = subprocess.run([COMMAND, "build", self.model, "-o", self.engine, "--precision", "mixed"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("at least one sample", run.stderr)
        self.assertEqual(self.build("--max-error", "0")[0].returncode, 2)

    def int8(self, *flags):
        return subprocess.run([COMMAND, "build", self.model, "-o", self.engine, "--precision", "int8", "--timing-cache", "", *flags],
                              capture_output=True, text=True)

    def test_int8_is_timed_beside_float32(self):
        run = self.int8("--samples", self.sample)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"(int8|fp32): int8 took [0-9.]+ ms, fp32 [0-9.]+ ms")
        explained = subprocess.run([COMMAND, "explain", self.engine], capture_output=True, text=True).stdout
        self.assertEqual("MatMulInteger" in explained, run.stdout.startswith("int8"))

    def test_untimed_int8_stays_int8_and_is_near_float32(self):
        run = self.int8("--samples", self.sample, "--no-tune")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("nothing was timed", run.stdout)
        found, plain = str(self.folder / "found.npz"), str(self.folder / "plain.npz")
        for model, to in ((self.engine, found), (self.model, plain)):
            subprocess.run([COMMAND, "run", model, "--inputs", self.sample, "--outputs", to], check=True, capture_output=True)
        ours, theirs = np.load(found)["y"], np.load(plain)["y"]
        self.assertGreater(np.abs(ours - theirs).max(), 0)
        self.assertLess(np.abs(ours - theirs).max(), 0.1 * np.abs(theirs).max())

    def test_nodes_can_be_left_out_of_int8(self):
        run = self.int8("--samples", self.sample, "--no-tune", "--precision-of", "product0=fp32", "--precision-of", "product5=fp32")
        self.assertEqual(run.returncode, 0, run.stderr)
        explained = subprocess.run([COMMAND, "explain", self.engine, "--json"], capture_output=True, text=True).stdout
        regions = [s["region"] for s in json.loads(explained)["steps"]]
        self.assertEqual(sum("MatMulInteger" in r for r in regions), 4)
        self.assertIn("PATTERN=fp32", self.int8("--samples", self.sample, "--precision-of", "product0=bf16").stderr)

    def test_int8_needs_samples(self):
        run = self.int8()
        self.assertEqual(run.returncode, 2)
        self.assertIn("--samples", run.stderr)


if __name__ == "__main__":
    unittest.main()
