"""Save and load beside torch.export: processor time of both, alternately, in one process.

    python -m bench.archive            a transformer of 12 layers with 40 MB of weights
    python -m bench.archive --large    the load of a program with 2 GB of weights

Times are the least of several runs. `save` is without the replay of the examples, which torch's own
does not do either; what the replay adds is said beside it.
"""

import argparse
import gc
import logging
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

import monograph
from bench.models import GPT

RUNS = 5
LARGE_BYTES = 2 << 30


def least(functions: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Run each in turn, several times over; give the least processor time of each, in ms."""
    found: dict[str, float] = dict.fromkeys(functions, float("inf"))
    for _ in range(runs):
        for name, function in functions.items():
            gc.collect()
            start = time.process_time()
            function()
            found[name] = min(found[name], 1e3 * (time.process_time() - start))
    return found


def transformer() -> None:
    """Measure GPT-12 with a dynamic batch."""
    torch.manual_seed(0)
    model = GPT(n_layers=12, width=256, n_heads=8, n_tokens=1024).eval()
    args = (torch.randint(0, 1024, (2, 64)),)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    print(f"GPT-12, {size / 1e6:.0f} MB of weights")
    shapes = {"ids": {0: monograph.Dim("batch", min=2, max=64)}}
    ours = monograph.export(model, args, dynamic_shapes=shapes)
    shapes = {"ids": {0: torch.export.Dim("batch", min=2, max=64)}}
    theirs = torch.export.export(model, args, dynamic_shapes=shapes)
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "ours.pt2", Path(folder) / "theirs.pt2"
        times = least(
            {
                "save": lambda: monograph.save(ours, here, verify=False),
                "torch save": lambda: torch.export.save(theirs, there),
                "save with replay": lambda: monograph.save(ours, here),
                "load": lambda: monograph.load(here),
                "torch load": lambda: torch.export.load(there),
            },
            RUNS,
        )
        reads = least(
            {
                "load of torch's file": lambda: monograph.load(there),
                "torch load of ours": lambda: torch.export.load(here),
            },
            2,
        )
    for name, took in {**times, **reads}.items():
        print(f"  {name:24} {took:8.1f} ms")
    print(f"  save: {times['torch save'] / times['save']:.1f} times faster than torch's")
    print(f"  load: {times['torch load'] / times['load']:.1f} times faster than torch's")


class Large(torch.nn.Module):
    """A stack of matrices of 64 MB each."""

    def __init__(self) -> None:
        super().__init__()
        count = LARGE_BYTES // (4096 * 4096 * 4)
        self.weights = torch.nn.ParameterList(torch.ones(4096, 4096) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            x = x @ weight
        return x


def large() -> None:
    """Measure the load of a program with two gigabytes of weights, and what it makes resident."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.pt2"
        program = monograph.export(Large(), (torch.ones(1, 4096),))
        before = resident("VmRSS")
        monograph.save(program, path, verify=False)
        grown = (most_memory() - before) / 1e6
        print(f"saving {path.stat().st_size / 1e9:.2f} GB grew memory by {grown:.0f} MB")
        del program
        gc.collect()
        start, before = time.perf_counter(), resident("VmRSS")
        loaded = monograph.load(path)
        took, grown = time.perf_counter() - start, resident("VmRSS") - before
        print(
            f"loading took {took:.3f} s and grew memory by {grown / 1e6:.1f} MB "
            f"({100 * grown / LARGE_BYTES:.2f} % of the weights)"
        )
        del loaded


def resident(field: str) -> int:
    """Give a figure of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def most_memory() -> int:
    """Give the most memory this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="2 GB of weights")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    large() if parser.parse_args().large else transformer()


if __name__ == "__main__":
    main()
