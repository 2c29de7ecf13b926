# SPDX-License-Identifier: Apache-2.0
"""What the command line answers to wrong input: the exit code of docs/cli.md, and a message that says what, where, expected
against found. Nothing may be left half written."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COMMAND = os.environ["WOOTZ_CLI"]
DONE, WRONG_CALL, WRONG_MODEL, OUT_OF_BOUND, NO_FILE, NO_MEMORY, CANCELLED = 0, 2, 3, 4, 5, 6, 130


def conv_model(path, layers=1, width=4):
    """y = relu(conv(x)), repeated; x: float32[n,3,h,w]."""
    random = np.random.default_rng(1)
    nodes, weights, name, channels = [], [], "x", 3
    for i in range(layers):
        weight = random.normal(size=(width, channels, 3, 3)) * (2 / (9 * channels)) ** 0.5  # values keep their scale
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", [name, f"w{i}"], [f"c{i}"], name=f"conv{i}", pads=[1, 1, 1, 1]))
        name, channels = "y" if i == layers - 1 else f"r{i}", width
        nodes.append(helper.make_node("Relu", [f"c{i}"], [name]))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def one_node_model(path, op, inputs, output, initializers=(), **attributes):
    """y = op(inputs..., initializers...); inputs: name -> (type, dims)."""
    graph = helper.make_graph(
        [helper.make_node(op, [*inputs, *(i.name for i in initializers)], ["y"], name="the_node", **attributes)], "g",
        [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()], [output], list(initializers))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        cls.model, cls.engine = cls.path("m.onnx"), cls.path("m.wtz")
        conv_model(cls.model)
        cls.save("good.npz", x=np.ones((1, 3, 8, 8), np.float32))
        run = subprocess.run([COMMAND, "build", cls.model, "-o", cls.engine, "--shapes", "x:1x3x8x8", "--timing-cache", ""],
                             capture_output=True, text=True)
        assert run.returncode == DONE, run.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def save(cls, name, **arrays):
        np.savez(cls.path(name), **arrays)
        return cls.path(name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def check(self, code, part, *arguments, **options):
        """Runs, and expects the exit code and a part of what is printed on the error stream."""
        before = set(os.listdir(self.folder))
        run = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=120, **options)
        self.assertEqual(run.returncode, code, f"{arguments}: {run.stdout}{run.stderr}")
        self.assertIn(part, run.stderr, arguments)
        self.assertNotIn("internal error", run.stderr)
        if code != DONE:
            self.assertEqual(set(os.listdir(self.folder)), before, f"{arguments} left files behind")
        return run

    def test_the_command_itself(self):
        self.check(WRONG_CALL, "Usage: wootz")
        self.check(WRONG_CALL, "expected a command (", "fly")
        self.check(WRONG_CALL, "model is required", "build")
        self.check(WRONG_CALL, "--nonsense", "build", self.model, "--nonsense")
        for flag, value in [("--threads", "-1"), ("--threads", "many"), ("--max-patches", "-2"), ("--shapes", "x:1x-3x8x8"),
                            ("--shapes", "1x3x8x8"), ("--shapes", "x:1x3xx8")]:
            self.check(WRONG_CALL, flag, "build", self.model, flag, value)
        for flag, value in [("--duration", "nan"), ("--duration", "-1"), ("--iterations", "0")]:
            self.check(WRONG_CALL, flag, "bench", self.engine, flag, value)
        self.check(WRONG_CALL, "--tolerance", "verify", self.engine, "--tolerance", "nan")

    def test_help_fits_a_terminal(self):
        for command in ["", "build", "run", "bench", "inspect", "explain", "verify", "compare", "diff", "check", "tune", "exec"]:
            run = subprocess.run([COMMAND, *command.split(), "--help"], capture_output=True, text=True)
            self.assertEqual(run.returncode, DONE)
            self.assertEqual([line for line in run.stdout.splitlines() if len(line) > 80], [], command)

    def test_flags_that_an_engine_cannot_follow(self):
        for flag in [["--precision", "fp16"], ["--shapes", "x:1x3x8x8"], ["--no-verify"], ["--disable-pass", "fuse"],
                     ["--max-patches", "3"], ["--samples", "good.npz"], ["--no-vendor"], ["--dump", "d"]]:
            self.check(WRONG_CALL, flag[0] + ": the engine", "run", self.engine, "--inputs", "good.npz", *flag)
            self.check(WRONG_CALL, flag[0] + ": the engine", "diff", self.engine, self.engine, *flag)
        self.check(WRONG_CALL, "found 'q'", "bench", self.engine, "--shapes", "q:1x3x8x8")
        self.check(WRONG_CALL, "an engine's is fixed", "tune", self.engine, "--precision", "fp16")
        run = self.check(DONE, "", "build", self.model, "-o", "p.wtz", "--no-tune", "--disable-pass", "fold_everything")
        self.assertIn("--disable-pass fold_everything: no pass has that name", run.stdout)

    def test_models_that_are_none(self):
        self.check(NO_FILE, "missing.onnx: No such file", "build", "missing.onnx")
        self.check(NO_FILE, "found a folder", "build", self.folder)
        for name, content, hint in [
                ("empty.onnx", b"", "is this the right file?"),
                ("page.onnx", b"<!DOCTYPE html><html></html>", "looks like a web page"),
                ("lfs.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"),
                ("zip.onnx", b"PK\x03\x04" + bytes(40), "zip archive"),
                ("cut.onnx", pathlib.Path(self.model).read_bytes()[:300], "cut short")]:
            self.check(WRONG_MODEL, hint, "build", self.write(name, content))
        self.check(WRONG_MODEL, "not a Wootz engine", "run", self.write("foreign.wtz", bytes(100)), "--inputs", "good.npz")
        self.check(WRONG_CALL, "expected an ONNX model", "build", self.engine)
        self.check(WRONG_CALL, "expected an engine", "tune", self.model)

    def test_shapes_that_do_not_fit(self):
        self.check(WRONG_CALL, "expected rank 4 float32[n,3,h,w], found [1,3]", "build", self.model, "--shapes", "x:1x3")
        self.check(WRONG_CALL, "'x' dimension 1: expected 3, found 4", "build", self.model, "--shapes", "x:1x4x8x8")
        self.check(WRONG_CALL, "expected one of the inputs 'x', found 'q'", "build", self.model, "--shapes", "q:1x3x8x8")
        self.check(WRONG_CALL, "found 'nothing'", "build", self.model, "--mark", "nothing")

        self.check(WRONG_CALL, "does not take these shapes", "build", self.wide_window(), "--shapes", "x:1x3x4x4")

    def wide_window(self):
        weights = numpy_helper.from_array(np.ones((4, 3, 7, 7), np.float32), "w")
        return one_node_model(self.path("wide.onnx"), "Conv", {"x": (TensorProto.FLOAT, ["n", 3, "h", "w"])},
                              helper.make_tensor_value_info("y", TensorProto.FLOAT, None), [weights])

    def test_values_that_the_model_cannot_take(self):
        """A model that was built fails on its inputs alone: exit code 2, and the message names the node."""
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        gather = one_node_model(self.path("gather.onnx"), "Gather",
                                {"x": (TensorProto.FLOAT, ["n", 2]), "i": (TensorProto.INT64, ["k"])}, y)
        reshape = one_node_model(self.path("reshape.onnx"), "Reshape",
                                 {"x": (TensorProto.FLOAT, [2, 2]), "s": (TensorProto.INT64, [2])}, y)
        x = np.ones((2, 2), np.float32)
        beyond, odd = self.save("beyond.npz", x=x, i=np.array([5])), self.save("odd.npz", x=x, s=np.array([3, 2]))
        small = self.save("small.npz", x=np.ones((1, 3, 4, 4), np.float32))
        for model, inputs, found in [(gather, beyond, "found 5"), (reshape, odd, "found 6"), (self.wide_window(), small, "7")]:
            engine = model.replace(".onnx", ".wtz")
            self.check(DONE, "", "build", model, "-o", engine, "--no-tune", "--timing-cache", "")
            for how in [[engine], [model, "--reference"]]:
                run = self.check(WRONG_CALL, "'the_node'", "run", *how, "--inputs", inputs)
                self.assertIn(found, run.stderr)
                self.assertNotIn("Region", run.stderr)

    def test_outputs_that_are_no_tensors(self):
        model = one_node_model(self.path("seq.onnx"), "SplitToSequence", {"x": (TensorProto.FLOAT, ["n", 2])},
                               helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None))
        inputs = self.save("seq.npz", x=np.ones((3, 2), np.float32))
        run = self.check(DONE, "", "run", model, "--inputs", inputs, "--no-tune")
        self.assertEqual(run.stdout, "y: sequence of 3\n")
        self.check(WRONG_MODEL, "'y' is no tensor", "run", model, "--inputs", inputs, "--no-tune", "--outputs", "seq_out.npz")

    def test_too_little_memory_is_known_before_the_race(self):
        self.check(NO_MEMORY, "found at most", "build", self.model, "--shapes", "x:1x3x99999x99999")
        self.check(NO_MEMORY, "expected at most 64 TB", "build", self.model, "--shapes", "x:1x3x999999999x999999999")
        limit = 1 << 30
        self.check(NO_MEMORY, "found at most 1.1 GB", "build", self.model, "--shapes", "x:1x3x8192x8192",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    def test_inputs_that_do_not_fit(self):
        run = ["run", self.engine, "--inputs"]
        x = np.ones((1, 3, 8, 8), np.float32)
        self.check(WRONG_CALL, "expected --inputs", "run", self.engine)
        self.check(WRONG_CALL, "expected float32, found float64", *run, self.save("double.npz", x=x.astype(np.float64)))
        self.check(WRONG_CALL, "expected rank 4", *run, self.save("rank.npz", x=x[0]))
        self.check(WRONG_CALL, "expected 3, found 1", *run, self.save("channels.npz", x=x[:, :1]))
        self.check(WRONG_CALL, "expected inputs 'x', found 'z'", *run, self.save("name.npz", z=x))
        self.check(WRONG_CALL, "expected input 'x' (float32[n,3,h,w]), found none", *run, self.save("none.npz"))
        self.check(WRONG_CALL, "found 'z'", "bench", self.engine, "--inputs", self.path("name.npz"))
        self.check(WRONG_CALL, "'|O'", *run, self.save("objects.npz", x=np.array([None], dtype=object)))
        self.check(NO_FILE, "Not a zip archive", *run, self.model)
        self.check(NO_FILE, "'gone.npz'", *run, "gone.npz")
        self.check(NO_FILE, "found a folder", *run, self.folder)
        self.check(NO_FILE, "found a device or pipe", *run, "/dev/zero")
        good = pathlib.Path(self.path("good.npz")).read_bytes()
        self.check(NO_FILE, "'cut.npz'", *run, os.path.basename(self.write("cut.npz", good[:-30])))

    def test_arrays_in_fortran_order_are_read(self):
        x = np.arange(3 * 8 * 8, dtype=np.float32).reshape(1, 3, 8, 8)
        for name, array in [("c", x), ("fortran", np.asfortranarray(x))]:
            self.check(DONE, "", "run", self.engine, "--inputs", self.save(name + ".npz", x=array), "--outputs", name + ".out.npz")
        np.testing.assert_array_equal(np.load(self.path("c.out.npz"))["y"], np.load(self.path("fortran.out.npz"))["y"])

    def test_expected_values(self):
        verify = ["verify", self.engine, "--expect"]
        x = np.ones((1, 3, 8, 8), np.float32)
        run = self.check(OUT_OF_BOUND, "", *verify, self.save("wrong.npz", x=x, y=np.zeros((1, 4, 8, 8), np.float32)))
        self.assertIn("0 of 1 within the bound", run.stdout)
        run = self.check(OUT_OF_BOUND, "", *verify, self.save("shape.npz", x=x, y=np.zeros((1, 4, 8, 9), np.float32)))
        self.assertIn("expected float32[1,4,8,9], found float32[1,4,8,8]", run.stdout)
        run = self.check(OUT_OF_BOUND, "", *verify, self.save("type.npz", x=x, y=np.zeros((1, 4, 8, 8), np.int64)))
        self.assertIn("expected int64[1,4,8,8], found float32[1,4,8,8]", run.stdout)
        self.check(WRONG_CALL, "the model has 1", *verify, self.save("case.npz", c0_i0=x, c0_o5=x))
        self.check(WRONG_CALL, "found none", *verify, self.path("good.npz"))
        for taps in ['[1, 2]', '"c0"', '{"a": 1}']:
            self.check(WRONG_CALL, "taps: expected a list of tensor names", *verify,
                       self.save("taps.npz", x=x, y=x, meta=np.array('{"taps": %s}' % taps)))

    def verified(self, *arguments, code=DONE):
        run = self.check(code, "", "verify", *arguments, "--json", "--timing-cache", "")
        return json.loads(run.stdout)

    def test_tables_of_regions_and_nodes(self):
        found = self.verified(self.model, "--shapes", "x:1x3x8x8")
        regions, nodes = found["table"]["regions"], found["table"]["nodes"]
        self.assertTrue(found["table"]["passed"])
        self.assertEqual([n["op"] for n in nodes], ["Conv", "Relu"])
        for n in nodes:  # apart, each has a value of its own; fused, the region's last one has
            self.assertLess(n["own"], 1e-5)
            self.assertLess(n["unfused"], 1e-5)
            self.assertIsNotNone(n["inherited"])
        self.assertIsNone(nodes[0]["fused"])
        self.assertLess(nodes[1]["fused"], 1e-5)
        self.assertEqual(nodes[0]["step"], nodes[1]["step"])
        self.assertTrue(any(r["own"] is not None and r["own"] <= r["bound"] and r["total"] is not None for r in regions))
        alone = self.verified(self.engine)
        self.assertEqual(alone["table"]["nodes"], [])
        self.assertTrue(alone["table"]["regions"])
        x = np.random.default_rng(3).normal(size=(2, 3, 8, 8)).astype(np.float32)
        beside = self.verified(self.engine, "--of", self.model, "--samples", self.save("sample.npz", x=x))
        self.assertEqual([n["op"] for n in beside["table"]["nodes"]], ["Conv", "Relu"])
        run = self.check(DONE, "", "verify", self.engine)
        self.assertIn("own inherited    total", run.stdout)
        self.check(WRONG_CALL, "--of MODEL.onnx", "verify", self.engine, "--against", "cpu")

    def test_engines_test_themselves_when_loaded(self):
        content = bytearray(pathlib.Path(self.engine).read_bytes())
        content[64 + 2] ^= 0x40  # the first weights
        damaged = self.write("damaged.wtz", bytes(content))
        self.check(WRONG_MODEL, "damaged.wtz", "run", damaged, "--inputs", "good.npz")
        self.check(DONE, "", "run", damaged, "--inputs", "good.npz", "--no-self-test")

    def test_shadow_checks(self):
        self.check(DONE, "1 runs looked at, ", "run", self.engine, "--inputs", "good.npz", "--shadow", "1")
        self.check(DONE, " runs looked at, ", "bench", self.engine, "--iterations", "10", "--shadow", "0.5")
        self.check(WRONG_CALL, "--shadow", "run", self.engine, "--inputs", "good.npz", "--shadow", "2")

    def test_places_that_cannot_be_written(self):
        for arguments in [("build", self.model, "-o"), ("run", self.engine, "--inputs", "good.npz", "--outputs"),
                          ("tune", self.engine, "-o"), ("explain", self.engine, "--html")]:
            self.check(NO_FILE, "there is no folder", *arguments, "/nowhere/x")
            self.check(NO_FILE, "found a folder", *arguments, self.folder)
            pipe = self.path("pipe")
            os.mkfifo(pipe)
            self.check(NO_FILE, "found a device, pipe or socket", *arguments, pipe)  # as /dev/null
            self.assertTrue(pathlib.Path(pipe).is_fifo())
            os.remove(pipe)
        self.check(NO_FILE, "/proc/nowhere", "build", self.model, "-o", "x.wtz", "--dump", "/proc/nowhere")
        with open("/dev/full", "w") as full:
            run = subprocess.run([COMMAND, "explain", self.engine], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, NO_FILE)
        self.assertIn("No space left", run.stderr)

    def test_a_link_is_written_through(self):
        os.makedirs(self.path("far"))
        os.symlink(self.path("far/real"), self.path("link"))
        for arguments in [("build", self.model, "--no-tune", "-o"), ("run", self.engine, "--inputs", "good.npz", "--outputs"),
                          ("explain", self.engine, "--html")]:
            self.check(DONE, "", *arguments, "link")
            self.assertTrue(os.path.islink(self.path("link")))
            self.assertGreater(os.path.getsize(self.path("far/real")), 0)
            os.remove(self.path("far/real"))

    def test_a_full_disk_leaves_nothing_half_written(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        build = ["build", self.model, "--no-tune", "--timing-cache", ""]
        self.check(NO_FILE, "nothing was left behind", *build, "-o", "full.wtz", preexec_fn=small_files)
        self.check(NO_FILE, "cannot write", "run", self.engine, "--inputs", self.save("large.npz", x=np.ones((1, 3, 64, 64), np.float32)),
                   "--outputs", "full.npz", preexec_fn=small_files)

    def test_a_timing_cache_that_cannot_be_written_costs_no_build(self):
        run = self.check(DONE, "", "build", self.model, "-o", "n.wtz", "--shapes", "x:1x3x8x8", "--timing-cache", "/proc/nowhere/t")
        self.assertIn("the timing cache was not written", run.stdout)

    def test_the_time_to_race(self):
        build = ["build", self.model, "-o", "b.wtz", "--shapes", "x:1x3x8x8", "--timing-cache", ""]
        run = self.check(DONE, "", *build, "--budget", "0.000001s")
        self.assertIn("the time to race was spent", run.stdout)
        self.assertNotIn("the time to race", self.check(DONE, "", *build, "--budget", "60s").stdout)
        for text in ("60m", "s", "-1s", "0s", "nans", ""):
            self.check(WRONG_CALL, "--budget: expected seconds to race (60s)", *build, "--budget", text)
        self.check(WRONG_CALL, "race_seconds: expected 0 (no limit) to 1000000", *build, "--budget", "1e7s")

    def test_ctrl_c_cancels_a_build(self):
        conv_model(self.path("deep.onnx"), layers=100, width=64)
        command = [COMMAND, "build", "deep.onnx", "-o", "deep.wtz", "--shapes", "x:1x3x192x192", "--timing-cache", ""]
        before = set(os.listdir(self.folder))
        build = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        build.send_signal(signal.SIGINT)
        _, errors = build.communicate(timeout=120)
        self.assertEqual(build.returncode, CANCELLED, errors)
        self.assertIn("cancelled; nothing was written", errors)
        self.assertEqual(set(os.listdir(self.folder)), before)


    def test_inspect_shows_tensors(self):
        x = np.array([[1, 2, np.nan], [-3, 0, np.inf]], np.float32)
        arrays = self.save("arrays.npz", x=x, ids=np.arange(5), words=np.array(["a", "b"]))
        shown = {t["name"]: t for t in json.loads(self.check(DONE, "", "inspect", arrays, "--json").stdout)["tensors"]}
        self.assertEqual((shown["x"]["shape"], shown["x"]["nan"], shown["x"]["infinite"], shown["x"]["zeros"]), ([2, 3], 1, 1, 1))
        self.assertEqual((shown["x"]["min"], shown["x"]["max"], shown["x"]["mean"]), (-3, 2, 0))
        self.assertEqual((sum(shown["x"]["histogram"]), shown["ids"]["histogram"][0], shown["ids"]["mean"]), (4, 1, 2))
        self.assertNotIn("mean", shown["words"])
        text = self.check(DONE, "", "inspect", arrays, "--match", "x").stdout
        self.assertIn("x: float32[2,3], 0.0 kB, from -3 to 2, mean 0", text)
        self.assertIn("1 of 3 tensors", text)
        self.check(WRONG_CALL, "none of 3 tensors", "inspect", arrays, "--match", "y*")
        np.save(self.path("one.npy"), x)
        self.assertIn("one: float32[2,3]", self.check(DONE, "", "inspect", "one.npy").stdout)
        weights = {t["name"]: t for t in json.loads(self.check(DONE, "", "inspect", self.model, "--match", "*", "--json").stdout)["tensors"]}
        self.assertIn([4, 3, 3, 3], [t["shape"] for t in weights.values()])
        self.assertIn("tensors,", self.check(DONE, "", "inspect", self.engine, "--match", "*").stdout)

    def test_inspect_shows_caches(self):
        self.check(DONE, "", "build", self.model, "-o", "c.wtz", "--shapes", "x:1x3x8x8", "--timing-cache", "times.txt", "--decisions",
                   "decisions.txt")
        times = json.loads(self.check(DONE, "", "inspect", "times.txt", "--json").stdout)
        self.assertEqual(times["cache"], "times")
        self.assertEqual(times["problems"], sum(t["fastest"] for t in times["tactics"]))
        self.assertEqual(times["entries"], sum(t["entries"] for t in times["tactics"]))
        text = self.check(DONE, "", "inspect", "times.txt", "--match", "*conv*").stdout
        self.assertRegex(text, r"\d+\.\d+ us  cpu\.conv\.")
        decided = json.loads(self.check(DONE, "", "inspect", "decisions.txt", "--json", "--match", "*").stdout)
        self.assertEqual((decided["cache"], len(decided["matching"])), ("decisions", decided["entries"]))
        kernels = self.path("kernels")
        os.makedirs(kernels)
        for name in ["ab12-12.9.cubin", "cd34-12.9.cubin", "cd34-13.0.cubin", "notes.txt"]:
            self.write(os.path.join("kernels", name), b"1234")
        found = json.loads(self.check(DONE, "", "inspect", kernels, "--json").stdout)
        self.assertEqual((found["cache"], found["entries"], found["problems"], found["skipped"], found["bytes"]),
                         ("compiled kernels", 3, 2, 1, 12))
        self.check(NO_FILE, "cannot be read", "inspect", "nothing.txt")

    def test_reduce(self):
        small = self.path("small.onnx")
        chain = self.path("chain.onnx")
        conv_model(chain, layers=5)
        run = subprocess.run([COMMAND, "reduce", chain, "-o", small, "--check", "! grep -q conv3 {}", "--json"], capture_output=True,
                             text=True)
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertEqual([n.name for n in onnx.load(small).graph.node], ["conv3"])
        self.check(WRONG_CALL, "the whole model passes", "reduce", self.model, "-o", self.path("none.onnx"), "--no-tune",
                   "--timing-cache", "")
        self.check(WRONG_CALL, "--check: expected", "reduce", self.model, "-o", self.path("none.onnx"), "--check", "ugly")
        self.check(WRONG_CALL, "found the engine", "reduce", self.engine, "-o", self.path("none.onnx"))
        self.check(WRONG_CALL, "expected -o", "reduce", self.model)
        self.check(NO_FILE, "no/such", "reduce", self.model, "-o", "no/such/folder/x.onnx")


    def test_trace(self):
        path = self.path("trace.json")
        run = subprocess.run([COMMAND, "bench", self.engine, "--iterations", "3", "--trace", path], capture_output=True, text=True)
        self.assertEqual(run.returncode, DONE, run.stderr)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        steps = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
        self.assertIn("conv0", [n for e in steps for n in e["args"]["nodes"]])
        for before, after in zip(steps, steps[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1e-3)
        end = max(e["ts"] + e["dur"] for e in steps)
        for e in events:
            if e["ph"] == "X":
                self.assertTrue(0 <= e["ts"] and e["ts"] + e["dur"] <= end + 100, e)
        self.assertIn("steps", [e["args"]["name"] for e in events if e["name"] == "thread_name"])
        self.check(NO_FILE, "no/such", "bench", self.engine, "--trace", "no/such/trace.json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
