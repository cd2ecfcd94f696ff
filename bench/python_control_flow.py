"""Count what becomes of unmodified programs with Python's own branches and loops on data and sizes.

    python -m bench.python_control_flow [--append]

Each program of the corpora is exported by ours (strict, as by default) and by torch.export (strict
and not), from one example, and called on every way through it: with data that takes each side, with
no round, one, two and many. Loops over a size are exported with that size left to the exporter.

right: every call agrees with eager code, bit for bit, also where that raises, and what it writes.
narrow: right, but refuses calls that eager code accepts. wrong: another answer, or none raised.
"""

import argparse
import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import monograph
from bench.results import Results
from tests.control_flow import aliases, branching, heap, looped, unmodified

COLUMNS = ("programs", "of", "exporter", "right", "narrow", "refused", "wrong")
SIZES = (5, 0, 1, 2, 9)


@dataclass(frozen=True, slots=True)
class Case:
    """A program, and the calls that take every way; the first is the example."""

    family: str
    name: str
    make: Callable[[], torch.nn.Module]
    calls: tuple[tuple[torch.Tensor, ...], ...]
    is_dynamic: bool = False


FAMILIES = {
    "branches and whiles": branching,
    "programs as people write them": unmodified,
    "writes to objects in branches": heap,
    "aliases by branch": aliases,
}


def cases() -> Iterator[Case]:
    """Every program of the corpora, each in the module that defines it."""
    family_of = {corpus.__name__: family for family, corpus in FAMILIES.items()}
    for each in branching.PROGRAMS.values():
        made = each.make()
        what = made.function if isinstance(made, branching.Function) else type(made)
        yield Case(family_of[what.__module__], each.name, each.make, each.calls)
    for each in looped.PROGRAMS.values():
        calls = tuple((looped.example(n, seed=n),) for n in SIZES)
        yield Case("loops over a size", each.name, each.make, calls, is_dynamic=True)


def ours(case: Case) -> Callable[..., Any]:
    """Capture here."""
    shapes = ({1: monograph.Dim.AUTO},) if case.is_dynamic else None
    return monograph.export(case.make(), cloned(case.calls[0]), dynamic_shapes=shapes).module()


def torchs(case: Case, *, strict: bool) -> Callable[..., Any]:
    """Capture by torch.export."""
    shapes = ({1: torch.export.Dim.AUTO},) if case.is_dynamic else None
    module, example = case.make(), cloned(case.calls[0])
    return torch.export.export(module, example, dynamic_shapes=shapes, strict=strict).module()


EXPORTERS: dict[str, Callable[[Case], Callable[..., Any]]] = {
    "monograph": ours,
    "torch, strict": lambda case: torchs(case, strict=True),
    "torch, non-strict": lambda case: torchs(case, strict=False),
}


def cloned(inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Inputs that nobody else changes."""
    return tuple(each.clone() for each in inputs)


def verdict(case: Case, export: Callable[[Case], Callable[..., Any]]) -> str:
    """What one exporter makes of one program."""
    try:
        program = export(case)
    except Exception:  # noqa: BLE001 - any is a refusal
        return "refused"
    eager = case.make()
    found = {one_call(program, eager, inputs) for inputs in case.calls}
    return next(each for each in ("wrong", "narrow", "right") if each in found)


def one_call(
    program: Callable[..., Any], eager: Callable[..., Any], inputs: tuple[torch.Tensor, ...]
) -> str:
    """Whether a call does what eager code does, to its inputs too."""
    given, taken = cloned(inputs), cloned(inputs)
    expected, result = outcome(eager, given), outcome(program, taken)
    if isinstance(result, Exception):
        return "right" if isinstance(expected, Exception) else "narrow"
    if isinstance(expected, Exception):
        return "wrong"
    try:
        torch.testing.assert_close(
            (result, taken), (expected, given), rtol=0, atol=0, equal_nan=True
        )
    except Exception:  # noqa: BLE001 - other structures are other answers
        return "wrong"
    return "right"


def outcome(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> Any:
    """The result, or the exception."""
    try:
        return function(*inputs)
    except Exception as error:  # noqa: BLE001 - eager code may raise too
        return error


@contextlib.contextmanager
def in_silence() -> Iterator[None]:
    """Without what exporters say on the way."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def main() -> None:
    """Count, show, and append what is asked to be kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--append", action="store_true", help="add the table to RESULTS.md")
    options = parser.parse_args()
    every = list(cases())
    verdicts: dict[tuple[str, str], dict[str, list[str]]] = {}
    with in_silence():
        for case in every:
            for name, export in EXPORTERS.items():
                counts = verdicts.setdefault((case.family, name), {})
                counts.setdefault(verdict(case, export), []).append(case.name)
                torch.compiler.reset()
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for (family, name), counts in verdicts.items():
        numbers = [len(counts.get(each, ())) for each in COLUMNS[3:]]
        rows.append((family, str(sum(numbers)), name, *map(str, numbers)))
        if name == "monograph":
            notes += [
                f"{family}, {each} here: {', '.join(sorted(counts[each]))}."
                for each in ("narrow", "refused", "wrong")
                if each in counts
            ]
    title = "Python's own control flow, unmodified, beside torch.export"
    results = Results(title, COLUMNS, rows, tuple(notes))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
