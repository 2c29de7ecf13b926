from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

__version__: str
Dims = Sequence[int]

class Error(Exception):
    kind: str
    def __init__(self, message: str, kind: str = ...) -> None: ...

class TensorInfo(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int | str, ...] | None

class Context:
    def run(self, inputs: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None, stream: None = None) -> dict[str, Any]: ...
    def prepare(self, input_shapes: Mapping[str, Dims]) -> None: ...
    def profile(self, inputs: Mapping[str, Any]) -> list[tuple[str, str, float, list[str]]]: ...
    @property
    def memory_bytes(self) -> int: ...

class Engine:
    def run(self, inputs: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None, stream: None = None) -> dict[str, Any]: ...
    def context(self, threads: int = 0) -> Context: ...
    @property
    def inputs(self) -> list[TensorInfo]: ...
    @property
    def outputs(self) -> list[TensorInfo]: ...
    def output_shapes(self, input_shapes: Mapping[str, Dims]) -> dict[str, tuple[int, ...] | None]: ...
    def memory_bytes(self, input_shapes: Mapping[str, Dims]) -> int: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def explain(self) -> dict[str, Any]: ...
    def explain_json(self) -> str: ...
    def explain_html(self) -> str: ...
    def explain_text(self, width: int = 100) -> str: ...
    def verify(self, samples: Sequence[Mapping[str, Mapping[str, Any]]] | None = None) -> list[dict[str, Any]]: ...
    def shadow(self, share: float) -> None: ...
    def shadow_counts(self) -> dict[str, Any]: ...
    @property
    def model_name(self) -> str: ...

def build(
    model: str | PathLike[str] | bytes,
    *,
    device: str = "cpu",
    threads: int = 0,
    shapes: Mapping[str, Dims] = ...,
    tune: bool = True,
    verify: bool = True,
    vendor_libraries: bool = True,
    precision: str = "fp32",
    precision_of: Sequence[str] = ...,
    timing_cache: str | None = "default",
    race_seconds: float = 0,
    deterministic: bool = False,
    decisions: str | PathLike[str] | None = None,
    tactics: Sequence[str] = ...,
    reproducers: str | None = "default",
    marks: Sequence[str] = ...,
    samples: Sequence[Mapping[str, Any]] = ...,
    verify_shapes: Sequence[Mapping[str, Dims]] = ...,
    progress: Callable[[str, str, float], bool | None] = ...,
    disabled_passes: Sequence[str] = ...,
    max_patches: int = -1,
    dump_folder: str = "",
    max_error: float = 1e-2,
    metric: Callable[[dict[str, Any], dict[str, Any]], float] = ...,
    search_seconds: float = 0,
    types_file: str | PathLike[str] = ...,
) -> Engine: ...
def doctor(
    model: str | PathLike[str],
    samples: Iterable[Mapping[str, Any]],
    precision: str = "fp16",
    max_samples: int = 64,
    threads: int = 0,
) -> dict[str, Any]: ...
def mend(
    model: str | PathLike[str], output: str | PathLike[str], mendings: list[dict[str, Any]]
) -> None: ...
def quantize(
    model: str | PathLike[str],
    output: str | PathLike[str],
    samples: Iterable[Mapping[str, Any]] | None = None,
    *,
    method: str = "mse",
    percentile: float = 99.99,
    per_channel: bool = True,
    signed_activations: bool = False,
    float8: bool = False,
    bias_correction: bool = False,
    equalize: bool = False,
    balance: float = 0.0,
    dynamic: bool = False,
    weights: str = "",
    block: int = 0,
    sums: bool = False,
    depthwise: bool = False,
    fused_sums: bool = False,
    least_channels: int = 1,
    keep: Sequence[str] = ...,
    calibration: str = "",
    max_samples: int = 512,
    report_samples: int = 4,
    threads: int = 0,
    progress: Callable[[str, str, float], bool | None] = ...,
) -> dict[str, Any]: ...
def prune(
    model: str | PathLike[str],
    output: str | PathLike[str],
    samples: Iterable[Mapping[str, Any]] | None = None,
    *,
    two_of_four: bool = True,
    share: float = 0.5,
    data_aware: bool = False,
    keep: Sequence[str] = ...,
    max_samples: int = 128,
    report_samples: int = 4,
    threads: int = 0,
    progress: Callable[[str, str, float], bool | None] = ...,
) -> dict[str, Any]: ...
def load(path: str | PathLike[str], device: str = "", self_test: bool = True, check_weights: bool = False) -> Engine: ...
def run_reference(path: str | PathLike[str], inputs: Mapping[str, Any], marks: Sequence[str] = ...) -> dict[str, Any]: ...
def compare(expected: Mapping[str, Any], found: Mapping[str, Any], bound: float = 0.0) -> list[dict[str, Any]]: ...
def devices() -> list[str]: ...
def op(
    domain: str,
    name: str,
    *,
    infer: Callable[..., TensorInfo | tuple[TensorInfo, ...]],
    kernel: Callable[..., None] | None = None,
    outputs: int = 1,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
