"""Save and load beside torch.export: processor time of both, alternately, in one process.

    python -m bench.archive [--append]            a transformer of 12 layers with 40 MB of weights
    python -m bench.archive --large [--append]    the load of a program with 2 GB of weights

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
from bench.results import Results

RUNS = 5
COLUMNS = ("processor time, least of 5, ms", "ours", "torch", "ratio")
COLUMNS_OF_LARGE = ("wall time and memory", "ours", "torch")
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


def transformer() -> Results:
    """Measure GPT-12 with a dynamic batch."""
    torch.manual_seed(0)
    model = GPT(n_layers=12, width=256, n_heads=8, n_tokens=1024).eval()
    args = (torch.randint(0, 1024, (2, 64)),)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
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
                "load of the other's file": lambda: monograph.load(there),
                "torch load of the other's file": lambda: torch.export.load(here),
            },
            2,
        )
    found = Results(
        f"Files of GPT-12, {size / 1e6:.0f} MB of weights, beside torch.export", COLUMNS
    )
    pairs = [("save", "torch save"), ("save with replay", "torch save"), ("load", "torch load")]
    times |= reads
    pairs.append(("load of the other's file", "torch load of the other's file"))
    for mine, other in pairs:
        ratio = f"{times[other] / times[mine]:.1f}x"
        found.rows.append((mine, f"{times[mine]:.1f}", f"{times[other]:.1f}", ratio))
    return found


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


def large() -> Results:
    """Measure the load of a program with two gigabytes of weights, and what it makes resident."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.pt2"
        program = monograph.export(Large(), (torch.ones(1, 4096),))
        before = resident("VmRSS")
        monograph.save(program, path, verify=False)
        saving = (most_memory() - before) / 1e6
        size = path.stat().st_size
        del program
        gc.collect()
        ours, ours_grown, loaded = timed(lambda: monograph.load(path))
        del loaded
        gc.collect()
        theirs, theirs_grown, loaded = timed(lambda: torch.export.load(path))
        del loaded
    found = Results(f"A program of {size / 1e9:.2f} GB, beside torch.export", COLUMNS_OF_LARGE)
    shares = [f"{100 * grown / LARGE_BYTES:.2f} %" for grown in (ours_grown, theirs_grown)]
    found.rows.append(("load, s", f"{ours:.3f}", f"{theirs:.3f}"))
    found.rows.append(("resident growth of a load", *shares))
    found.rows.append(("growth of the most memory by a save, MB", f"{saving:.0f}", "-"))
    return found


def timed(load: Callable[[], object]) -> tuple[float, int, object]:
    """(seconds, what it made resident, what it gave)."""
    start, before = time.perf_counter(), resident("VmRSS")
    loaded = load()
    return time.perf_counter() - start, resident("VmRSS") - before, loaded


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
    parser.add_argument("--append", action="store_true", help="keep the table in RESULTS.md")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = large() if options.large else transformer()
    found.show()
    if options.append:
        found.append()


if __name__ == "__main__":
    main()
