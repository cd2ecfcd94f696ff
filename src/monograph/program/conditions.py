"""Constraint provenance: which lines of the user constrain the inputs, or one size.

Sizes are written by where they are seen (`x.shape[0]`), so that each line can be tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.integers import Expr, declared_interval, relation_text, symbols, text
from monograph.program.contract import (
    Contract,
    FloatClause,
    NumberClause,
    TensorClause,
    range_text,
    spots,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from monograph.diagnostics import Spot
    from monograph.integers import Guard, Int, Interval
    from monograph.program.export_report import Report


@dataclass(frozen=True, slots=True)
class Condition:
    """One guard of a program: the relation over input paths, and the user's lines that asked."""

    relation: str
    at: tuple[Spot, ...] = ()

    @property
    def place(self) -> str:
        """The innermost line, as `model.py:12`; "" if the declaration says it."""
        return where(self.at)

    def __str__(self) -> str:
        return f"{self.relation}   {self.place}" if self.place else self.relation


class Conditions(tuple[Condition, ...]):
    """The guards of a program; prints one a line.

    >>> print(Conditions([Condition("x.shape[0] % 2 == 0"), Condition("n <= 8")]))
    x.shape[0] % 2 == 0
    n <= 8
    """

    __slots__ = ()

    def __str__(self) -> str:
        return _aligned([(each.relation, each.place) for each in self])


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that constrains one size: what is said, and where."""

    name: str
    lines: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        inside = _aligned(list(self.lines)).replace("\n", "\n    ")
        return f"{self.name}\n    {inside}"


def conditions_of(contract: Contract) -> Conditions:
    """The guards of a contract, written over input paths."""
    names = {**contract.names, **_paths(contract)}
    return Conditions([_condition(guard, names) for guard in contract.guards])


def explain_size(
    contract: Contract, report: Report, guards: tuple[Guard, ...], name: str
) -> Explanation:
    """What constrains a size, given by its path or by the name of its Dim.

    `guards` are all that were recorded, those that others imply included.

    Raises: ValueError, where no input has it.
    """
    sizes = dict(_sizes(contract))
    named = {text(symbol, contract.names): symbol for symbol in contract.names}
    size = sizes.get(name, named.get(name))
    if size is None:
        known = ", ".join(dict.fromkeys([*sizes, *named]))
        raise ValueError(f"no input has a size called {name!r}; there are: {known}")
    names = {**contract.names, **_paths(contract)}
    lines: list[tuple[str, str]] = []
    shown = text(size, contract.names)
    if shown != name:
        lines.append((f"is {shown}", ""))
    for symbol in sorted(symbols(size), key=lambda symbol: symbol.index):
        called = text(symbol, contract.names)
        lines.append((f"{called} is declared {_range(declared_interval(symbol))}", ""))
        about = (guard for guard in guards if symbol in guard.relation.symbols)
        conditions = [_condition(guard, names) for guard in about]
        lines += [(f"needs {each.relation}", each.place) for each in conditions]
        taken = next(((low, high) for s, low, high in contract.ranges if s is symbol), None)
        if taken is not None and _range(declared_interval(symbol)) != range_text(*taken):
            lines.append((f"so {called} is {range_text(*taken)}", ""))
    for each in report.specializations:
        if each.path == name:
            lines.append((f"so it is always {each.value}", each.place))
    about = {path for path, other in sizes.items() if other is size}
    for each in report.left_out:
        if each.path in about:
            lines.append((f"leaves out {each.value}: there the module {each.what}", each.place))
    return Explanation(name, tuple(lines or [("is fixed by the example", "")]))


def _condition(guard: Guard, names: Mapping[Expr, str]) -> Condition:
    return Condition(relation_text(guard.relation, names), spots(guard.origin))


def _sizes(contract: Contract) -> Iterator[tuple[str, Int]]:
    """Every size and number that an input shows, by its path."""
    for clause in contract.clauses:
        match clause:
            case TensorClause():
                for axis, size in enumerate(clause.shape):
                    yield f"{clause.path}.shape[{axis}]", size
            case NumberClause():
                yield clause.path, clause.value
            case FloatClause():
                yield clause.path, clause.symbol
            case _:
                pass


def _paths(contract: Contract) -> dict[Expr, str]:
    """Where each symbol is seen as it is; one that is only seen in a multiple keeps its name."""
    found: dict[Expr, str] = {}
    for path, size in _sizes(contract):
        if isinstance(size, Expr) and size in contract.names:
            found.setdefault(size, path)
    return found


def _range(span: Interval) -> str:
    lower, upper = [end if isinstance(end, int) else None for end in span]
    return range_text(lower, upper)


def _aligned(rows: list[tuple[str, str]]) -> str:
    width = max((len(left) for left, _ in rows), default=0)
    return "\n".join([f"{left:<{width}}   {right}".rstrip() for left, right in rows])


__all__ = ["Condition", "Conditions", "Explanation", "conditions_of", "explain_size"]
