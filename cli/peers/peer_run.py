# SPDX-License-Identifier: Apache-2.0
"""Runs a model in another runtime: peer_run.py RUNTIME MODEL INPUTS.npz OUTPUTS.npz all|outputs

RUNTIME is onnxruntime, openvino or torch (TorchScript). OUTPUTS.npz gets an array for each output, and for each inner
tensor when the last word is `all` (onnxruntime and openvino, which get a copy of the model with more outputs).
"""
import sys

import numpy as np


def with_inner_outputs(path):
    import onnx

    model = onnx.load(path)
    kept = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in kept:
                model.graph.output.append(onnx.ValueInfoProto(name=name))
                kept.add(name)
    return model.SerializeToString()


def run_onnxruntime(path, inputs, every):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if every:  # inner tensors as the model has them, not as fused kernels leave them
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = with_inner_outputs(path) if every else path
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def run_openvino(path, inputs, every):
    import openvino

    core = openvino.Core()
    model = core.read_model(with_inner_outputs(path)) if every else core.read_model(path)
    done = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs)
    return {name: value for port, value in done.to_dict().items() for name in port.get_names()}


def run_torch(path, inputs, every):
    import torch

    model = torch.jit.load(path, map_location="cpu").eval()
    with torch.no_grad():
        done = model(*(torch.from_numpy(a) for a in inputs.values()))
    done = done if isinstance(done, (list, tuple)) else [done]
    return {f"output_{i}": t.numpy() for i, t in enumerate(done)}


def main():
    runtime, model, inputs, outputs, how_much = sys.argv[1:]
    arrays = dict(np.load(inputs))
    run = {"onnxruntime": run_onnxruntime, "openvino": run_openvino, "torch": run_torch}[runtime]
    results = run(model, arrays, how_much == "all")
    np.savez(outputs, **{k: np.asarray(v) for k, v in results.items() if isinstance(v, np.ndarray)})


main()
