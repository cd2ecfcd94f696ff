"""The recompilation profiler: a backend that observes, and reports why code was compiled again."""

from __future__ import annotations

import json
from ast import literal_eval
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from monograph.jit.optimizing import Optimizer
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import GraphModule

    from monograph.jit.guard_failures import GuardFailure
    from monograph.jit.point_table import PointTable
    from monograph.jit.segment_code import CompiledSegment

__all__ = ["CallExplanation", "CompilationProfiler", "explain_call"]

_page = deferred("monograph.pages.document_page:tables_page")


class CompilationProfiler:
    """Counts graph breaks and recompilations of what is run under it; see `report`.

    >>> import monograph
    >>> profiler = monograph.CompilationProfiler()
    >>> with monograph.optimize(profiler):
    ...     pass
    >>> print(profiler.report())
    No graph breaks.
    No recompilations.

    It behaves as if `cache_size_limit` were 1, and nothing ever fell back to eager code; as a
    backend that compiles for sizes, but where they are declared to vary (`mark_dynamic`,
    `dynamic=True`).
    """

    def __init__(self) -> None:
        """Nothing has been seen."""
        self.n_graphs = 0
        self.n_operators = 0
        self.breaks: Counter[tuple[str, str]] = Counter()
        self.recompilations: dict[str, list[GuardFailure]] = {}

    def __call__(self, graph: GraphModule, inputs: Sequence[Any]) -> Any:
        """Run a graph as it is."""
        del inputs
        self.n_graphs += 1
        self.n_operators += sum(node.op.startswith("call_") for node in graph.graph.nodes)
        return graph.forward

    def observe(self, event: str, table: PointTable, **facts: Any) -> None:
        """Hear of a graph break or a recompilation."""
        if event == "break":
            self.breaks[facts["reason"], facts["place"]] += 1
        else:
            self.recompilations.setdefault(table.name, []).append(facts["failure"])

    def report(self) -> str:
        """What broke graphs and what was compiled again, as tables, with places and advice."""
        return "\n".join([*self._breaks_text(), *self._recompilations_text()])

    def to_json(self) -> str:
        """The report as data."""
        breaks = [
            {"reason": reason, "place": place, "count": count}
            for (reason, place), count in self.breaks.most_common()
        ]
        again = [
            {
                "function": name,
                "about": each.about,
                "expected": each.expected,
                "found": each.found,
                "place": each.place,
                "count": count,
            }
            for name, failures in self.recompilations.items()
            for each, count in Counter(failures).most_common()
        ]
        return json.dumps({"graphs": self.n_graphs, "breaks": breaks, "recompilations": again})

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        counts = f"{self.n_graphs} graphs with {self.n_operators} operators"
        return _page(
            "Graph breaks and recompilations",
            [counts],
            [
                ("Graph breaks", _BREAKS, self._breaks()),
                ("Recompilations", _RECOMPILATIONS, self._recompilations()),
                ("What to do", ("Function", "Advice"), self._advice()),
            ],
        )

    def _breaks(self) -> list[tuple[str, str]]:
        return [
            (f"{reason} at {place}", str(count))
            for (reason, place), count in self.breaks.most_common()
        ]

    def _recompilations(self) -> list[tuple[str, str, str]]:
        rows: list[tuple[str, str, str]] = []
        for name, failures in self.recompilations.items():
            for index, (each, count) in enumerate(Counter(failures).most_common()):
                first, number = ("", "") if index else (name, str(len(failures)))
                rows.append((first, number, f"{each} ({count}x)"))
        return rows

    def _advice(self) -> list[tuple[str, str]]:
        return [
            (name, each)
            for name, failures in self.recompilations.items()
            for each in dict.fromkeys(_advice(failure, len(failures)) for failure in failures)
        ]

    def _breaks_text(self) -> list[str]:
        if not self.breaks:
            return ["No graph breaks."]
        return ["Graph breaks:", *_table(_BREAKS, self._breaks())]

    def _recompilations_text(self) -> list[str]:
        if not self.recompilations:
            return ["No recompilations."]
        advice = [f"  {name}: {each}" for name, each in self._advice()]
        rows = _table(_RECOMPILATIONS, self._recompilations())
        return ["Recompilations:", *rows, "What to do:", *advice]


_BREAKS: Final = ("Graph Break Reason", "Count")
_RECOMPILATIONS: Final = ("Function", "Num Recompiles", "Recompile Reasons")


