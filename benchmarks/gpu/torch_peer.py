# SPDX-License-Identifier: Apache-2.0
"""PyTorch as the peer: a network in the row's type, eager and compiled, as graphs to replay."""
import copy
import os
import pathlib
import statistics
import sys

import torch

from card import used_mb

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cpu"))
import networks  # noqa: E402

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "fp32": torch.float32}
MODES = {"compile": None, "autotune": "max-autotune-no-cudagraphs"}


def as_list(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def repeated(argument, batch):
    """`batch` rows that differ: the example's rows, each a little changed where they are floats."""
    rows = torch.cat([argument] * ((batch + len(argument) - 1) // len(argument)))[:batch].clone()
    return rows + 0.1 * torch.randn(rows.shape, generator=networks.seeded(9)) if rows.is_floating_point() else rows


def captured(call, arguments):
    """A graph of one call, and its outputs."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(4):
            call(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        outputs = as_list(call(*arguments))
    return graph, outputs


def replay_ms(graph, count):
    times = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


class allowing_tf32:
    """The rest of the time float32 is float32: the expected outputs are made so."""

    def __init__(self, allowed):
        self.allowed = allowed

    def __enter__(self):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.allowed

    def __exit__(self, *_):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


class Network:
    """One network: its module on the host, and its ONNX file."""

    def __init__(self, name, out):
        torch.manual_seed(0)
        self.name, (self.module, self.examples, self.inputs, self.outputs) = name, networks.NETWORKS[name]()
        self.path = out / f"{name}.onnx"
        if not self.path.exists():
            part = out / f"{name}.{os.getpid()}.part.onnx"  # another process may be at it, or wait for the whole one
            networks.export(name, self.module, self.examples, self.inputs, self.outputs, str(part))
            part.rename(self.path)

    def arguments(self, batch, precision=None):
        """Inputs on the card; as the peer wants them where a precision is given."""
        made = []
        for example in self.examples:
            x = repeated(example, batch).cuda()
            if precision and x.is_floating_point():
                x = x.to(TYPES[precision])
            made.append(x.to(memory_format=torch.channels_last) if precision and x.dim() == 4 else x)
        return made

    def expected(self, batch):
        """Outputs in float32, computed on the card with TF32 off."""
        full = copy.deepcopy(self.module).cuda()
        with torch.no_grad():
            outputs = [t.float().cpu().numpy() for t in as_list(full(*self.arguments(batch)))]
        del full
        torch.cuda.empty_cache()
        return outputs

    def peer(self, precision):
        module = copy.deepcopy(self.module).to("cuda", TYPES[precision])
        if self.examples[0].dim() == 4:
            for weight in module.parameters():
                if weight.dim() == 4:
                    weight.data = weight.data.contiguous(memory_format=torch.channels_last)
        return module


class Peers:
    """Graphs of PyTorch by name for one row, with eager's outputs (copied before its memory is used again) and its MB."""

    def __init__(self, network, batch, precision, context_mb):
        self.precision, before = precision, used_mb()
        self.module, self.inputs = network.peer(precision), network.arguments(batch, precision)
        with allowing_tf32(precision == "tf32"):
            graph, outputs = captured(self.module, self.inputs)
        graph.replay()
        self.graphs, self.outputs = {"eager": graph}, [t.float().cpu().numpy() for t in outputs]
        self.mb = context_mb + used_mb() - before

    def compile(self, key):
        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        with torch.no_grad(), allowing_tf32(self.precision == "tf32"):
            self.graphs[key], _ = captured(torch.compile(self.module, mode=MODES[key]), self.inputs)
