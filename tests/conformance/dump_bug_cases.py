# SPDX-License-Identifier: Apache-2.0
"""Writes bug_cases.json (public bug reports of inference runtimes, as small graphs) in the form that wootz_node_tests reads.

    dump_bug_cases.py FOLDER

Beside what dump_node_tests.py writes, a case has policy.txt:
    strict           the outputs are as expected
    error            the model is refused, or the run fails, with an Error
    value_or_error   either
    safe             anything but a crash
    repeated_rows    strict, and both rows of the batch are equal to the bit
    marks NAME...    strict, also when these inner tensors become outputs
"""

import json
import os
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

DTYPES = {name: helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name)) for name in (
    "FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT8", "UINT16", "BOOL", "INT4", "UINT4",
    "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")}
INTEGERS = {"INT64", "INT32", "INT16", "INT8", "UINT8", "UINT16", "BOOL"}


def numbers(data, count: int) -> np.ndarray:
    if isinstance(data, dict):
        index = np.arange(count)
        match data["gen"]:
            case "arange":
                return index * float(data.get("step", 1)) + data.get("start", 0)
            case "fill":
                return np.full(count, float(data["value"]))
            case "sin":
                return data.get("amp", 1.0) * np.sin(index * data.get("freq", 0.37) + data.get("phase", 0.0))
            case "lin":
                return np.linspace(data["a"], data["b"], count)
            case "mod":
                return ((index * data.get("mul", 7) + data.get("add", 0)) % data["m"] + data.get("off", 0)) * float(data.get("scale", 1))
        raise ValueError(data["gen"])
    return np.array([float(x) if isinstance(x, str) else x for x in data or []], dtype=object)


def array(spec: dict) -> np.ndarray:
    count = int(np.prod(spec["shape"]))
    if spec["dtype"] == "STRING":
        return np.array(spec.get("data") or [], dtype=object).reshape(spec["shape"])
    values = numbers(spec.get("data"), count)
    values = values.astype(np.int64 if spec["dtype"] in INTEGERS else np.float64)
    return values.astype(DTYPES[spec["dtype"]]).reshape(spec["shape"])


def value_info(spec: dict) -> onnx.ValueInfoProto:
    if spec.get("dtype") is None:
        return onnx.ValueInfoProto(name=spec["name"])
    return helper.make_tensor_value_info(spec["name"], getattr(TensorProto, spec["dtype"]), spec.get("shape"))


def attribute(name: str, value) -> onnx.AttributeProto:
    if isinstance(value, dict) and "graph" in value:
        return helper.make_attribute(name, graph(value["graph"], name))
    if isinstance(value, dict) and "tensor" in value:
        return helper.make_attribute(name, numpy_helper.from_array(array(value["tensor"]), name))
    if isinstance(value, dict) and "ref" in value:
        return onnx.AttributeProto(name=name, ref_attr_name=value["ref"], type=onnx.AttributeProto.AttributeType.Value(value.get("type", "INT")))
    return helper.make_attribute(name, value)


def node(spec: dict) -> onnx.NodeProto:
    proto = onnx.NodeProto(op_type=spec["op"], domain=spec.get("domain", ""), name=spec.get("name", ""), input=spec.get("in", []), output=spec.get("out", []))
    proto.attribute.extend(attribute(name, value) for name, value in spec.get("attrs", {}).items())
    return proto


def graph(spec: dict, name: str) -> onnx.GraphProto:
    return helper.make_graph(
        [node(n) for n in spec["nodes"]], spec.get("name", name),
        [value_info(i) for i in spec.get("inputs", [])], [value_info(o) for o in spec["outputs"]],
        initializer=[numpy_helper.from_array(array(i), i["name"]) for i in spec.get("initializers", [])])


