"""Branch equivalence: a branch on a size of 0 or 1 whose two sides come to the same asks nothing.

`if n != 1: x = x.expand(n, -1)` asks whether n is 1, and `n == 1 and not compiling()` does in vain:
at n = 1 the way not taken comes to where the way taken comes by, with the same variables. Then
nothing needs to be guarded. Which way that is, and what its values are at n = 1, is looked at
without running it (`pure_evaluation`); where that cannot be done without having an effect, the
question is decided as any other, by the example and with a guard.

Law: if a question is overlooked, then at the sizes it told apart the program goes on from where the
ways meet as at all others. A view with the sizes of what it views is what it views.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import SymbolNode
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.branches.pure_evaluation import (
    Method,
    Standpoint,
    Unsure,
    asker,
    sides,
    standpoint,
    walk,
)
from monograph.bytecode.linking import link
from monograph.integers import (
    Expr,
    Relation,
    all_of,
    any_of,
    declared_interval,
    eq,
    ne,
    negate,
    substitute,
    substitute_relation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from monograph.integers import Facts, Truth

_SYMBOLIC: Final = (torch.SymInt, torch.SymBool)
_TRUTH_OF_INT: Final = torch.SymInt.__bool__.__code__
_TOLD_BY_VALUE: Final = frozenset({int, bool, str, type(None)})
_TUPLES: Final = frozenset({tuple, torch.Size})
_PLAIN: Final = _TOLD_BY_VALUE | {float, list, tuple, dict, set}
"""Kinds whose truth is Python's own."""
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "!=": operator.ne,
        "*": operator.mul,
        "+": operator.add,
        "-": operator.sub,
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
_ATTRIBUTES: Final = frozenset({"ndim", "shape"})


def overlooked(facts: Facts, asked: Truth, value: Any, frame: FrameType | None) -> bool | None:
    """The example's answer to whether `value` is true, where no small size needs another answer.

    That is `asked`, and `frame` calls for it. Where only some sizes need another, they are guarded.
    None where it must be decided.
    """
    if not isinstance(asked, Relation) or facts.prove(asked) is not None:
        return None
    example = facts.hint_of_relation(asked)
    if example is None:
        return None
    told_apart = _told_apart(facts, asked if example else negate(asked))
    caller = asker(frame)
    if caller is not None and caller.f_code is _TRUTH_OF_INT:
        value, caller = caller.f_locals["self"], asker(caller.f_back)  # pyright: ignore[reportArgumentType] - it is native
    if told_apart is None or caller is None:
        return None
    symbol, values = told_apart
    start, offset = standpoint(caller), caller.f_lasti
    alike = [v for v in values if _meet(start, offset, value, _AtSize({symbol: v}), example)]
    if not alike:
        return None
    answered = any_of(asked if example else negate(asked), *[eq(symbol, v) for v in alike])
    if len(alike) < len(values):
        facts.guard(all_of(*[ne(symbol, v) for v in values if v not in alike]))
    facts.premises[answered] = True
    return example


def decides_nothing(answer: bool, frame: FrameType | None) -> bool:  # noqa: FBT001 - what was told
    """Whether code that was told `answer` by what it calls now goes on alike after either answer.

    `torch.is_grad_enabled() and self.checkpoints` asks in vain where nothing is checkpointed.
    """
    caller = asker(frame)
    if caller is None:
        return False
    offsets = link(caller.f_code).offsets
    after = bisect_right(offsets, caller.f_lasti)
    if after >= len(offsets):
        return False
    return _meet(standpoint(caller), offsets[after], answer, _AtSize({}), answer)


def is_about_small(facts: Facts, guard: Truth) -> bool:
    """Whether a guard leaves out nothing but a size of 0 or 1."""
    return _told_apart(facts, guard) is not None


def _told_apart(facts: Facts, guard: Truth) -> tuple[Expr, list[int]] | None:
    """The only size a guard is about and its only values, 0 and 1, for which it does not hold."""
    if not isinstance(guard, Relation) or len(guard.symbols) != 1:
        return None
    (symbol,) = guard.symbols
    if symbol not in facts.hints or symbol in facts.float_inputs:
        return None
    lower = facts.range_of(symbol).lower
    values = [value for value in (0, 1) if value in declared_interval(symbol) and value >= lower]
    try:
        values = [value for value in values if substitute_relation(guard, {symbol: value}) is False]
    except ZeroDivisionError:  # eager code raises there
        return None
    others = all_of(*[ne(symbol, value) for value in values])
    rest = facts.copy()
    rest.assume(others)
    return (symbol, values) if values and rest.known(guard) is True else None


