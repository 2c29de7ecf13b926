# SPDX-License-Identifier: Apache-2.0
"""Every version of every operator in the installed onnx package, once for each attribute and once for each element type that
it allows, on inputs of unknown rank: `wootz check` must take the node, or refuse what such a bare node lacks.

    check_schemas.py WOOTZ
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import defs, helper

DOMAINS = ("", "ai.onnx.ml")
# What a bare node may be refused for: a value that the operator needs and that no default gives.
NEEDED = re.compile(
    r"expected an attribute|expected mode TF|expected pooled_shape|expected one list of keys|expected cats_|expected the name of an element type"
    r"|expected an input of known rank and constant|expected one type, found|expected 2 inputs, found 1|expected element types of one width"
    r"|expected a floating-point type as dtype"
)
PLAIN = {
    defs.OpSchema.AttrType.FLOAT: 1.0,
    defs.OpSchema.AttrType.INT: 1,
    defs.OpSchema.AttrType.STRING: "a",
    defs.OpSchema.AttrType.FLOATS: [1.0],
    defs.OpSchema.AttrType.INTS: [1],
    defs.OpSchema.AttrType.STRINGS: ["a"],
}


def value_of(attribute: defs.OpSchema.Attribute) -> onnx.AttributeProto | None:
    """The default, or any value of the kind; None for tensors and graphs."""
    if attribute.default_value.name:
        return attribute.default_value
    plain = PLAIN.get(attribute.type)
    return None if plain is None else helper.make_attribute(attribute.name, plain)


def type_of(text: str) -> onnx.TypeProto:
    if "(" not in text:  # a map's value
        text = f"tensor({text})"
    kind, inner = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
    if kind == "tensor":
        names = {"float": "FLOAT", "double": "DOUBLE"}
        return helper.make_tensor_type_proto(onnx.TensorProto.DataType.Value(names.get(inner, inner.upper())), None)
    if kind == "map":
        key, value = inner.split(",", 1)
        return helper.make_map_type_proto(onnx.TensorProto.DataType.Value(key.strip().upper()), type_of(value.strip()))
    return {"seq": helper.make_sequence_type_proto, "optional": helper.make_optional_type_proto}[kind](type_of(inner))


def model_of(schema: defs.OpSchema, attributes: list, chosen: dict[str, str]) -> onnx.ModelProto:
    allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    infos = []
    for i, formal in enumerate(schema.inputs):
        candidates = allowed.get(formal.type_str, [formal.type_str])
        usual = next((t for t in ("tensor(float)", "tensor(int64)") if t in candidates), candidates[0])
        infos.append(helper.make_value_info(f"x{i}", type_of(chosen.get(formal.type_str, usual))))
    outputs = [f"y{i}" for i in range(max(1, schema.min_output))]
    node = helper.make_node(schema.name, [info.name for info in infos], outputs, domain=schema.domain)
    node.attribute.extend(attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=name) for name in outputs])
    opsets = [helper.make_opsetid(schema.domain, schema.since_version)] + ([helper.make_opsetid("", 20)] if schema.domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def cases():
    for schema in defs.get_all_schemas_with_history():
        values = [value_of(a) for a in schema.attributes.values() if a.required]
        if schema.domain not in DOMAINS or schema.deprecated or None in values:
            continue
        label = f"{schema.name}-{schema.since_version}"
        yield label, model_of(schema, values, {})
        for attribute in schema.attributes.values():
            value = None if attribute.required else value_of(attribute)
            if value:
                yield f"{label} {attribute.name}", model_of(schema, [*values, value], {})
        for constraint in schema.type_constraints:
            for allowed in constraint.allowed_type_strs:
                yield f"{label} {constraint.type_param_str}={allowed}", model_of(schema, values, {constraint.type_param_str: allowed})


def main() -> int:
    wootz, failures, count = sys.argv[1], [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:

        def check(number_and_case):
            number, (label, model) = number_and_case
            path = pathlib.Path(folder) / f"{number}.onnx"
            path.write_bytes(model.SerializeToString())
            run = subprocess.run([wootz, "check", path], capture_output=True, text=True)
            path.unlink()
            text = (run.stdout + run.stderr).replace(str(path), "")
            fine = run.returncode == 0 or (run.returncode == 3 and NEEDED.search(text) and "has no attribute" not in text)
            return label, run.returncode, text, fine

        for label, status, text, fine in pool.map(check, enumerate(cases())):
            count += 1
            if not fine:
                failures.append(f"{label}: exit status {status}: {text.splitlines()[0] if text else ''}")
    print("\n".join([*failures, f"{count} nodes, {len(failures)} failures"]))
    return 1 if failures or count < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
