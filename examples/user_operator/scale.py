# SPDX-License-Identifier: Apache-2.0
"""A model with an operator of a custom domain: y = relu(by * x)."""
import numpy as np
from onnx import TensorProto, helper

import wootz


def shape_of(x, *, by=1.0):
    return wootz.TensorInfo("", x.dtype, x.shape)


def fast(x, *, out, by=1.0):
    np.multiply(x, np.float32(by), out=out)


@wootz.op("my.domain", "Scale", infer=shape_of, kernel=fast)
def scale(x, *, by=1.0):
    """y = by * x."""
    return (x * by).astype(x.dtype)


nodes = [helper.make_node("Scale", ["x"], ["s"], domain="my.domain", by=2.5), helper.make_node("Relu", ["s"], ["y"])]
graph = helper.make_graph(
    nodes, "scaled",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)], ir_version=10)

engine = wootz.build(model.SerializeToString(), shapes={"x": (2, 3)}, timing_cache=None)
print(engine.run({"x": np.array([[1, -2, 3], [0, 0.5, -1]], np.float32)})["y"])
print("computed by", [step["tactic"] for step in engine.explain()["steps"]])
