# SPDX-License-Identifier: Apache-2.0
"""One runtime in a process of its own, driven by compare.py over pipes.

    worker.py RUNTIME MODEL THREADS INPUTS.npz [ENGINE.wtz]

RUNTIME: wootz, onnxruntime, onnxruntime-unoptimised, openvino. Answers each line `run N` with the milliseconds of N runs as JSON, `outputs
FILE` by writing the outputs, `memory` with the peak memory in MB above that after the imports.
"""
import json
import sys
import time

import numpy as np


def peak_mb():
    """Peak resident memory of this process alone (getrusage would count the parent's before exec)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def open_wootz(model, threads, engine_path):
    import wootz

    base = peak_mb()
    engine = wootz.load(engine_path)
    context = engine.context(threads)
    names = [o.name for o in engine.outputs]

    def run(inputs):
        results = context.run(inputs)
        return [results[n] for n in names]

    return run, [i.name for i in engine.inputs], base


def open_onnxruntime(model, threads, optimised):
    import onnxruntime as ort

    base = peak_mb()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs), [i.name for i in session.get_inputs()], base


def open_openvino(model, threads, arrays):
    import openvino

    base = peak_mb()
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({port: list(arrays[f"in{i}"].shape) for i, port in enumerate(network.inputs)})
    compiled = core.compile_model(network, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    return lambda inputs: list(request.infer(inputs).values()), [port.any_name for port in network.inputs], base


def main():
    runtime, model, threads, inputs_path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    if runtime == "wootz":
        run, names, base = open_wootz(model, threads, sys.argv[5])
    elif runtime == "openvino":
        run, names, base = open_openvino(model, threads, np.load(inputs_path))
    else:
        run, names, base = open_onnxruntime(model, threads, runtime == "onnxruntime")
    arrays = np.load(inputs_path)
    inputs = {name: arrays[f"in{i}"] for i, name in enumerate(names)}
    run(inputs)
    after_first = peak_mb() - base
    print("ready", flush=True)
    for line in sys.stdin:
        verb, _, argument = line.strip().partition(" ")
        if verb == "run":
            times = []
            for _ in range(int(argument)):
                start = time.perf_counter()
                run(inputs)
                times.append((time.perf_counter() - start) * 1e3)
            print(json.dumps(times), flush=True)
        elif verb == "outputs":
            np.savez(argument, **{f"out{i}": x for i, x in enumerate(run(inputs))})
            print("written", flush=True)
        elif verb == "memory":
            print(json.dumps(after_first), flush=True)


if __name__ == "__main__":
    main()
