# SPDX-License-Identifier: Apache-2.0
"""The GPU as processes share it: one at a time, each phase with a limit and a line in the log."""
import fcntl
import os
import signal
import subprocess
import sys
import time

import torch


class Turns:
    """With a file named, only one of the processes that name it is inside at a time; a process may enter again while it is inside."""

    def __init__(self, path=None):
        self.file, self.depth = open(path, "a") if path else None, 0

    def __enter__(self):
        if self.file and self.depth == 0:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.depth += 1

    def __exit__(self, *_):
        self.depth -= 1
        if self.file and self.depth == 0:
            fcntl.flock(self.file, fcntl.LOCK_UN)


class Phases:
    """`with phases("build", 120): ...` prints what the phase of a row took, waiting for the card apart, and raises TimeoutError in
    whatever Python runs when its seconds are over. With card=False other processes may use the card meanwhile."""

    def __init__(self, row, turns):
        self.row, self.turns, self.start = row, turns, time.monotonic()

    def __call__(self, name, seconds, card=True):
        return Phase(self, name, int(seconds), card)


class Phase:
    def __init__(self, phases, name, seconds, card):
        self.phases, self.name, self.seconds, self.card = phases, name, seconds, card

    def __enter__(self):
        asked = time.monotonic()
        if self.card:
            self.phases.turns.__enter__()
        self.begun = time.monotonic()
        self.waited = self.begun - asked

        def late(*_):
            raise TimeoutError(f"{self.name} took more than {self.seconds} s")
        signal.signal(signal.SIGALRM, late)
        signal.alarm(self.seconds)

    def __exit__(self, kind, *_):
        signal.alarm(0)
        if self.card:
            self.phases.turns.__exit__()
        now = time.monotonic()
        print(f"{self.phases.row} {self.name}: {now - self.begun:.1f} s, waited {self.waited:.1f}, at {now - self.phases.start:.1f}"
              + (", failed" if kind else ""), file=sys.stderr, flush=True)


def measure_choices_in(turns):
    """torch.compile times its choices of kernels only when it is this process's turn."""
    from torch._inductor.runtime import benchmarking

    def alone(timed):
        def call(*arguments, **options):
            with turns:
                return timed(*arguments, **options)
        return call
    for kind in vars(benchmarking).values():
        if isinstance(kind, type) and "benchmark_gpu" in vars(kind):
            kind.benchmark_gpu = alone(kind.benchmark_gpu)


def used_mb():
    """Memory of the card that anybody uses."""
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 2**20


def used_before_mb():
    """The same before this process has a context."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", os.environ.get("CUDA_VISIBLE_DEVICES", "0")]
    return float(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0])
