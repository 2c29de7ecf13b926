# SPDX-License-Identifier: Apache-2.0
"""`wootz quantize` and `wootz.quantize`: a small network trained here on scikit-learn's digits keeps its top-1 in 8 bits, the written
file means the same to ONNX Runtime, and wrong input is named."""
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
from sklearn.datasets import load_digits

import wootz

COMMAND = os.environ["WOOTZ_CLI"]


def patches(x, stride):
    """[n,c,h,w] -> [n,oh,ow,c*9] of 3x3 windows with padding 1."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(*windows.shape[0:1], windows.shape[2], windows.shape[3], -1)


class DigitsNet:
    """conv 1->8, relu, conv 8->16 of stride 2, relu, conv 16->16, relu, 10 classes; trained by plain gradient descent."""
    layers = [(1, 8, 1), (8, 16, 2), (16, 16, 1)]

    def __init__(self):
        random = np.random.default_rng(3)
        self.w = [random.normal(size=(c * 9, k)) * (2 / (c * 9)) ** 0.5 for c, k, _ in self.layers]
        self.b = [np.zeros(k) for _, k, _ in self.layers]
        self.w.append(random.normal(size=(256, 10)) * 0.06)
        self.b.append(np.zeros(10))

    def forward(self, x):
        kept = []
        for (_, k, stride), w, b in zip(self.layers, self.w, self.b):
            columns = patches(x, stride)
            y = columns @ w + b
            kept.append((columns, y, x.shape))
            x = np.maximum(y, 0).transpose(0, 3, 1, 2)
        flat = x.reshape(len(x), -1)
        return flat @ self.w[-1] + self.b[-1], flat, kept

    def train(self, x, labels, rounds=25, rate=0.05):
        random = np.random.default_rng(4)
        speed = [np.zeros_like(p) for p in self.w + self.b]
        for _ in range(rounds):
            order = random.permutation(len(x))
            for start in range(0, len(x), 64):
                at = order[start:start + 64]
                logits, flat, kept = self.forward(x[at])
                p = np.exp(logits - logits.max(1, keepdims=True))
                d = p / p.sum(1, keepdims=True)
                d[np.arange(len(at)), labels[at]] -= 1
                d /= len(at)
                gw, gb = [flat.T @ d], [d.sum(0)]
                d = (d @ self.w[-1].T).reshape(len(at), 16, 4, 4)
                for i in (2, 1, 0):
                    columns, y, shape = kept[i]
                    d = d.transpose(0, 2, 3, 1) * (y > 0)
                    gw.insert(0, np.tensordot(columns, d, ((0, 1, 2), (0, 1, 2))))
                    gb.insert(0, d.sum((0, 1, 2)))
                    if i == 0:
                        break
                    back = (d @ self.w[i].T).reshape(*d.shape[:3], shape[1], 3, 3)
                    wide, stride = np.zeros((shape[0], shape[1], shape[2] + 2, shape[3] + 2)), self.layers[i][2]
                    for r in range(3):
                        for c in range(3):
                            wide[:, :, r:r + shape[2]:stride, c:c + shape[3]:stride] += back[..., r, c].transpose(0, 3, 1, 2)
                    d = wide[:, :, 1:-1, 1:-1]
                for v, p, g in zip(speed, self.w + self.b, gw + gb):
                    v *= 0.9
                    v -= rate * g
                    p += v

    def save(self, path):
        nodes, tensors, name = [], [], "x"
        for i, (c, k, stride) in enumerate(self.layers):
            weight = self.w[i].T.reshape(k, c, 3, 3)
            # A batch normalisation that undoes a wild scale of each channel: folded before anything is rounded.
            scale = np.geomspace(0.05, 20, k)
            for n, v in {f"w{i}": weight * scale[:, None, None, None], f"g{i}": 1 / scale, f"h{i}": self.b[i], f"m{i}": np.zeros(k),
                         f"v{i}": np.ones(k) - 1e-5}.items():
                tensors.append(numpy_helper.from_array(v.astype(np.float32), n))
            nodes += [helper.make_node("Conv", [name, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4, strides=[stride] * 2),
                      helper.make_node("BatchNormalization", [f"c{i}"] + [f"{p}{i}" for p in "ghmv"], [f"n{i}"]),
                      helper.make_node("Relu", [f"n{i}"], [f"r{i}"])]
            name = f"r{i}"
        tensors += [numpy_helper.from_array(self.w[-1].astype(np.float32), "wf"), numpy_helper.from_array(self.b[-1].astype(np.float32), "bf")]
        nodes += [helper.make_node("Flatten", [name], ["flat"]), helper.make_node("Gemm", ["flat", "wf", "bf"], ["y"], "classes")]
        graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def peer(path, inputs, all_integers=False):
    """ONNX Runtime without optimisations; with the outputs of every QuantizeLinear where asked."""
    model = onnx.load(path)
    names = [o.name for o in model.graph.output]
    if all_integers:
        for node in model.graph.node:
            if node.op_type == "QuantizeLinear":
                names.append(node.output[0])
                model.graph.output.append(helper.make_empty_tensor_value_info(node.output[0]))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, inputs)))


def peer_inner(path, name, inputs):
    model = onnx.load(path)
    model.graph.output.append(helper.make_empty_tensor_value_info(name))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run([name], inputs)[0]


class Quantize(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        digits = load_digits()
        x = (digits.images / 16).astype(np.float32)[:, None]
        cls.train_x, cls.test_x, cls.test_labels = x[:1200], x[1200:], digits.target[1200:]
        net = DigitsNet()
        net.train(cls.train_x, digits.target[:1200])
        cls.model = str(cls.folder / "digits.onnx")
        net.save(cls.model)
        cls.top1 = cls.score(peer(cls.model, {"x": cls.test_x})["y"])
        assert cls.top1 > 0.9, cls.top1

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def score(cls, y):
        return float((y.argmax(1) == cls.test_labels).mean())

    def samples(self, count=64):
        return ({"x": self.train_x[i:i + 1]} for i in range(count))  # a generator: it can be read once

    def quantized(self, name="q", samples=None, **options):
        path = str(self.folder / f"{name}.onnx")
        report = wootz.quantize(self.model, path, self.samples() if samples is None else samples, **options)
        onnx.checker.check_model(path, full_check=True)
        return path, report

    def test_top1_stays_with_every_method(self):
        for options in ({"method": "max"}, {"method": "percentile"}, {"method": "entropy"}, {"method": "mse"}, {"bias_correction": True},
                        {"equalize": True}, {"signed_activations": True}):
            with self.subTest(**options):
                path, report = self.quantized(**options)
                self.assertEqual([n["op"] for n in report["nodes"] if n["quantized"]], ["Conv", "Conv", "Conv", "Gemm"])
                self.assertGreaterEqual(self.score(peer(path, {"x": self.test_x})["y"]), self.top1 - 0.005)
                engine = wootz.build(path, shapes={"x": (8, 1, 8, 8)}, tune=False)
                self.assertGreaterEqual(self.score(engine.run({"x": self.test_x})["y"]), self.top1 - 0.005)

    def test_engines_and_the_peer_agree_within_one_step(self):
        path, _ = self.quantized()
        want = peer(path, {"x": self.test_x[:64]}, all_integers=True)
        marks = [name for name in want if name != "y"]
        found = wootz.build(path, marks=marks, shapes={"x": (64, 1, 8, 8)}, tune=False).run({"x": self.test_x[:64]})
        for name in marks:
            steps = np.abs(want[name].astype(int) - found[name].astype(int))
            self.assertLessEqual(steps.max(), 1, name)
            self.assertLess((steps > 0).mean(), 1e-3, name)
        self.assertLess(np.abs(want["y"] - found["y"]).max(), 0.02 * np.abs(want["y"]).max())

    def test_integers_are_those_of_the_reference(self):
        path, _ = self.quantized()
        names = [n.output[0] for n in onnx.load(path).graph.node if n.op_type == "QuantizeLinear"]
        want = wootz.run_reference(path, {"x": self.test_x[:16]}, names)
        found = wootz.build(path, marks=names, shapes={"x": (16, 1, 8, 8)}, tune=False).run({"x": self.test_x[:16]})
        for name in names:
            self.assertLess((want[name] != found[name]).mean(), 1e-4, name)

    def test_the_calibration_can_be_edited_and_used_again(self):
        first, report = self.quantized("first")
        again, _ = self.quantized("again", samples=[], calibration=report["calibration"])
        self.assertEqual(pathlib.Path(first).read_bytes(), pathlib.Path(again).read_bytes())
        ranges = json.loads(report["calibration"])
        ranges["tensors"]["r0"]["high"] *= 2
        del ranges["tensors"]["flat"]
        edited, changed = self.quantized("edited", samples=[], calibration=json.dumps(ranges))
        scale = {t.name: numpy_helper.to_array(t) for t in onnx.load(edited).graph.initializer}["r0_scale"]
        self.assertAlmostEqual(float(scale), ranges["tensors"]["r0"]["high"] / 255, places=7)
        left = [n for n in changed["nodes"] if not n["quantized"]]
        self.assertEqual(len(left), 1)
        self.assertIn("no range for 'flat'", left[0]["reason"])

    def test_nodes_can_be_kept(self):
        path, report = self.quantized(keep=["conv0", "Gemm"])
        self.assertEqual([n["quantized"] for n in report["nodes"] if n["name"] in ("conv0", "classes")], [False, False])
        self.assertEqual(sum(n.op_type == "QuantizeLinear" for n in onnx.load(path).graph.node), 2)

    def refused(self, text, samples=None, **options):
        with self.assertRaises(wootz.Error) as caught:
            self.quantized("refused", samples, **options)
        self.assertEqual(caught.exception.kind, "invalid argument")
        self.assertIn(text, str(caught.exception))
        self.assertFalse((self.folder / "refused.onnx").exists())

    def test_wrong_input_is_named(self):
        good = self.train_x[:1]
        bad = good.copy()
        bad[0, 0, 3, 3] = np.nan
        self.refused("sample 2: input 'x': expected finite numbers, found NaN", [{"x": good}, {"x": bad}])
        self.refused("expected float32[n,1,8,8], found dims [1,1,8,9]", [{"x": np.zeros((1, 1, 8, 9), np.float32)}])
        self.refused("found float64", [{"x": good.astype(np.float64)}])
        self.refused("expected input 'x'", [{"y": good}])
        self.refused("found 'z' too", [{"x": good, "z": good}])
        self.refused("expected a dict", [good])
        self.refused("at least one sample", [])
        self.refused("expected max, percentile, entropy or mse, found 'kl'", method="kl")
        self.refused("percentile: expected more than 50", percentile=3.0)
        self.refused("balance: expected", balance=2.0)
        self.refused("found 'nothing'", keep=["nothing"])
        self.refused("expected a JSON object", samples=[], calibration="[]")
        self.refused("expected low <= 0 <= high", samples=[], calibration='{"tensors": {"x": {"low": 1, "high": 2}}}')
        self.refused("found 'q'", samples=[], calibration='{"tensors": {"q": {"low": 0, "high": 2}}}')
        with self.assertRaises(wootz.Error) as caught:
            wootz.quantize(self.quantized()[0], str(self.folder / "refused.onnx"), self.samples())
        self.assertIn("quantized already", str(caught.exception))

    def test_an_input_that_is_always_zero_stays_float32(self):
        _, report = self.quantized(samples=[{"x": np.zeros((1, 1, 8, 8), np.float32)}])
        self.assertIn("is 0 in every sample", report["nodes"][0]["reason"])
        self.assertTrue(any("1 sample alone" in note for note in report["notes"]))

    def test_cancelling_writes_nothing(self):
        with self.assertRaises(wootz.Error) as caught:
            self.quantized("refused", progress=lambda stage, detail, fraction: fraction < 0.2)
        self.assertEqual(caught.exception.kind, "cancelled")
        self.assertFalse((self.folder / "refused.onnx").exists())

    def test_errors_of_iterators_come_through(self):
        def broken():
            yield {"x": self.train_x[:1]}
            raise KeyError("the data set is gone")
        with self.assertRaises(KeyError):
            self.quantized("refused", broken())

    def command(self, *arguments):
        return subprocess.run([COMMAND, "quantize", *map(str, arguments)], capture_output=True, text=True)

    def test_the_command_reads_stacks_folders_and_pictures(self):
        np.save(self.folder / "stack.npy", self.train_x[:40][:, None])
        out = self.folder / "c.onnx"
        run = self.command(self.model, "-o", out, "--samples", self.folder / "stack.npy", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["samples"], 40)
        self.assertGreaterEqual(self.score(peer(str(out), {"x": self.test_x})["y"]), self.top1 - 0.005)
        again = self.command(self.model, "-o", self.folder / "d.onnx", "--calibration", self.folder / "c.calibration.json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(out.read_bytes(), (self.folder / "d.onnx").read_bytes())
        pictures = self.folder / "pictures"
        pictures.mkdir()
        for i in range(12):
            rows = (self.train_x[i, 0] * 255).astype(np.uint8).tobytes()
            (pictures / f"{i:02}.pgm").write_bytes(b"P5 8 8 255\n" + rows)
        run = self.command(self.model, "-o", self.folder / "p.onnx", "--samples", pictures)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("4 of 4 products in 8 bits, ranges from 12 samples", run.stdout)
        self.assertGreaterEqual(self.score(peer(str(self.folder / "p.onnx"), {"x": self.test_x})["y"]), self.top1 - 0.005)

    def test_the_command_names_what_is_missing(self):
        for arguments, text in (([], "expected --samples"), (["--samples", "no.npz"], "no.npz"), (["--samples", self.model], ".npz or .npy"),
                                (["--calibration", "no.json"], "no.json"), (["--samples", "x.npy", "--picture-size", "3"], "HEIGHTxWIDTH")):
            run = self.command(self.model, "-o", self.folder / "refused.onnx", *arguments)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(text, run.stderr)
            self.assertFalse((self.folder / "refused.onnx").exists())


def products_model(path):
    """LayerNormalization with an outlier channel, a product, an LSTM over it, and a product behind."""
    random = np.random.default_rng(5)
    gain = np.ones(32, np.float32)
    gain[[3, 17]] = 60
    weights = {"g": gain, "h": np.linspace(1, 3, 32), "w": random.normal(size=(32, 24)) / 6, "b": random.normal(size=24) / 4,
               "lw": random.normal(size=(1, 64, 24)) / 5, "lr": random.normal(size=(1, 64, 16)) / 4, "lb": random.normal(size=(1, 128)) / 8,
               "v": random.normal(size=(16, 7)) / 4, "axes": np.array([1])}
    nodes = [helper.make_node("LayerNormalization", ["x", "g", "h"], ["n"], axis=-1), helper.make_node("MatMul", ["n", "w"], ["m"], "first"),
             helper.make_node("Add", ["m", "b"], ["a"]), helper.make_node("LSTM", ["a", "lw", "lr", "lb"], ["l"], "lstm", hidden_size=16),
             helper.make_node("Squeeze", ["l", "axes"], ["s"]), helper.make_node("MatMul", ["s", "v"], ["y"], "second")]
    tensors = [numpy_helper.from_array(v.astype(np.int64 if k == "axes" else np.float32), k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, "n", 32])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [6, "n", 7])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Products(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.model = str(cls.folder / "products.onnx")
        products_model(cls.model)
        random = np.random.default_rng(6)
        cls.samples = [{"x": random.normal(size=(6, 2, 32)).astype(np.float32)} for _ in range(16)]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_balancing_takes_outliers_out_of_activations(self):
        quality = {}
        for balance in (0.0, 0.5):
            path = str(self.folder / f"b{balance}.onnx")
            report = wootz.quantize(self.model, path, self.samples, balance=balance)
            quality[balance] = next(n["own_sqnr_db"] for n in report["nodes"] if n["name"] == "first")
            want, found = peer(self.model, self.samples[0])["y"], peer(path, self.samples[0])["y"]
            self.assertLess(np.abs(want - found).max(), 0.2 * np.abs(want).max())
        self.assertGreater(quality[0.5], quality[0.0] + 3)

    def test_bias_correction_takes_the_mean_error_out(self):
        mean = {}
        for correct in (False, True):
            path = str(self.folder / f"c{correct}.onnx")
            wootz.quantize(self.model, path, self.samples, method="max", per_channel=False, bias_correction=correct)
            errors = [wootz.run_reference(path, s, ["a"])["a"] - wootz.run_reference(self.model, s, ["a"])["a"] for s in self.samples]
            mean[correct] = np.abs(np.mean(errors, axis=(0, 1, 2))).mean()
        self.assertLess(mean[True], 0.6 * mean[False])

    def test_mixed_precision_and_the_doctor(self):
        calls = []

        def loss(expected, found):
            calls.append(1)
            return float(np.abs(expected["y"] - found["y"]).max())
        engine = wootz.build(self.model, precision="mixed", metric=loss, max_error=0.05, samples=self.samples[:1], tune=False, timing_cache=None)
        self.assertTrue(calls)
        self.assertLessEqual(loss({"y": peer(self.model, self.samples[0])["y"]}, engine.run(self.samples[0])), 0.06)
        with self.assertRaises(wootz.Error):
            wootz.build(self.model, precision="mixed")
        wild = [{"x": self.samples[0]["x"] * np.float32(1e6)}]
        report = wootz.doctor(self.model, wild)
        self.assertIn(("x", "overflow"), {(s["tensor"], s["kind"]) for s in report["symptoms"]})
        self.assertEqual(report["samples"], 1)
        mended = str(self.folder / "mended.onnx")
        wootz.mend(self.model, mended, [{"kind": "clip", "tensor": "n", "factor": 1.0, "low": -0.5, "high": 0.5, "nodes": ["first"]}])
        self.assertIn("Clip", {n.op_type for n in onnx.load(mended).graph.node})
        with self.assertRaises(wootz.Error) as caught:
            wootz.mend(self.model, mended, [{"kind": "scale", "tensor": "nowhere", "factor": 2.0, "low": 0.0, "high": 0.0, "nodes": []}])
        self.assertIn("nowhere", str(caught.exception))

    def test_floats_of_8_bits(self):
        path = str(self.folder / "float8.onnx")
        report = wootz.quantize(self.model, path, self.samples, float8=True)
        self.assertEqual({n["name"] for n in report["nodes"] if n["quantized"]}, {"first", "second"})
        model = onnx.load(path)
        self.assertEqual(sum(t.data_type == TensorProto.FLOAT8E4M3FN for t in model.graph.initializer if "quantized" in t.name), 2)
        scales = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if t.name.endswith("_scale")}
        seen = max(float(np.abs(peer_inner(self.model, "n", s)).max()) for s in self.samples)
        self.assertAlmostEqual(float(scales["n_scale"]) * 448, seen, delta=1e-3 * seen)
        want, theirs = (peer(p, self.samples[0])["y"] for p in (self.model, path))
        ours = wootz.build(path, shapes={"x": (6, 2, 32)}, tune=False).run(self.samples[0])["y"]
        self.assertLess(np.abs(theirs - want).max(), 0.1 * np.abs(want).max())
        self.assertLess(np.abs(ours - theirs).max(), 0.01 * np.abs(want).max())
        for options in ({"sums": True}, {"bias_correction": True}, {"dynamic": True}):
            with self.assertRaises(wootz.Error) as caught:
                wootz.quantize(self.model, path, self.samples, float8=True, **options)
            self.assertIn("float8", str(caught.exception))

    def test_dynamic_products_and_lstm(self):
        path = str(self.folder / "dynamic.onnx")
        report = wootz.quantize(self.model, path, dynamic=True)
        self.assertEqual({n["name"] for n in report["nodes"] if n["quantized"]}, {"first", "second", "lstm"})
        ops = [n.op_type for n in onnx.load(path).graph.node]
        self.assertEqual((ops.count("MatMulInteger"), ops.count("DynamicQuantizeLSTM")), (2, 1))
        want = peer(self.model, self.samples[0])["y"]
        theirs = peer(path, self.samples[0])["y"]
        ours = wootz.build(path, shapes={"x": (6, 2, 32)}, tune=False).run(self.samples[0])["y"]
        self.assertLess(np.abs(theirs - want).max(), 0.2 * np.abs(want).max())
        self.assertLess(np.abs(ours - theirs).max(), 0.01 * np.abs(want).max())


if __name__ == "__main__":
    unittest.main()
