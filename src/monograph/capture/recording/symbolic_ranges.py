"""Symbolic ranges: `range` of a symbolic number is unrolled when somebody asks for a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.symbols import to_python, to_sym
from monograph.bytecode import ours
from monograph.integers import Expr, ceildiv, ge, known, maximum, simplify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monograph.integers import Int


@ours
class SymbolicRange:
    """`range(start, stop, step)` of symbolic numbers, where `step` is positive if it is symbolic.

    Whoever wants the numbers fixes them, unless there are as many for every start and stop.
    """

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step

    def plain(self) -> range:
        """The range itself, which fixes its bounds."""
        return range(int(self.start), int(self.stop), int(self.step))

    def numbers(self) -> list[Any] | range:
        """All numbers, one by one."""
        count, start, step = self.expression(), to_python(self.start), to_python(self.step)
        if isinstance(count, Expr):
            return self.plain()
        return [to_sym(start + step * n) for n in range(count)]

    def length(self) -> Any:
        """How many numbers there are."""
        count = self.expression()
        return to_sym(count) if isinstance(count, Expr) else len(self)

    def expression(self) -> Int:
        """How many numbers there are, as an expression."""
        start, stop, step = map(to_python, (self.start, self.stop, self.step))
        is_up = isinstance(step, Expr) or step > 0
        span, pace = (stop - start, step) if is_up else (start - stop, -step)
        count = simplify(ceildiv(span, pace) if pace != 1 else span)
        return count if known(ge(count, 0)) is True else maximum(count, 0)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers())

    def __reversed__(self) -> Iterator[int]:
        return reversed(self.numbers())

    def __len__(self) -> int:
        return len(self.numbers())

    def __contains__(self, value: object) -> bool:
        return value in self.plain()

    def __getitem__(self, key: Any) -> Any:
        return self.numbers()[key]

    def __eq__(self, other: object) -> bool:
        return self.plain() == (other.plain() if isinstance(other, SymbolicRange) else other)

    def __hash__(self) -> int:
        return hash(self.plain())

    def __repr__(self) -> str:
        return repr(self.plain())

    def count(self, value: Any) -> int:
        """As of any range."""
        return self.plain().count(value)

    def index(self, value: Any) -> int:
        """As of any range."""
        return self.plain().index(value)


__all__ = ["SymbolicRange"]
