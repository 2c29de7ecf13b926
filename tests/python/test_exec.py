# SPDX-License-Identifier: Apache-2.0
"""`wootz exec`: every flag of trtexec that it knows is tried, and does what its fate says."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = "x:1x3x6x6"


def small_model(path):
    weights = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"], name="relu")]
    info = lambda name, channels: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", channels, "h", "w"])
    graph = helper.make_graph(nodes, "small", [info("x", 3)], [info("y", 4)], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


class ExecTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.command = os.environ.get("WOOTZ_CLI")
        if not cls.command:
            raise unittest.SkipTest("WOOTZ_CLI names no program")
        cls.command = os.path.abspath(cls.command)
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = cls.holder.name
        small_model(os.path.join(cls.folder, "small.onnx"))
        made = cls.run_words(cls, "--onnx=small.onnx", f"--shapes={SHAPE}", "--saveEngine=small.wtz", "--skipInference", "--noBuilderCache")
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def run_words(self, *words):
        return subprocess.run([self.command, "exec", *words], capture_output=True, text=True, cwd=self.folder)

    def quick(self, *words, engine=True):
        """On the saved engine (or the model): three inferences, no waiting."""
        which = ["--loadEngine=small.wtz"] if engine else ["--onnx=small.onnx", f"--shapes={SHAPE}", "--noBuilderCache"]
        given = {w.split("=")[0] for w in words}
        defaults = [w for w in ("--duration=0", "--iterations=3", "--warmUp=0") if w.split("=")[0] not in given]
        return self.run_words(*which, *defaults, *words)

    def good(self, *words, engine=True):
        done = self.quick(*words, engine=engine)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def bad(self, *words, part, code=2, engine=True):
        done = self.quick(*words, engine=engine)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        self.assertIn(part, done.stderr)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return json.load(file)

    def flags(self):
        text = self.run_words("--help").stdout
        found = re.findall(r"^ +--(\w+)( TEXT)?\s+((?:.|\n(?= {20,}))*)", text, re.M)
        return {name: (bool(value), " ".join(words.split())) for name, value, words in found if name != "help"}

    def test_refused_flags_name_what_to_use(self):
        for name, (takes_value, text) in self.flags().items():
            if text.startswith("refused:"):
                with self.subTest(flag=name):
                    self.bad(f"--{name}=1" if takes_value else f"--{name}", part=f"--{name}: not done here")

    def test_noted_flags_change_nothing(self):
        for name, (takes_value, text) in self.flags().items():
            if text.startswith("accepted:"):
                with self.subTest(flag=name):
                    self.assertIn(f"Note: --{name}:", self.good(f"--{name}=1" if takes_value else f"--{name}"))

    def test_every_other_flag_has_a_test_below(self):
        done = {n for n, (_, text) in self.flags().items() if not text.startswith(("refused:", "accepted:"))}
        with open(__file__) as file:
            below = file.read().split("# flags", 1)[1]
        self.assertEqual([n for n in sorted(done) if not re.search(rf"\b{n}\b", below)], [])
        self.assertGreaterEqual(len(done), 60)

    # flags

    def test_model_and_engine(self):
        for words, part in (([], "found neither"), (["--onnx=a.onnx", "--loadEngine=b.wtz"], "found both"), (["--onyx=a"], "onyx")):
            done = self.run_words(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)
        self.assertRegex(self.run_words("--loadEngine=small.wtz", "--getPlanVersionOnly").stdout, r"\d+\.\d+\.\d+")
        self.assertEqual(self.run_words("--loadEngine=small.wtz", "--timeDeserialize").stdout.count("Engine deserialized"), 10)
        self.assertNotIn("Throughput", self.good("--buildOnly", engine=False))
        self.assertNotIn("Throughput", self.good("--skipInference", "--saveEngine=again.wtz", engine=False))
        self.assertIn("Throughput", self.run_words("--loadEngine=again.wtz", "--duration=0").stdout)

    def test_shapes(self):
        text = self.good("--minShapes=x:1x3x2x2", "--optShapes=x:1x3x8x8", "--maxShapes=x:2x3x16x16", "--dumpOptimizationProfile", engine=False)
        self.assertIn("Ran once at --minShapes", text)
        self.assertIn("Ran once at --maxShapes", text)
        self.assertIn("8", text.split("Tuned shapes")[1])
        self.bad("--shapes=x:1x4x6x6", part="x")
        for flag in ("profile", "useProfile"):
            self.good(f"--{flag}=0")
            self.bad(f"--{flag}=1", part="expected 0, found '1'")

    def test_formats_and_memory(self):
        for flag in ("inputIOFormats", "outputIOFormats"):
            self.good(f"--{flag}=fp32:chw")
            self.bad(f"--{flag}=fp16:hwc8", part="row-major")
        self.good("--memPoolSize=workspace:64")
        self.bad("--memPoolSize=workspace:0", part="MiB", code=6)
        self.bad("--memPoolSize=dlaSRAM:1", part="expected workspace")

    def test_flags_with_one_meaning(self):
        for flag, good, wrong in (("sparsity", "disable", "enable"), ("hardwareCompatibilityLevel", "none", "ampere+"), ("maxAuxStreams", "0", "2"),
                                  ("runtimePlatform", "sameAsBuild", "WindowsAMD64"), ("allocationStrategy", "static", "runtime")):
            self.good(f"--{flag}={good}")
            self.bad(f"--{flag}={wrong}", part=f"--{flag}: expected {good}")

    def test_build_effort_and_caches(self):
        self.assertIn("Throughput", self.good("--builderOptimizationLevel=0", engine=False))
        self.bad("--builderOptimizationLevel=9", part="0 to 5", engine=False)
        done = self.run_words("--onnx=small.onnx", f"--shapes={SHAPE}", "--timingCacheFile=times.txt", "--skipInference")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.getsize(os.path.join(self.folder, "times.txt")))
        self.assertIn("Throughput", self.good("--noBuilderCache", engine=False))

    def test_precision(self):
        self.assertIn("float16 in", self.good("--fp16", engine=False))
        self.assertIn("float16 in", self.good("--best", engine=False))
        self.assertIn("bfloat16 in", self.good("--bf16", engine=False))
        kept = self.good("--fp16", "--precisionConstraints=obey", "--layerPrecisions=*:fp32", engine=False)
        self.assertNotIn("float16 in", kept)
        self.bad("--layerPrecisions=conv", part="expected name:fp32", engine=False)
        self.bad("--precisionConstraints=maybe", part="expected none", engine=False)

    def test_inputs_and_expected_outputs(self):
        x = np.random.default_rng(2).normal(size=(1, 3, 6, 6)).astype(np.float32)
        x.tofile(os.path.join(self.folder, "x.raw"))
        self.good("--loadInputs=x:x.raw", "--exportOutput=out.json")
        found = self.read("out.json")[0]
        self.assertEqual((found["name"], found["dimensions"], len(found["values"])), ("y", "1x4x6x6", 144))
        y = np.array(found["values"], np.float32)
        np.savez(os.path.join(self.folder, "y.npz"), y=y.reshape(1, 4, 6, 6))
        for loss in ("l0", "l1", "l2", "lInf", "cos"):
            text = self.good("--loadInputs=x:x.raw", "--loadRefOutputs=y.npz", f"--accuracyAlgorithm={loss}", "--atol=1e-6", "--rtol=1e-6")
            self.assertIn("PASSED", text)
        (y + 1).tofile(os.path.join(self.folder, "y.raw"))
        self.assertEqual(self.quick("--loadInputs=x:x.raw", "--loadRefOutputs=y:y.raw").returncode, 4)
        self.good("--loadInputs=x:x.raw", "--loadRefOutputs=y:y.raw", "--accuracyThreshold=1.5")
        self.bad("--loadInputs=x:out.json", part="expected 432 bytes")
        self.bad("--loadInputs=z:x.raw", part="expected one of x")
        self.bad("--accuracyAlgorithm=l7", part="expected l0")

    def test_measuring(self):
        text = self.good("--iterations=20", "--avgRuns=5", "--percentile=50,99.9", "--infStreams=2", "--idleTime=1", "--sleepTime=5")
        self.assertIn("percentile(99.9%)", text)
        self.assertGreaterEqual(text.count("Average on 5 runs"), 8)
        self.good("--streams=2")
        self.assertGreater(float(re.search(r"Walltime: ([\d.]+)", self.good("--duration=0.3", "--warmUp=50")).group(1)), 0.29)
        self.good("--noDataTransfers", "--device=cpu")
        self.bad("--percentile=101", part="0 to 100")
        self.bad("--device=99", part="cuda", code=7, engine=False)
        self.bad("--duration=soon", part="number")

    def test_reports(self):
        text = self.good("--dumpProfile", "--exportProfile=profile.json", "--dumpLayerInfo", "--exportLayerInfo=layers.json",
                         "--profilingVerbosity=detailed", "--exportTimes=times.json", "--dumpOutput", "--dumpRawBindingsToFile", "--verbose")
        self.assertIn("=== Profile", text)
        profile = self.read("profile.json")
        self.assertEqual(profile[0], {"count": 20})
        self.assertEqual(set(profile[1]), {"name", "timeMs", "averageMs", "medianMs", "percentage"})
        layers = self.read("layers.json")
        self.assertEqual(layers["Bindings"], ["x", "y"])
        self.assertTrue(any("conv" in layer["Metadata"] for layer in layers["Layers"]))
        times = self.read("times.json")
        self.assertEqual(len(times), 3)
        self.assertAlmostEqual(times[0]["endComputeMs"] - times[0]["startComputeMs"], times[0]["latencyMs"], places=6)
        self.assertEqual(os.path.getsize(os.path.join(self.folder, "y.output.1x4x6x6.float32.raw")), 576)
        self.bad("--profilingVerbosity=loud", part="expected layer_names_only")

    def test_exports_are_read_as_trtexecs(self):
        """By the fields that scripts for trtexec's exports read: a table of layers, one of inferences, bytes of each layer."""
        self.good("--exportProfile=profile.json", "--exportLayerInfo=layers.json", "--profilingVerbosity=detailed", "--exportTimes=times.json")
        count, *rows = self.read("profile.json")
        self.assertGreater(count["count"], 0)
        self.assertAlmostEqual(sum(row["percentage"] for row in rows), 100, places=3)
        for row in rows:
            self.assertAlmostEqual(row["averageMs"] * count["count"], row["timeMs"], places=6)
        stamps = ["startInMs", "endInMs", "startComputeMs", "endComputeMs", "startOutMs", "endOutMs"]
        spans = ["inMs", "computeMs", "outMs", "latencyMs", "endToEndMs", "h2dMs", "d2hMs"]
        for row in self.read("times.json"):
            self.assertEqual([row[s] for s in stamps], sorted(row[s] for s in stamps))
            self.assertTrue(all(row[s] >= 0 for s in spans))
        sizes = {"FP32": 4, "FP16": 2, "Int8": 1, "UInt8": 1, "Int32": 4, "Int64": 8, "BOOL": 1}
        layers = self.read("layers.json")
        names = [row["name"] for row in rows]
        for layer in layers["Layers"]:
            self.assertIn(layer["Name"], names)
            self.assertTrue(layer["LayerType"] and layer["TacticName"])
            self.assertTrue(layer["Metadata"] == "" or layer["Metadata"].startswith("[ONNX Layer: "))
            for tensor in layer["Inputs"] + layer["Outputs"]:
                kinds = [kind for kind in sizes if kind in tensor["Format/Datatype"].split()]
                self.assertEqual(len(kinds), 1, tensor)
                self.assertGreater(int(np.prod(tensor["Dimensions"])) * sizes[kinds[0]], 0)

    def test_debug_tensors(self):
        self.good("--markDebug=c", "--saveDebugTensors=c:numpy", engine=False)
        self.assertEqual(np.load(os.path.join(self.folder, "debug_tensors.npz"))["c"].shape, (1, 4, 6, 6))
        self.good("--markDebug=c", "--saveAllDebugTensors=numpy", engine=False)
        self.bad("--saveAllDebugTensors=raw", "--markDebug=c", part="numpy", engine=False)
        self.bad("--saveAllDebugTensors=numpy", part="--markDebug", engine=False)


if __name__ == "__main__":
    unittest.main()
