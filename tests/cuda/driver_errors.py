#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line says when driver, GPU or memory are not as they should be, on the stand-in driver.

    driver_errors.py WOOTZ FAKE_DRIVER FAKE_NVRTC
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper


def model(path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    node = helper.make_node("Exp", ["x"], ["y"])
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def main():
    wootz, driver, nvrtc = sys.argv[1:]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model(folder / "m.onnx")
        np.savez(folder / "in.npz", x=np.linspace(-1, 1, 1000, dtype=np.float32))
        base = {**os.environ, "WOOTZ_CUDA_DRIVER": driver, "WOOTZ_NVRTC": nvrtc, "XDG_CACHE_HOME": str(folder)}

        def expect(what, arguments, status, text, **settings):
            done = subprocess.run([wootz, *arguments], capture_output=True, text=True, env={**base, **settings})
            output = done.stdout + done.stderr
            if done.returncode != status or text not in output:
                failures.append(f"{what}: expected status {status} and '{text}', found {done.returncode}: {output}")

        build = ["build", str(folder / "m.onnx"), "-o", str(folder / "m.wtz"), "--device", "cuda", "--shapes", "x:1000"]
        run = ["run", str(folder / "m.wtz"), "--inputs", str(folder / "in.npz"), "--outputs", str(folder / "out.npz")]
        expect("no driver", build, 7, "no NVIDIA driver", WOOTZ_CUDA_DRIVER="/nowhere/libcuda.so.1")
        expect("old driver", build, 7, "too old", FAKE_CUDA_VERSION="11080")
        expect("no GPU", build, 7, "finds no GPU", FAKE_CUDA_DEVICES="0")
        expect("old GPU", build, 7, "sm_75", FAKE_CUDA_ARCH="70")
        expect("no such GPU", [*build[:-3], "cuda:3", "--shapes", "x:1000"], 7, "expected cuda:0")
        expect("little memory", [*build[:-1], "x:100000000"], 6, "are free", FAKE_CUDA_MEMORY=str(1 << 20))
        expect("version names GPUs", ["--version"], 0, "fake GPU", FAKE_CUDA_DEVICES="2")
        expect("a good build", build, 0, "verified y")
        expect("a good run", run, 0, "")
        expect("lost device", run, 7, "illegal memory access", FAKE_CUDA_FAIL="cuLaunchKernelEx")
        # Another card than the engine's: other kernels where it must, and the results stay right.
        expect("another GPU", run, 0, "", FAKE_CUDA_ARCH="75")
        found = np.load(folder / "out.npz")["y"]
        if not np.allclose(found, np.exp(np.load(folder / "in.npz")["x"]), rtol=1e-5):
            failures.append("another GPU: wrong results")
    print("\n".join(failures) or "all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
