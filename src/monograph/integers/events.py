"""Events tell a listener what happens to the facts; `Facts.listener` receives them one at a time.

Law: nothing reads them back. Facts behave the same whether somebody listens or not.
Read by: logs.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from monograph.integers.expr import Expr, Int
from monograph.integers.interval import Interval
from monograph.integers.relation import Relation

__all__ = ["Event", "Narrowed", "Origin", "Replaced", "Standing", "Stated", "SymbolMade"]

Origin = object
"""Where a fact was stated: whatever `Facts.locate` returns, for the one who prints it."""

Standing: TypeAlias = Literal["fact", "guard", "assertion"]
"""Who checks a relation: nobody has to, the caller's inputs are, or the running program does."""


@dataclass(frozen=True, slots=True)
class SymbolMade:
    """A new symbol, unbacked where `hint` is None."""

    symbol: Expr
    hint: int | None
    source: str
    within: Interval
    origin: Origin


@dataclass(frozen=True, slots=True)
class Stated:
    """A relation is taken for true from now on."""

    relation: Relation
    standing: Standing
    origin: Origin


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The range of a symbol got smaller."""

    symbol: Expr
    before: Interval
    after: Interval
    origin: Origin


@dataclass(frozen=True, slots=True)
class Replaced:
    """A symbol turned out to equal something simpler, which `simplify` puts for it."""

    symbol: Expr
    value: Int
    origin: Origin


Event: TypeAlias = SymbolMade | Stated | Narrowed | Replaced
