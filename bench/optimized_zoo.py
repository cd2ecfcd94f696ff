"""Run a zoo of models just in time, ours beside `torch.compile`, each in a process of its own.

    python -m bench.optimized_zoo FOLDER [--only REGEX] [--append]

FOLDER holds a `zoo.py` (see bench/zoo.md). Every model is called at three sizes, then at the same
sizes again, under `monograph.optimize` and under `torch.compile(backend="eager")`, and each call is
held to eager code: results, the inputs after the call, and buffers, bit for bit. Counted are the
places where a graph breaks, the graphs compiled, and which of these were recompilations: of code
that had a graph already.
"""

import argparse
import contextlib
import copy
import functools
import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

import monograph
from bench import jit_counts
from bench.lowered_zoo import SEED
from bench.results import Results
from bench.zoo_runs import over_zoo, parser_of, said

SYSTEMS = ("ours", "torch")
COUNTS = ("breaks", "graphs", "recompilations")
COLUMNS = ("system", "models", "equal", "not equal", "raised", *COUNTS)

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


# ------------------------------------------------------------------------------------ one model
def inputs_of(entry: Any) -> list[Inputs]:
    """Give inputs of three sizes, twice: the example's, the second, and as far on once more.

    Where eager code does not take the third, the example's size stands for it, with other values.
    """
    second = entry.B
    further = {n: max(2, 2 * b - entry.A[n]) if b != entry.A[n] else b for n, b in second.items()}
    third = replace(entry, B=further)
    try:
        args, kwargs = third.second_inputs()
        entry.module()(*args, **kwargs)
    except Exception:  # noqa: BLE001 - whatever the model raises, it does not take that size
        third = replace(entry, B=entry.A)
    makers = (entry.first_inputs, entry.second_inputs, third.second_inputs)
    return [make() for make in (*makers, *makers)]


def answers(module: Any, call: Callable[..., Any], inputs: list[Inputs]) -> list[list[Any]]:
    """Give what each call leaves: results, inputs after it, buffers; or what it raises."""
    found: list[list[Any]] = []
    for args, kwargs in copy.deepcopy(inputs):
        torch.manual_seed(SEED)
        try:
            result = call(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - it is compared
            result = said(error)
        leaves = pytree.tree_leaves((result, args, kwargs, dict(module.named_buffers())))
        found.append([each.detach().clone() if is_tensor(each) else each for each in leaves])
    return found


def is_tensor(value: object) -> bool:
    """Say whether a leaf is a tensor."""
    return isinstance(value, torch.Tensor)


def difference(expected: list[Any], actual: list[Any]) -> str:
    """Say where a call did otherwise, "" where it did not."""
    if len(expected) != len(actual):
        return f"{len(actual)} leaves, not {len(expected)}: {actual[0]!r}"[:200]
    for place, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if is_tensor(one) and is_tensor(other):
            try:
                torch.testing.assert_close(other, one, rtol=0, atol=0, equal_nan=True)
            except AssertionError as error:
                return f"leaf {place}: {said(error)}"
        elif type(one) is not type(other) or (isinstance(one, int | float | str) and one != other):
            return f"leaf {place} is {other!r}, not {one!r}"[:200]
    return ""


def measured(zoo: Any, name: str, system: str) -> dict[str, Any]:
    """Run a model in one system, beside eager code; what differs, and what was compiled."""
    entry = zoo.get(name)
    inputs = inputs_of(entry)
    module = entry.module()
    other = copy.deepcopy(module)
    expected = answers(other, other, inputs)
    wrap, count = {"ours": ours, "torch": theirs}[system]()
    actual = answers(module, wrap(module), inputs)
    wrong = [
        f"call {at}: {text}"
        for at, pair in enumerate(zip(expected, actual, strict=True))
        if (text := difference(*pair))
    ]
    return {"wrong": wrong, **dict(zip(COUNTS, count(), strict=True))}


Counted = tuple[Callable[[Any], Any], Callable[[], tuple[int, int, int]]]


def ours() -> Counted:
    """Give what optimizes a module, and what counts places of breaks and graphs."""
    optimizer = monograph.optimize()

    def count() -> tuple[int, int, int]:
        places = {place for table in optimizer.tables for _, place in table.breaks}
        graphs = [n for table in optimizer.tables for n in table.graphs]
        return len(places), sum(graphs), sum(max(0, n - 1) for n in graphs)

    return optimizer, count


def theirs() -> Counted:
    """Give the same of `torch.compile`; a function that it gives up is a break."""
    counters = torch._dynamo.utils.counters  # noqa: SLF001 - where it counts
    again: list[bool] = []

    def backend(graph: Any, _inputs: list[Any]) -> Any:
        compiled = torch._guards.CompileContext.current_compile_id()  # noqa: SLF001 - see above
        again.append(bool(compiled and compiled.frame_compile_id))
        return graph.forward

    def count() -> tuple[int, int, int]:
        frames = counters["frames"]
        breaks = max(len(jit_counts.PLACES), int(frames["total"] > frames["ok"]))
        return breaks, len(again), sum(again)

    return functools.partial(torch.compile, backend=backend), count


# -------------------------------------------------------------------------------------- the zoo
def row(system: str, found: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """Count what became of the models."""
    ran = [each for each in found.values() if "failed" not in each]
    equal = sum(not each["wrong"] for each in ran)
    counts = [sum(each[what] for each in ran) for what in COUNTS]
    counts = [len(found), equal, len(ran) - equal, len(found) - len(ran), *counts]
    return (system, *map(str, counts))


def notes(found: dict[str, dict[str, dict[str, Any]]]) -> tuple[str, ...]:
    """Name the models that differ, those that ended otherwise, and those that break more often."""
    lines: list[str] = []
    for system, models in found.items():
        for name, each in models.items():
            if why := each.get("failed") or each.get("wrong"):
                lines.append(f"{system}: {name}: {str(why)[:200]}")
    ran = [{name for name, each in found[s].items() if "failed" not in each} for s in SYSTEMS]
    pairs = [
        (n, found["ours"][n], found["torch"][n]) for n in found["ours"] if n in ran[0] & ran[1]
    ]
    for what in COUNTS:
        ours, theirs = (sum(pair[at][what] for pair in pairs) for at in (1, 2))
        more = [f"{n} ({a[what]} for {b[what]})" for n, a, b in pairs if a[what] > b[what]]
        lines.append(
            f"{what}: {ours} for torch's {theirs} over {len(pairs)} models that both ran;"
            f" more than torch: {', '.join(more) or 'none'}."
        )
    return tuple(lines)


def main() -> None:
    """Run every model in both systems, and show what became of them."""
    parser = parser_of(__doc__)
    parser.add_argument("--systems", nargs="*", default=SYSTEMS, choices=SYSTEMS)
    options = parser.parse_args()
    with contextlib.suppress(ImportError):
        importlib.import_module("transformers")  # once, and not in each process
    found = {system: run(options, system) for system in options.systems}
    rows = [row(system, models) for system, models in found.items()]
    beside = notes(found) if len(found) == len(SYSTEMS) else ()
    results = Results("The zoo just in time", COLUMNS, rows, beside)
    results.show()
    if options.append:
        results.append()


def run(options: argparse.Namespace, system: str) -> dict[str, Any]:
    """Run every model in one system; what is kept is kept by system."""
    kept = options.json and options.json.with_suffix(f".{system}.json")
    given = argparse.Namespace(**{**vars(options), "json": kept})
    return over_zoo(given, functools.partial(measured, system=system))


if __name__ == "__main__":
    main()
