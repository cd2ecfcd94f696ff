"""Suggested fixes: what the declaration should have been, from what was learnt.

Law: an export with the suggested declaration is not refused for the reasons this one was. A named
size that is constant becomes that number, one that follows another becomes a multiple of that,
one that is only taken by twos becomes `2*_n`; a narrowed range becomes the range of its Dim.
Conditions that no declaration says (`a*b <= 100`, `b != 4`) are left to the contract.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.diagnostics import Repair
from monograph.dims import DerivedDim, Dim, DimHint, Fixes, Size, declaration_source, refined
from monograph.dims.source import root_lines
from monograph.integers import (
    Expr,
    Real,
    Relation,
    eq,
    is_symbol,
    substitute_relation,
    terms,
    text,
)
from monograph.integers.structure import replace_atom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monograph.capture.inputs.example_inputs import DynamicSize, Inputs
    from monograph.integers import Facts, Int, Truth

SMALL = 2
"""Sizes 0 and 1 may be special to an operator; excluding them is no disagreement by itself."""

_LARGEST_PERIOD = 1024
"""Sizes that the model takes only every so often are looked for up to here."""


@dataclass(frozen=True, slots=True)
class Period:
    """The model takes only sizes that leave `rest` when divided by `divisor`."""

    divisor: int
    rest: int


def named_roots(inputs: Inputs) -> dict[Expr, Dim]:
    """The Dim that each named symbol was declared as, in order of appearance."""
    found: dict[Expr, Dim] = {}
    for size in inputs.dynamic:
        if not isinstance(size.entry, DimHint):
            root = size.entry if isinstance(size.entry, Dim) else size.entry.root
            found.setdefault(size.symbol, root)
    return found


def period_of(symbol: Expr, inputs: Inputs, facts: Facts) -> Period | None:
    """The greatest divisor of which the model takes only one rest, if guards say so."""
    found = {
        divisor
        for guard in facts.guards
        if guard.origin is not None and symbol in _resolved_symbols(guard.relation, facts)
        for divisor in _divisors(substitute_relation(guard.relation, facts.replacements), symbol)
    }
    learnt = facts.simplify(symbol)
    if isinstance(learnt, Expr) and learnt is not symbol:
        found |= {abs(coefficient) for coefficient, atoms in terms(learnt) if len(atoms) == 1}
    least = math.lcm(*found)
    if not found or least > _LARGEST_PERIOD:
        return None
    example = inputs.examples[symbol]
    for divisor in range(least, 1, -1):
        if least % divisor == 0 and facts.prove(eq(symbol % divisor, example % divisor)):
            return Period(divisor, example % divisor)
    return None


def _resolved_symbols(relation: Relation, facts: Facts) -> frozenset[Expr]:
    resolved = substitute_relation(relation, facts.replacements)
    return resolved.symbols if isinstance(resolved, Relation) else frozenset()


def _divisors(relation: Truth, symbol: Expr) -> Iterator[int]:
    """What an equation of this symbol alone divides by."""
    if not isinstance(relation, Relation) or relation.symbols != frozenset((symbol,)):
        return
    if relation.kind == "and":
        for each in relation.args:
            yield from _divisors(each, symbol)
    elif relation.kind == "eq":
        for _, atoms in terms(relation.expr):
            for atom in atoms:
                if atom.kind == "floordiv" and isinstance(atom.int_args[1], int):
                    yield atom.int_args[1]


def replacement(symbol: Expr, inputs: Inputs, facts: Facts) -> Size | None:
    """What a named size must be declared as instead; None if the name stays.

    A `DerivedDim` of a name that is not declared yet has that name in its root, `_n` of `n`.
    """
    learnt = facts.simplify(symbol)
    if isinstance(learnt, int):
        return learnt
    stated = inputs.stated.get(symbol)
    if stated is not None and facts.simplify(stated) is learnt:
        return None
    roots = named_roots(inputs)
    if learnt is symbol or not learnt.symbols <= roots.keys():
        return _every_so_often(symbol, inputs, facts)
    learnt, _ = _without_small(learnt)
    if isinstance(learnt, int):
        return _found_out(roots[symbol])
    if len(learnt.symbols) > 1:
        return _found_out(roots[symbol])
    (other,) = learnt.symbols
    if is_symbol(learnt):
        return roots[other]
    parts = {atoms: coefficient for coefficient, atoms in terms(learnt)}
    offset = parts.pop((), 0)
    if parts.keys() != {(other,)} or parts[(other,)] < 0:
        return _found_out(roots[symbol])
    return DerivedDim(roots[other], parts[(other,)], offset)


def _without_small(e: Expr) -> tuple[Int, dict[Expr, int]]:
    """An expression with `min(n, 1)` as 1, and from where on the symbols make that true."""
    least: dict[Expr, int] = {}
    found: Int = e
    for _, atoms in terms(e):
        for atom in atoms:
            if atom.kind != "min" or len(atom.int_args) != 2:
                continue
            size, end = sorted(atom.int_args, key=lambda arg: isinstance(arg, int))
            if is_symbol(size) and isinstance(size, Expr) and isinstance(end, int) and end <= SMALL:
                least[size] = max(end, least.get(size, 0))
                found = replace_atom(found, atom, end)
    return found, least


def _found_out(root: Dim) -> DimHint:
    """What no Dim says is left to capture, within the declared range."""
    return Dim.AUTO(min=root.min or None, max=root.max)


def _every_so_often(symbol: Expr, inputs: Inputs, facts: Facts) -> DerivedDim | None:
    period = period_of(symbol, inputs, facts)
    if period is None:
        return None
    roots = named_roots(inputs)
    taken = {root.__name__ for root in roots.values()}
    name = f"_{roots[symbol].__name__}"
    while name in taken:
        name = f"_{name}"
    lower, upper = range_taken(symbol, inputs, facts)
    root = Dim(
        name,
        min=max(-((period.rest - lower) // period.divisor), 0) or None,
        max=None if upper is None else (upper - period.rest) // period.divisor,
    )
    return DerivedDim(root, period.divisor, period.rest)


def range_taken(symbol: Expr, inputs: Inputs, facts: Facts) -> tuple[int, int | None]:
    """The declared range of a size as far as the model takes it."""
    lower, upper = facts.range_of(symbol)
    least, most = inputs.allowed[symbol]
    if lower <= max(least, SMALL) and not _is_followed(symbol, inputs, facts):
        lower = least
    return (
        lower if isinstance(lower, int) else 0,
        upper if isinstance(upper, int) else most if isinstance(most, int) else None,
    )


def _is_followed(symbol: Expr, inputs: Inputs, facts: Facts) -> bool:
    """Whether a size that turned out to follow this one was declared with a least value."""
    return any(
        other is not symbol
        and inputs.allowed[other].lower > 0
        and isinstance(learnt := facts.simplify(other), Expr)
        and symbol in learnt.symbols
        for other in named_roots(inputs)
    )


def narrowed(symbol: Expr, inputs: Inputs, facts: Facts) -> Dim | None:
    """The Dim with the range that the model takes, None if that is the declared one."""
    root = named_roots(inputs)[symbol]
    lower, upper = range_taken(symbol, inputs, facts)
    least, most = inputs.allowed[symbol]
    if lower == least and (upper == most or (upper is None and not isinstance(most, int))):
        return None
    return Dim(root.__name__, min=lower or None, max=upper)


def fixes_of(inputs: Inputs, facts: Facts) -> Fixes:
    """Everything that is to change in the declaration."""
    equations: dict[str, Size] = {}
    roots: dict[str, Dim] = {}
    relations: list[str] = []
    least: dict[Expr, int] = {}
    declared = named_roots(inputs)
    for symbol, root in declared.items():
        name, size = root.__name__, replacement(symbol, inputs, facts)
        if size is None:
            smaller = narrowed(symbol, inputs, facts)
            roots |= {} if smaller is None else {name: smaller}
            continue
        equations[name] = size
        if isinstance(size, DerivedDim):
            if size.root not in declared.values():
                roots[size.root.__name__] = size.root
            least |= _least_of(facts.simplify(symbol))
        elif isinstance(size, DimHint):
            relations.append(f"{name} == {text(facts.simplify(symbol), inputs.names)}")
    for symbol, lower in least.items():
        root = roots.get(declared[symbol].__name__, declared[symbol])
        if root.min < lower:
            roots[root.__name__] = Dim(root.__name__, min=lower, max=root.max)
    return Fixes(equations, roots, dict(_places(inputs, facts)), tuple(relations))


def _least_of(learnt: Int) -> dict[Expr, int]:
    return _without_small(learnt)[1] if isinstance(learnt, Expr) else {}


def _places(inputs: Inputs, facts: Facts) -> Iterator[tuple[str, Size]]:
    """Hints that insist on varying, and do not."""
    for size in inputs.dynamic:
        if _insists(size):
            learnt = facts.simplify(size.symbol)
            if isinstance(learnt, int):
                yield size.where, learnt
    for leaf in inputs.leaves:
        number = leaf.number
        if not isinstance(number, Real) or leaf.path not in inputs.insisted:
            continue
        if facts.known(eq(number, leaf.value)):
            yield leaf.path, leaf.value


def _insists(size: DynamicSize) -> bool:
    return isinstance(size.entry, DimHint) and size.entry.mode == "DYNAMIC"


def repair_of(inputs: Inputs, facts: Facts) -> Repair:
    """The repaired declaration, as a value, as fixes, and as source."""
    fixes = fixes_of(inputs, facts)
    value = refined(inputs.declaration, fixes, inputs.arguments)
    source = f"dynamic_shapes={declaration_source(value)}"
    return Repair(value, fixes.lines(), (*root_lines(value), *source.split("\n")))


__all__ = [
    "SMALL",
    "Period",
    "fixes_of",
    "named_roots",
    "narrowed",
    "period_of",
    "range_taken",
    "repair_of",
    "replacement",
]