def _meet(start: Standpoint, offset: int, value: Any, meaning: _AtSize, example: Any) -> bool:
    """Whether both ways come by one place with the same variables, at this size."""
    ways = sides(start, offset, meaning.at(value))
    if ways is None:
        return False
    taken, passed = ways[example], dict[int, Standpoint]()
    for point in walk(ways[not example], meaning):
        if point.ip == taken.ip and _same(point, taken, meaning):
            return True
        passed.setdefault(point.ip, point)
    return any(
        point.ip in passed and _same(point, passed[point.ip], meaning)
        for point in walk(taken, meaning)
    )


def _same(one: Standpoint, other: Standpoint, meaning: _AtSize) -> bool:
    return (
        len(one.stack) == len(other.stack)
        and one.variables.keys() == other.variables.keys()
        and all(map(meaning.same, one.stack, other.stack))
        and all(meaning.same(value, other.variables[name]) for name, value in one.variables.items())
    )


class _AtSize:
    """What values mean where sizes have these values (see `pure_evaluation.Meaning`)."""

    def __init__(self, values: Mapping[Expr, int]) -> None:
        self._values = values

    def at(self, value: Any) -> Any:
        """A number or truth at this size; anything else as it is."""
        known = value
        if isinstance(value, _SYMBOLIC):
            known = value.node.settled() if isinstance(value.node, SymbolNode) else value
        try:
            if isinstance(known, Relation):
                return substitute_relation(known, self._values)
            return substitute(known, self._values) if isinstance(known, Expr) else known
        except ZeroDivisionError:  # it has no value there
            return object()

    def same(self, one: Any, other: Any) -> bool:
        """Whether code cannot tell two values apart."""
        if one is other:
            return True
        one, other = self.at(one), self.at(other)
        if one is other:
            return True
        return type(one) is type(other) and type(one) in _TOLD_BY_VALUE and one == other

    def truth(self, value: Any) -> bool:
        """Of numbers, texts and containers."""
        value = self.at(value)
        if type(value) not in _PLAIN:
            raise Unsure
        return bool(value)

    def operate(self, symbol: str, left: Any, right: Any) -> Any:
        """Of numbers and texts."""
        left, right = self.at(left), self.at(right)
        if type(left) not in _TOLD_BY_VALUE or type(right) not in _TOLD_BY_VALUE:
            raise Unsure
        return _OPERATORS[symbol](left, right)

    def attribute(self, owner: Any, name: str) -> Any:
        """Of tensors, and what stands in the dictionary of an object and nowhere else."""
        if isinstance(owner, AbstractTensor):
            if name not in _ATTRIBUTES:
                raise Unsure
            return getattr(owner, name)
        kind: Any = type(owner)
        is_its_own = kind.__getattribute__ is object.__getattribute__
        if not is_its_own or any(name in vars(base) for base in kind.__mro__):
            raise Unsure
        if name not in vars(owner):
            raise Unsure
        return vars(owner)[name]

    def item(self, owner: Any, key: Any) -> Any:
        """Of a tuple, such as a shape."""
        if type(owner) not in _TUPLES or type(key) is not int:
            raise Unsure
        return owner[key]

    def call(self, callee: Any, args: list[Any]) -> Any:
        """`expand` to the sizes that a tensor has."""
        if not isinstance(callee, Method) or not isinstance(callee.owner, AbstractTensor):
            raise Unsure
        sizes: Any = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        shape = callee.owner.tensor_type.shape
        if callee.name != "expand" or len(sizes) != len(shape):
            raise Unsure
        for size, wanted in zip(shape, sizes, strict=True):
            if self.at(wanted) != -1 and not self.same(self.at(size), wanted):
                raise Unsure
        return callee.owner

    def formatted(self, value: Any, conversion: str, spec: str) -> str:
        """Texts are not looked into."""
        del value, conversion, spec
        raise Unsure


__all__ = ["decides_nothing", "is_about_small", "overlooked"]
