# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX backend tests of the installed onnx package as files that wootz_node_tests reads.

    dump_node_tests.py FOLDER [name part ...]

Each case is a folder: model.onnx, tolerance.txt (rtol atol), and per data set set_K/ with input_I and output_I, each one of
    NAME.pb    a serialized TensorProto
    NAME.seq/  a sequence: 0, 1, ... in these same forms
    NAME.opt/  an optional: 0, or nothing
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


def write_value(stem: pathlib.Path, value, is_optional: bool) -> None:
    if is_optional or value is None:
        folder = stem.with_name(stem.name + ".opt")
        folder.mkdir()
        if value is not None:
            write_value(folder / "0", value, False)
    elif isinstance(value, list):
        folder = stem.with_name(stem.name + ".seq")
        folder.mkdir()
        for i, element in enumerate(value):
            write_value(folder / str(i), element, False)
    else:
        tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))
        stem.with_name(stem.name + ".pb").write_bytes(tensor.SerializeToString())


def is_optional(info: onnx.ValueInfoProto) -> bool:
    return info.type.HasField("optional_type")


def read_value(path: pathlib.Path, info: onnx.ValueInfoProto):
    data = path.read_bytes()
    if info.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if info.type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return onnx.TensorProto.FromString(data)


def stored_sets(folder: pathlib.Path, model: onnx.ModelProto):
    """Data sets of the cases that the package stores as files."""
    for data_set in sorted(folder.glob("test_data_set_*")):
        yield tuple(
            [read_value(data_set / f"{kind}_{i}.pb", info) for i, info in enumerate(infos) if (data_set / f"{kind}_{i}.pb").exists()]
            for kind, infos in (("input", model.graph.input), ("output", model.graph.output))
        )


def dump(case, folder: pathlib.Path) -> None:
    if case.url and "/light/" in case.url:
        model = onnx.load(LIGHT / pathlib.Path(case.url).name)
        sets = list(light_sets(case, model))
    else:
        model = case.model or onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        sets = case.data_sets or list(stored_sets(pathlib.Path(case.model_dir), model))
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tolerance.txt").write_text(f"{case.rtol} {case.atol}\n")
    for k, (inputs, outputs) in enumerate(sets):
        target = folder / f"set_{k}"
        target.mkdir()
        for kind, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
            for i, value in enumerate(values):
                write_value(target / f"{kind}_{i}", value, i < len(infos) and is_optional(infos[i]))


def light_sets(case, model: onnx.ModelProto):
    """The package's own way with its models of constants: counting inputs, and a stored output."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(info, name=case.model_name) for info in model.graph.input if info.name not in constants]
    stem = LIGHT / pathlib.Path(case.url).stem
    outputs = [onnx.TensorProto.FromString(stem.with_name(f"{stem.name}_output_{i}.pb").read_bytes()) for i in range(len(model.graph.output))]
    yield inputs, outputs


def main() -> None:
    target, parts = pathlib.Path(sys.argv[1]), sys.argv[2:]
    count = 0
    for kind in ("node", "simple", "pytorch-operator", "pytorch-converted", "real"):
        for case in load_model_tests(kind=kind):
            # The package calls its nine models of constants "real".
            name = f"{'light' if kind == 'real' else kind}/{case.name}"
            if (target / name).exists() or (parts and not any(part in name for part in parts)):
                continue
            try:
                dump(case, target / name)
                count += 1
            except Exception as error:  # a case that cannot be written is named, not skipped in silence
                print(f"not written: {name}: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"{count} cases written to {target}")


if __name__ == "__main__":
    main()