def model(spec: dict) -> onnx.ModelProto:
    functions = [
        helper.make_function(f["domain"], f["name"], f["inputs"], f["outputs"], [node(n) for n in f["nodes"]],
                             [helper.make_opsetid(d, v) for d, v in f["opset"].items()], f.get("attributes", []))
        for f in spec.get("functions", [])]
    opsets = [helper.make_opsetid(domain, version) for domain, version in spec["opset"].items()]
    return helper.make_model(graph(spec, "g"), opset_imports=opsets, functions=functions, ir_version=spec.get("ir_version", 10))


def add_outside_weight(spec: dict, proto: onnx.ModelProto, folder: pathlib.Path) -> None:
    """An initializer whose data lies outside the model's folder, straight or behind a link."""
    tensor = proto.graph.initializer.add(name="w", data_type=spec["data_type"], dims=spec["dims"], data_location=TensorProto.EXTERNAL)
    for key in ("location", "offset", "length"):
        tensor.external_data.add(key=key, value=str(spec[key]))
    (folder.parent / "outside.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    if spec["location"] == "link.bin":
        os.symlink("../outside.bin", folder / "link.bin")


def windows_max(x: np.ndarray, shape: list[int]) -> np.ndarray:
    """3x3x3 windows, stride 3, one element of padding."""
    padded = np.pad(x, [(0, 0), (0, 0)] + [(1, 3)] * 3, constant_values=-np.inf)
    out = np.empty(shape, x.dtype)
    for at in np.ndindex(*shape):
        out[at] = padded[at[:2] + tuple(slice(3 * i, 3 * i + 3) for i in at[2:])].max()
    return out


def spread(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Transposed convolution with stride 2, output_padding 1, and one element cut off each side."""
    out = np.zeros((1, 1, 8, 8), x.dtype)
    for c, i, k in np.ndindex(*x.shape[1:]):
        out[0, 0, 2 * i : 2 * i + 3, 2 * k : 2 * k + 3] += x[0, c, i, k] * w[c, 0]
    return out[:, :, 1:7, 1:7]


def expected_outputs(case: dict, proto: onnx.ModelProto, feeds: dict) -> dict | None:
    names = [o.name for o in proto.graph.output]
    expected = case.get("expected")
    if case["id"] == "topk_k_4000":
        order = np.argsort(-feeds["X"][0], kind="stable")[:4000]
        return {"v": feeds["X"][:, order], "i": order[None, :]}
    if case["id"] == "maxpool3d_ceil_window_in_end_pad":
        return {"Y": windows_max(feeds["X"], case["expected_shape"])}
    if case["id"] == "convtranspose_same_upper_output_padding":
        return {"Y": spread(feeds["X"], feeds["W"])}
    if expected == "onnx.reference":
        return dict(zip(names, ReferenceEvaluator(proto).run(None, feeds), strict=True))
    return {name: array(spec) for name, spec in expected.items()} if expected else None


def write_tensor(path: pathlib.Path, value: np.ndarray) -> None:
    path.write_bytes(numpy_helper.from_array(value).SerializeToString())


def dump(case: dict, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True)
    spec = case["graph"]
    proto = model(spec)
    if "location" in spec:
        add_outside_weight(spec, proto, folder)
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    tolerance = case.get("tol", 1e-5)
    (folder / "tolerance.txt").write_text(f"{tolerance} {tolerance}\n")
    (folder / "policy.txt").write_text(case["policy"] + "\n")
    data = folder / "set_0"
    data.mkdir()
    feeds = {name: array(value) for name, value in spec.get("feeds", {}).items()}
    constants = {tensor.name for tensor in proto.graph.initializer}
    for i, name in enumerate(x.name for x in proto.graph.input if x.name not in constants):
        if name in feeds:
            write_tensor(data / f"input_{i}.pb", feeds[name])
    if expected := expected_outputs(case, proto, feeds):
        for i, output in enumerate(proto.graph.output):
            write_tensor(data / f"output_{i}.pb", expected[output.name])


def main() -> None:
    target = pathlib.Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    cases = json.loads((pathlib.Path(__file__).parent / "bug_cases.json").read_text())
    for case in cases:
        dump(case, target / case["id"])
    print(f"{len(cases)} cases written to {target}")


if __name__ == "__main__":
    main()
