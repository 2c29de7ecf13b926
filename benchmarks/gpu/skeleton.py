#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the weights out of an ONNX model and puts random ones of the same distribution back, so that networks whose values do not
matter travel in kilobytes.

    skeleton.py strip MODEL.onnx SKELETON.onnx     needs onnx, numpy
    skeleton.py fill SKELETON.onnx MODEL.onnx

Tensors of up to 4096 elements and integers are kept as they are (biases, norms, shapes). Of the others the skeleton keeps mean, standard
deviation and range; the same name always gets the same numbers.
"""
import sys
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

KEPT = 4096
MARK = "wootz.random:"


def tensors(graph):
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from tensors(attribute.g)


def strip(model):
    for tensor in tensors(model.graph):
        array = numpy_helper.to_array(tensor)
        if array.size <= KEPT or array.dtype.kind != "f":
            continue
        values = array.astype(np.float64)
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.doc_string = MARK + ",".join(repr(float(x)) for x in (values.mean(), values.std(), values.min(), values.max()))


def fill(model):
    for tensor in tensors(model.graph):
        if not tensor.doc_string.startswith(MARK):
            continue
        mean, std, low, high = map(float, tensor.doc_string[len(MARK):].split(","))
        random = np.random.default_rng(zlib.crc32(tensor.name.encode()))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        array = np.clip(random.normal(mean, std, tuple(tensor.dims)), low, high).astype(dtype)
        tensor.raw_data = array.tobytes()
        tensor.doc_string = ""


def main():
    verb, source, target = sys.argv[1:]
    model = onnx.load(source)
    {"strip": strip, "fill": fill}[verb](model)
    onnx.save(model, target)


if __name__ == "__main__":
    main()
