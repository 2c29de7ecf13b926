# SPDX-License-Identifier: Apache-2.0
"""Wootz compiles a trained network (ONNX) into a fast engine, proves that it computes what the model says, and runs it."""
import json
from typing import NamedTuple


class Error(Exception):
    """Every failure. `kind` is one of: invalid model, unsupported, invalid argument, invalid engine, file error,
    out of memory, verification failed, device error, cancelled, internal error."""

    def __init__(self, message, kind="internal error"):
        super().__init__(message)
        self.kind = kind


class TensorInfo(NamedTuple):
    """An input or output: name, dtype (e.g. "float32") and shape, whose dimensions are numbers, or expressions as text
    where they vary; None where not even the rank is known."""
    name: str
    dtype: str
    shape: tuple | None


from . import _wootz  # noqa: E402  the module looks up Error and TensorInfo here
from ._wootz import Context, Engine, __version__, compare, devices, doctor, load, mend, run_reference  # noqa: E402


def build(model, **options):
    """Compiles an ONNX model (a path or the file's bytes) into an Engine.

    Options: device="cpu", threads=0 (all), shapes={name: dims} to tune for, tune=True, verify=True,
    race_seconds=0 (no limit; later regions take the first tactic that passes its check),
    vendor_libraries=True, timing_cache="default" (a path, or None), marks=[inner tensors to return too],
    deterministic=False (the same bits for every batch, checked), decisions=None (a file of tactics to follow and add to),
    tactics=[patterns of those to use where they serve], reproducers="default" (folder for what shows a wrong tactic, or None),
    samples=[{name: array}] to verify on, verify_shapes=[{input: dims}] to verify at besides the tuned ones,
    progress=callable(stage, detail, fraction) that may return False to cancel,
    disabled_passes=[names], max_patches=-1, dump_folder="", precision="fp32" (or "tf32", "fp16", "bf16"), precision_of=[PATTERN=TYPE].
    precision="mixed" searches for the fastest mixture of types within max_error=1e-2 on the samples (or within it as judged by
    metric=callable(expected, found) over dicts of arrays); search_seconds=0 bounds the search, types_file=PATH keeps its trials:
    those that it holds already are not run again. precision="int8" (or "fp8" on Hopper) quantizes on the samples, and is kept where it
    is faster; PATTERN=fp32 in precision_of leaves nodes out.
    """
    return _wootz.build(model, options)


def quantize(model, output, samples=None, **options):
    """Writes `output`, an ONNX model with 8-bit weights and activations, made from the float32 model at `model`. Returns a report:
    nodes (with reason or signal to noise), outputs (errors, top-1 agreement), notes, samples, calibration (JSON text).

    samples: an iterable of {input name: array}. Options: method="mse" (or "max", "percentile", "entropy"),
    percentile=99.99, per_channel=True, signed_activations=False, float8=False, bias_correction=False, equalize=False, balance=0.0,
    dynamic=False (no samples needed), weights="" ("int8", "int4", "fp8": of MatMul and Gemm alone, no samples needed) with block=0, sums=False, depthwise=False, least_channels=1, fused_sums=False,
    keep=[patterns of nodes that stay float32],
    calibration=text of an earlier report instead of samples, max_samples=512, report_samples=4, threads=0,
    progress=callable(stage, detail, fraction) that may return False to cancel.
    """
    return _wootz.quantize(model, output, samples, options)


def prune(model, output, samples=None, **options):
    """Writes `output`, the float32 model at `model` with weights of Conv, MatMul and Gemm set to 0. Returns a report: nodes (with reason,
    share of zeros, and what was removed in dB below the result), outputs (errors, where there are samples), notes, samples.

    Options: two_of_four=True (two of every four neighbours along the input channels), or share=0.5 (of each weight's elements, the
    least), data_aware=False (elements count by their inputs on the samples too), keep=[patterns of nodes that stay dense],
    max_samples=128, report_samples=4, threads=0, progress=callable(stage, detail, fraction) that may return False to cancel.
    """
    return _wootz.prune(model, output, samples, options)


def _explain(engine):
    """Everything that was decided and measured, as a dict: steps, tactics, rivals, remarks, memory, verification."""
    return json.loads(engine.explain_json())


def _verify(engine, samples=None):
    """The errors measured at build (samples=None) as a list of dicts: output, max_abs, relative, bound, sample. With samples, a
    list of {"inputs": {name: array}, "outputs": {name: array}}, compares the engine's results with those outputs."""
    if samples is None:
        rows = _explain(engine)["verification"]  # JSON has no infinity
        return [{key: float("inf") if value is None else value for key, value in row.items()} for row in rows]
    return [row for s in samples for row in compare(s["outputs"], engine.run(s["inputs"]))]


from .ops import op  # noqa: E402

Engine.explain = _explain
Engine.verify = _verify

__all__ = ["Context", "Engine", "Error", "TensorInfo", "__version__", "build", "compare", "devices", "doctor", "load", "mend", "op", "prune", "quantize",
           "run_reference"]
