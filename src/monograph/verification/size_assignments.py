"""Test-input generation, part one: values of size symbols that satisfy a contract's relations.

Candidates are the ends of ranges, 0, 1, primes, multiples, and sizes around the example's. A draw
changes some symbols of an assignment that is known to hold, and is kept where all relations do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.integers import evaluate, holds, relation_symbols, symbols
from monograph.program.contract import TensorClause, example_sizes, sizes_of

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from monograph.integers import Expr, Int, Relation
    from monograph.program.contract import Contract

    Assignment = dict[Expr, int]

SMALL: Final = (0, 1, 2, 3, 5, 7, 8, 11, 13, 16)
FARTHEST: Final = 2048
"""Beyond the least value that is legal, no size is drawn that is greater than this."""
TRIES: Final = 200
TOGETHER: Final = 0.7
"""So often, sizes that are equal in the example stay so: modules raise at most others."""
WORK: Final = 1 << 30
"""A draw asks for no more FLOPs and bytes than this, or four times what the example does."""


class SizeAssignments:
    """Draws values for the symbols of a contract; the example's are the first."""

    def __init__(self, contract: Contract, example: Sequence[Any] | None, work: Int = 0) -> None:
        """`example` is the flat example, where there is one; `work` what a call costs."""
        self._contract, self._work = contract, work
        self._unknown = dict.fromkeys(symbols(work), 1)
        self._ranges = {symbol: (lower, upper) for symbol, lower, upper in contract.ranges}
        for clause in contract.clauses:
            for size in sizes_of(clause):
                for symbol in symbols(size):
                    self._ranges.setdefault(symbol, (0, None))
        known = self._ranges.keys()
        self._relations: list[Relation] = [
            guard.relation for guard in contract.guards if relation_symbols(guard.relation) <= known
        ]
        self.example = self._of_example(example)
        self._most = max(WORK, 4 * self._cost(self.example))

    def of_values(self, values: Sequence[int]) -> Assignment:
        """The assignment of these values, in order. Raises: ValueError (not of this contract)."""
        found = dict(zip(self.example, values, strict=True))
        if found != self.example and not self.holds(found):
            raise ValueError(f"the contract forbids {self.names(found)}")
        return found

    def names(self, assignment: Mapping[Expr, int]) -> dict[str, int]:
        """An assignment by the names that its symbols have for users."""
        names = self._contract.names
        return {names.get(symbol, str(symbol)): value for symbol, value in assignment.items()}

    def holds(self, assignment: Mapping[Expr, int]) -> bool:
        """Whether ranges and relations hold."""
        return self._in_ranges(assignment) and self._related(assignment)

    def draw(self, rng: random.Random) -> Assignment:
        """Return an assignment that holds; the example's where no other is found."""
        for _ in range(TRIES):
            drawn = dict(self.example)
            some = [symbol for symbol in drawn if rng.random() < 0.7] or list(drawn)[:1]
            for symbol in some:
                drawn[symbol] = rng.choice(self._candidates(symbol, rng))
            if rng.random() < TOGETHER:
                first = {self.example[symbol]: value for symbol, value in drawn.items()}
                drawn = {symbol: first[value] for symbol, value in self.example.items()}
            if self.holds(drawn) and self._cost(drawn) <= self._most:
                return drawn
        return dict(self.example)

    def is_tied(self, assignment: Mapping[Expr, int]) -> bool:
        """Whether sizes that are equal in the example are equal in it."""
        first = {self.example[symbol]: value for symbol, value in assignment.items()}
        return all(first[self.example[each]] == value for each, value in assignment.items())

    def break_one(self, rng: random.Random) -> Assignment | None:
        """Return an assignment that some range or relation forbids; no size is negative."""
        for _ in range(TRIES):
            drawn = dict(self.example)
            if not drawn:
                return None
            symbol = rng.choice(list(drawn))
            lower, upper = self._ranges[symbol]
            beyond = [*([upper + 1] if upper is not None else []), (lower or 0) - 1]
            drawn[symbol] = rng.choice([*beyond, rng.choice(SMALL), drawn[symbol] + 1])
            if not self.holds(drawn) and self._is_possible(drawn):
                return drawn
        return None

    def _is_possible(self, drawn: Assignment) -> bool:
        sizes = [
            evaluate(size, drawn) for each in self._contract.clauses for size in sizes_of(each)
        ]
        return all(size >= 0 for size in sizes) and self._cost(drawn) <= self._most

    def _candidates(self, symbol: Expr, rng: random.Random) -> list[int]:
        lower, upper = self._ranges[symbol]
        least = lower or 0
        hint = self.example.get(symbol, least)
        found = [*SMALL, hint - 1, hint + 1, 2 * hint, 3 * hint, hint + 2 * rng.randrange(1, 9)]
        found += [least, least + 1, least + rng.randrange(64), hint + 8 * rng.randrange(1, 5)]
        found += [1 << rng.randrange(3, 10)]
        if upper is not None:
            found += [upper, upper - 1]
        most = max(least, FARTHEST) if upper is None else min(upper, max(least, FARTHEST))
        return [value for value in found if least <= value <= most] or [least]

    def _of_example(self, example: Sequence[Any] | None) -> Assignment:
        found = example_sizes(self._contract, example or ())
        for symbol, (lower, upper) in self._ranges.items():
            found.setdefault(symbol, max(lower or 0, 2) if upper is None else upper)
        return found

    def _cost(self, assignment: Mapping[Expr, int]) -> int:
        """FLOPs and bytes, of which inputs are a part; sizes that depend on data count as 1."""
        clauses = self._contract.clauses
        taken = sum(
            _product(each, assignment) for each in clauses if isinstance(each, TensorClause)
        )
        try:
            return taken + evaluate(self._work, {**self._unknown, **assignment})
        except ArithmeticError:  # a formula that divides by a size of 0
            return taken

    def _in_ranges(self, assignment: Mapping[Expr, int]) -> bool:
        for symbol, value in assignment.items():
            lower, upper = self._ranges[symbol]
            if (lower is not None and value < lower) or (upper is not None and value > upper):
                return False
        return True

    def _related(self, assignment: Mapping[Expr, int]) -> bool:
        return all(holds(relation, assignment) for relation in self._relations)


def _product(clause: TensorClause, assignment: Mapping[Expr, int]) -> int:
    count = 1
    for size in clause.shape:
        count *= evaluate(size, assignment)
    return count


__all__ = ["SizeAssignments"]
