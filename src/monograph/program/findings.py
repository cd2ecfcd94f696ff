"""What an export found out that its user may not expect: data, for reports and for people.

Nothing here is silent: sizes that were left to capture and turned out constant are also logged.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from monograph.dims import DimHint
from monograph.integers import Real, eq, evaluate
from monograph.program.contract import spots, where

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monograph.capture.inputs import Inputs
    from monograph.capture.probing import Exclusion
    from monograph.diagnostics import Spot
    from monograph.integers import Expr, Facts

_LOGGER: Final = logging.getLogger("monograph")


@dataclass(frozen=True, slots=True)
class Specialization:
    """A size or number declared `Dim.AUTO` that the model fixes; `at` are the lines that do."""

    path: str
    value: float
    at: tuple[Spot, ...] = ()

    @property
    def place(self) -> str:
        """The innermost line, as `model.py:12`; "" if unknown."""
        return where(self.at)

    def __str__(self) -> str:
        place = f"   {self.place}" if self.place else ""
        return f"{self.path} == {self.value}{place}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A size of 0 or 1 that was declared and is refused; `what` the module does differently there.

    `at` are the lines where it first does.
    """

    path: str
    value: int
    what: str
    at: tuple[Spot, ...] = ()

    @property
    def place(self) -> str:
        """The innermost line, as `model.py:12`; "" if unknown."""
        return where(self.at)

    def __str__(self) -> str:
        place = f"   {self.place}" if self.place else ""
        return f"{self.path} == {self.value}: there the module {self.what}{place}"


@dataclass(frozen=True, slots=True)
class Report:
    """What one export found out.

    >>> print(Report((Specialization("x.shape[1]", 4),)))
    constant although Dim.AUTO
        x.shape[1] == 4
    """

    specializations: tuple[Specialization, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __str__(self) -> str:
        found = {
            "constant although Dim.AUTO": self.specializations,
            "left out although declared": self.left_out,
        }
        lines = [
            line
            for title, each in found.items()
            if each
            for line in [title, *(f"    {finding}" for finding in each)]
        ]
        return "\n".join(lines) or "nothing to report"


def report_of(inputs: Inputs, facts: Facts, exclusions: Iterable[Exclusion]) -> Report:
    """The report of a capture; what turned out constant is logged as a warning, once."""
    report = Report(tuple(_specializations(inputs, facts)), tuple(_left_out(inputs, exclusions)))
    if report.specializations:
        found = ", ".join(
            [
                f"{each.path} == {each.value}" + (f" ({each.place})" if each.place else "")
                for each in report.specializations
            ]
        )
        _LOGGER.warning("constant although Dim.AUTO: %s", found)
    return report


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


__all__ = ["LeftOut", "Report", "Specialization", "report_of"]
