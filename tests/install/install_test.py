#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build into a scratch folder, builds examples/installed against it with find_package, and runs both programs.

    install_test.py BUILD_FOLDER EXAMPLE_FOLDER
"""
import os
import subprocess
import sys
import tempfile

from onnx import TensorProto, helper, save


def main():
    build, example = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        prefix, binary, model = (os.path.join(scratch, n) for n in ("prefix", "build", "double.onnx"))
        graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "double",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "library"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "-S", example, "-B", binary, f"-DCMAKE_PREFIX_PATH={prefix}"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", binary], check=True, stdout=subprocess.DEVNULL)
        environment = dict(os.environ, XDG_CACHE_HOME=scratch, LD_LIBRARY_PATH=os.path.join(prefix, "lib"))
        for program in ("run_model", "run_model_c"):
            done = subprocess.run([os.path.join(binary, program), model], capture_output=True, text=True, env=environment)
            if done.stdout != "y: 8 3\n":
                sys.exit(f"{program}: expected 'y: 8 3', found {done.stdout!r} {done.stderr!r}")
            failed = subprocess.run([os.path.join(binary, program), "missing.onnx"], capture_output=True, text=True, env=environment)
            if failed.returncode != 1 or "missing.onnx" not in failed.stderr:
                sys.exit(f"{program}: expected an error that names missing.onnx, found {failed.stderr!r}")
    print("2 programs built against the installed package ran")


if __name__ == "__main__":
    main()
