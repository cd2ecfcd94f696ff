"""What an export found out that its user may not expect: data, for reports and for people.

Nothing here is silent: sizes that were left to capture and turned out constant are also logged.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from monograph.dims import DimHint
from monograph.integers import Real, eq
from monograph.program.contract import spots, where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monograph.capture.inputs import Inputs
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
class Report:
    """What one export found out.

    >>> print(Report((Specialization("x.shape[1]", 4),)))
    constant although Dim.AUTO
        x.shape[1] == 4
    """

    specializations: tuple[Specialization, ...] = ()

    def __str__(self) -> str:
        if not self.specializations:
            return "nothing to report"
        lines = [f"    {each}" for each in self.specializations]
        return "\n".join(["constant although Dim.AUTO", *lines])


def report_of(inputs: Inputs, facts: Facts) -> Report:
    """The report of a capture; what turned out constant is logged as a warning, once."""
    report = Report(tuple(_specializations(inputs, facts)))
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


def _lines(symbol: Expr, facts: Facts) -> tuple[Spot, ...]:
    """Where the first guard about it comes from; an equation before anything else."""
    about = [guard for guard in facts.guards if symbol in guard.relation.symbols]
    about.sort(key=lambda guard: guard.relation.kind != "eq")
    return next(filter(None, (spots(guard.origin) for guard in about)), ())


__all__ = ["Report", "Specialization", "report_of"]