def _advice(failure: GuardFailure, n: int) -> str:
    about = failure.about
    if about.endswith(".shape"):
        tensor = about.removesuffix(".shape")
        more = f"pad to a few sizes, or raise cache_size_limit to {n + 1}"
        sizes = [literal_eval(each) for each in (failure.expected, failure.found)]
        if len(sizes[0]) == len(sizes[1]):
            pairs = enumerate(zip(*sizes, strict=True))
            dims = [dim for dim, (one, two) in pairs if one != two]
            marked = f"monograph.mark_dynamic({tensor}, {dims[0] if len(dims) == 1 else dims})"
            more = f"`{marked}`; with a backend that compiles for sizes, {more}"
        return f"sizes of `{tensor}` vary: {more}"
    if about.endswith((".stride", ".dtype", ".device", ".requires_grad", ".type")):
        tensor, _, what = about.rpartition(".")
        return f"make the {what} of `{tensor}` the same in every call"
    if about == "the modes of PyTorch":
        return "call it under one grad mode, inference mode, default dtype and autocast"
    if about.startswith(("len(", "keys of")):
        return f"keep {about} the same, or pass what is in it as arguments"
    words = f"keep `{about}` out of the function, or pass it as a tensor"
    return f"{words}; or raise cache_size_limit to {n + 1}"


def _table(title: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in (title, *rows)) for at in range(len(title))]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (title, *rows)
    ]
    return [lines[0], "-+-".join("-" * width for width in widths), *lines[1:]]


@dataclass(frozen=True, slots=True)
class CallExplanation:
    """What one call compiled; `str` is for people, `to_json` for tools."""

    name: str
    segments: tuple[CompiledSegment, ...]
    breaks: tuple[tuple[str, str, int], ...]

    @property
    def graph_count(self) -> int:
        """How many graphs have operators."""
        return sum(each.n_operators > 0 for each in self.segments)

    @property
    def graph_break_count(self) -> int:
        """How many graph breaks were met."""
        return sum(count for _, _, count in self.breaks)

    @property
    def op_count(self) -> int:
        """How many operators the graphs have."""
        return sum(each.n_operators for each in self.segments)

    def to_json(self) -> str:
        """The same as data."""
        segments = [
            {
                "operators": _operators(each),
                "ends": each.reason or "return",
                "guards": [{"about": g.about, "place": g.place} for g in each.guards],
            }
            for each in self.segments
        ]
        breaks = [{"reason": r, "place": p, "count": n} for r, p, n in self.breaks]
        return json.dumps({"name": self.name, "segments": segments, "breaks": breaks})

    def to_html(self) -> str:
        """The same as one page that needs nothing else."""
        segments = [
            (str(index), each.reason or "return", "\n".join(_operators(each)))
            for index, each in enumerate(self.segments)
        ]
        guards = [
            (str(index), guard.about, _shown(guard.expected), guard.place)
            for index, each in enumerate(self.segments)
            for guard in each.guards
        ]
        breaks = [(f"{reason} at {place}", str(n)) for reason, place, n in self.breaks]
        return _page(
            f"What a call of {self.name} compiles",
            [str(self).splitlines()[0]],
            [
                ("Graph breaks", _BREAKS, breaks),
                ("Segments", ("Segment", "Ends with", "Operators"), segments),
                ("Guards", ("Segment", "About", "Expected", "Asked at"), guards),
            ],
        )

    def __str__(self) -> str:
        counts = f"{self.op_count} operators, {self.graph_break_count} graph breaks"
        lines = [f"{self.name}: {self.graph_count} graphs, {counts}"]
        lines += [f"  break: {r} at {p} ({n}x)" for r, p, n in self.breaks]
        for index, each in enumerate(self.segments):
            lines.append(f"  segment {index}: ends with {each.reason or 'the return'}")
            lines += [f"    {operator}" for operator in _operators(each)]
            lines += [f"    guard: {text}" for text in dict.fromkeys(map(str, each.guards))]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 100 else f"{text[:97]}..."


def _operators(segment: CompiledSegment) -> list[str]:
    if segment.graph is None:
        return []
    return [n.format_node() or "" for n in segment.graph.graph.nodes if n.op.startswith("call_")]


def explain_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> CallExplanation:
    """Call a function once, and say what of it became graphs, and why not all of it."""
    optimizer = Optimizer("eager", nopython=False, dynamic=None, limit=8, assumes_data=False)
    optimizer(function)(*args, **kwargs)
    tables = optimizer.tables
    return CallExplanation(
        getattr(function, "__qualname__", type(function).__qualname__),
        tuple(optimizer.entries),
        tuple((r, p, n) for table in tables for (r, p), n in table.breaks.most_common()),
    )
