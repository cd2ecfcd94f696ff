"""The export report: what was found out that its user may not expect, as data.

Nothing here is silent: sizes that were left to capture and turned out constant are also logged.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import Cause, Diagnostic, Edit
from monograph.dims import DimHint
from monograph.integers import Real, eq, evaluate
from monograph.lazy_imports import deferred
from monograph.program.contract import spots, where

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from monograph.capture import RecoveredRefusal
    from monograph.capture.captured import Exclusion
    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.capture.side_effects.observations import Observations
    from monograph.diagnostics import Spot
    from monograph.integers import Expr, Facts

_report_html = deferred("monograph.program.html:report_html")
_LOGGER: Final = logging.getLogger("monograph")


class _Located:
    """What happened at lines of the user, innermost first."""

    __slots__ = ()
    at: tuple[Spot, ...]

    @property
    def place(self) -> str:
        """The innermost line, as `model.py:12`; "" if unknown."""
        return where(self.at)


@dataclass(frozen=True, slots=True)
class Specialization(_Located):
    """A size or number declared `Dim.AUTO` that the model fixes; `at` are the lines that do."""

    path: str
    value: float
    at: tuple[Spot, ...] = ()

    def __str__(self) -> str:
        return f"{self.path} == {self.value}"


@dataclass(frozen=True, slots=True)
class LeftOut(_Located):
    """A size of 0 or 1 that was declared and is refused; `what` the module does differently there.

    `at` are the lines where it first does.
    """

    path: str
    value: int
    what: str
    at: tuple[Spot, ...] = ()

    def __str__(self) -> str:
        return f"{self.path} == {self.value}: there the module {self.what}"


@dataclass(frozen=True, slots=True)
class Assumed(_Located):
    """A plain value outside of the inputs that the model read: the program keeps it for good.

    `kind` is attribute, global, closure, environment or query (`torch.compiler.is_compiling()`);
    `name` is how the code calls it: `self.training`.
    """

    kind: str
    name: str
    value: Any
    at: tuple[Spot, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} == {self.value!r}"


@dataclass(frozen=True, slots=True)
class NativeIsland:
    """A Python function that capture could not interpret: it ran, and nothing in it was seen."""

    function: str
    reason: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.function}: {self.reason}"


@dataclass(frozen=True, slots=True)
class IgnoredEffect(_Located):
    """A write that outlives a call of the model, and that the program does not make."""

    what: str
    at: tuple[Spot, ...] = ()

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Because:
    """A fact that contributed to a problem, and its lines."""

    label: str
    at: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem(_Located):
    """What `export` would refuse, of a draft: the message as data.

    `assumed` says what the program takes for true instead; `is_checked` whether it asserts that
    when it runs; `times` how often one call meets it.
    """

    name: str
    headline: str
    at: tuple[Spot, ...] = ()
    label: str = ""
    causes: tuple[Because, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    times: int = 1
    assumed: str = ""
    is_checked: bool = False
    edits: tuple[Edit, ...] = ()

    @property
    def diagnostic(self) -> Diagnostic:
        """The message, to be rendered."""
        causes = tuple([Cause(each.at, each.label) for each in self.causes])
        return Diagnostic(
            self.name,
            self.headline,
            self.at,
            self.label,
            causes,
            self.notes,
            self.helps,
            times=self.times,
            edits=self.edits,
        )

    def __str__(self) -> str:
        assumed = f"; assumed: {self.assumed}" if self.assumed else ""
        return f"{self.name}: {self.headline}{assumed}"


def problem_of(found: RecoveredRefusal) -> Problem:
    """A refusal that a capture went past, as data for a report."""
    diagnostic = found.error.diagnostic
    return Problem(
        diagnostic.name,
        diagnostic.headline,
        diagnostic.at,
        diagnostic.label,
        tuple([Because(each.label, each.at) for each in diagnostic.causes]),
        diagnostic.notes,
        tuple(map(str, diagnostic.helps)),
        diagnostic.times,
        found.assumed,
        found.is_checked,
        diagnostic.edits,
    )


@dataclass(frozen=True, slots=True)
class Report:
    """What one export found out.

    >>> print(Report((Specialization("x.shape[1]", 4),)))
    constant although Dim.AUTO
        x.shape[1] == 4
    """

    specializations: tuple[Specialization, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    assumptions: tuple[Assumed, ...] = ()
    native_islands: tuple[NativeIsland, ...] = ()
    side_effects: tuple[IgnoredEffect, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __str__(self) -> str:
        parts: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ("problems, which a draft goes past", self.problems),
            ("constant although Dim.AUTO", self.specializations),
            ("left out although declared", self.left_out),
            ("writes that the program does not make", self.side_effects),
            ("functions that ran unseen", self.native_islands),
            ("values that the program keeps", self.assumptions),
        )
        lines = [
            line
            for title, found in parts
            if found
            for line in (title, *(f"    {each}   {each.place}".rstrip() for each in found))
        ]
        return "\n".join(lines) or "nothing to report"

    def _repr_html_(self) -> str:
        return _report_html(self)


def report_of(
    inputs: Inputs, facts: Facts, exclusions: Iterable[Exclusion], observed: Observations
) -> Report:
    """The report of a capture; what turned out constant or is ignored is logged, once."""
    report = Report(
        tuple(_specializations(inputs, facts)),
        tuple(_left_out(inputs, exclusions)),
        *_observations(observed),
    )
    _warn("constant although Dim.AUTO", report.specializations)
    _warn("writes that the program does not make", report.side_effects)
    return report


def _warn(title: str, found: Sequence[Specialization | IgnoredEffect]) -> None:
    if found:
        texts = [f"{each} ({each.place})" if each.place else str(each) for each in found]
        _LOGGER.warning("%s: %s", title, ", ".join(texts))


def _observations(
    observed: Observations,
) -> tuple[tuple[Assumed, ...], tuple[NativeIsland, ...], tuple[IgnoredEffect, ...]]:
    return (
        tuple(Assumed(*each) for each in observed.assumptions),
        tuple(NativeIsland(*each) for each in observed.islands),
        tuple(IgnoredEffect(*each) for each in observed.side_effects),
    )


def _specializations(inputs: Inputs, facts: Facts) -> Iterator[Specialization]:
    for size in inputs.dynamic:
        if isinstance(size.entry, DimHint) and size.entry.mode == "AUTO":
            value = facts.simplify(size.symbol)
            if isinstance(value, int):
                yield Specialization(size.where, value, _lines(size.symbol, facts))
    for leaf in inputs.leaves:
        number = leaf.number
        if not isinstance(number, Real) or leaf.path in inputs.insisted:
            continue
        if facts.known(eq(number, leaf.value)):
            (symbol,) = number.symbols
            yield Specialization(leaf.path, leaf.value, _lines(symbol, facts))


def _left_out(inputs: Inputs, exclusions: Iterable[Exclusion]) -> Iterator[LeftOut]:
    for each in exclusions:
        size = next(size for size in inputs.dynamic if size.symbol is each.symbol)
        value = evaluate(size.size, {each.symbol: each.value})
        yield LeftOut(size.where, value, each.what, each.at)


def _lines(symbol: Expr, facts: Facts) -> tuple[Spot, ...]:
    """Where the first guard about it comes from; an equation before anything else."""
    about = [guard for guard in facts.guards if symbol in guard.relation.symbols]
    about.sort(key=lambda guard: guard.relation.kind != "eq")
    return next(filter(None, (spots(guard.origin) for guard in about)), ())


__all__ = [
    "Assumed",
    "Because",
    "IgnoredEffect",
    "LeftOut",
    "NativeIsland",
    "Problem",
    "Report",
    "Specialization",
    "problem_of",
    "report_of",
]
