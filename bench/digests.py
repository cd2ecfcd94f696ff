"""What the digests of objects from outside cost, of a capture (decision 0021).

    python -m bench.digests [--rounds N] [--only TEXT] [--append]

Processor seconds of whole exports, with the digests and without, by turns in one process. Without
them nothing that user code comes to is read: its writes are not seen, so no other code does that.
"""

import gc
import statistics
import time
from collections.abc import Generator
from contextlib import contextmanager

import monograph
from bench.models import Case
from bench.per_model import Row, measure_models
from bench.results import Results, milliseconds
from monograph.capture.plain.reachable_objects import Reach
from monograph.capture.side_effects.digests import Digests, DigestsOfReads

COLUMNS = ("model", "capture", "without ms", "with ms", "medians", "smallest", "by turns")
READS = (
    *((Digests, "follow"), (Digests, "give"), (Reach, "enter")),
    *((DigestsOfReads, "read"), (DigestsOfReads, "give_now")),
)
"""All that reads an object from outside."""


@contextmanager
def undigested() -> Generator[None]:
    """Let no capture read anything that it comes to."""
    before = [(cls, name, vars(cls)[name]) for cls, name in READS]
    for cls, name, _ in before:
        setattr(cls, name, lambda *_args, **_options: None)
    try:
        yield
    finally:
        for cls, name, method in before:
            setattr(cls, name, method)


def seconds(case: Case, *, strict: bool) -> float:
    """Export once; the processor's time, without the collector's."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    monograph.export(case.module, (), case.kwargs, strict=strict)
    taken = time.process_time() - start
    gc.enable()
    return taken


def rows(name: str, case: Case, rounds: int) -> list[Row]:
    """Measure one model in both kinds of capture."""
    return [row(name, case, rounds, strict=strict) for strict in (True, False)]


def row(name: str, case: Case, rounds: int, *, strict: bool) -> Row:
    """Measure by turns."""
    taken: list[tuple[float, float]] = []
    seconds(case, strict=strict)
    for _ in range(rounds):
        with undigested():
            without = seconds(case, strict=strict)
        taken.append((without, seconds(case, strict=strict)))
    without, with_them = zip(*taken, strict=True)
    ratios = (
        milliseconds(with_them) / milliseconds(without),
        min(with_them) / min(without),
        statistics.median(b / a for a, b in taken),
    )
    times = f"{milliseconds(without):.1f}", f"{milliseconds(with_them):.1f}"
    return name, "strict" if strict else "plain", *times, *(f"{each:.3f}" for each in ratios)


if __name__ == "__main__":
    measure_models(__doc__, Results("Digests of objects from outside", COLUMNS), rows)
