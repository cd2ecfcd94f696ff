"""Constraint checking: what was learnt about sizes is compared with what the user declared.

`Dim.AUTO` may turn out anything. `Dim.DYNAMIC` must not turn out constant. A named `Dim` must keep
its range and its independence of other names. All disagreements are raised together, with the
declaration that would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.capture.inputs.suggestions import (
    named_roots,
    narrowed,
    range_taken,
    repair_of,
    replacement,
)
from monograph.diagnostics import Cause, ConstraintViolation, MonographError, problem, together
from monograph.dims import DerivedDim, Dim, DimHint
from monograph.integers import Expr, Real, eq, relation_text, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.capture.inputs.example_inputs import DynamicSize, Inputs
    from monograph.dims import Size
    from monograph.integers import Facts, Guard


def check_declarations(inputs: Inputs, facts: Facts) -> None:
    """Raises: dim-specialised, dims-must-be-equal, relation-not-declared, dim-range-violated."""
    problems = broken_declarations(inputs, facts)
    if problems:
        error = together(problems)
        if isinstance(error, ConstraintViolation):
            error.repair = repair_of(inputs, facts)
        raise error


def broken_declarations(inputs: Inputs, facts: Facts) -> list[MonographError]:
    """A refusal for each declaration that what was learnt contradicts."""
    problems: list[MonographError] = []
    checked: set[Expr] = set()
    for size in inputs.dynamic:
        if size.symbol in checked:
            continue
        checked.add(size.symbol)
        if isinstance(size.entry, DimHint):
            problems += _hint(size, inputs, facts)
        else:
            problems += _named(size, inputs, facts)
    return problems + _fixed_floats(inputs, facts)


def _hint(size: DynamicSize, inputs: Inputs, facts: Facts) -> list[MonographError]:
    learnt = facts.simplify(size.symbol)
    if not isinstance(learnt, int) or size.may_be_fixed:
        return []
    return [_specialised(size.where, size.where, learnt, size.symbol, inputs, facts)]


def _named(size: DynamicSize, inputs: Inputs, facts: Facts) -> list[MonographError]:
    instead = replacement(size.symbol, inputs, facts)
    name = _name(size, inputs)
    match instead:
        case None:
            return _range(size, inputs, facts)
        case DimHint() | DerivedDim():
            deferred = inputs.options.relations_deferred and _is_unspelt(instead, inputs)
            return [] if deferred else [_related(size, instead, inputs, facts)]
        case Dim():
            at, causes = _causes(size.symbol, inputs, facts, _is_equation)
            other = next(entry for entry in inputs.dynamic if _name(entry, inputs) == str(instead))
            return [
                problem(
                    "dims-must-be-equal",
                    at=at,
                    causes=causes,
                    first=_name(other, inputs),
                    second=name,
                    first_path=other.where,
                    second_path=size.where,
                )
            ]
        case _:
            return [_specialised(size.where, name, instead, size.symbol, inputs, facts)]


def _specialised(
    path: str, dim: str, value: Any, symbol: Expr, inputs: Inputs, facts: Facts
) -> MonographError:
    at, _ = _causes(symbol, inputs, facts, _is_equation)
    return problem("dim-specialised", at=at, path=path, dim=dim, value=value)


def _fixed_floats(inputs: Inputs, facts: Facts) -> list[MonographError]:
    """Floats that were to differ between calls, and that the model fixes to the example's."""
    problems: list[MonographError] = []
    for leaf in inputs.leaves:
        if isinstance(leaf.number, Real) and leaf.path in inputs.insisted:
            (symbol,) = leaf.number.symbols
            if facts.known(eq(leaf.number, leaf.value)):
                path, value = leaf.path, leaf.value
                problems.append(_specialised(path, path, value, symbol, inputs, facts))
    return problems


def _related(size: DynamicSize, instead: Size, inputs: Inputs, facts: Facts) -> MonographError:
    """A size that follows others in a way that its name does not say."""
    name, learnt = _name(size, inputs), facts.simplify(size.symbol)
    is_new = isinstance(instead, DerivedDim) and _is_unspelt(instead, inputs)
    if isinstance(instead, DerivedDim) and is_new:
        relation = f"{name} % {instead.coefficient} == {instead.offset}"
    else:
        relation = f"{name} == {text(learnt, inputs.names)}"
    at, causes = _causes(size.symbol, inputs, facts, _divides if is_new else _is_equation)
    about = {size.symbol} if is_new or isinstance(learnt, int) else {size.symbol, *learnt.symbols}
    places = {each.symbol: f"`{each.where}`" for each in reversed(inputs.dynamic)}
    return problem(
        "relation-not-declared",
        at=at,
        causes=causes,
        relation=relation,
        dims=" and ".join([places[symbol] for symbol in places if symbol in about][::-1]),
        suggestion="" if isinstance(instead, DimHint) else f"{name} = {instead!r}",
    )


def _is_unspelt(instead: Size, inputs: Inputs) -> bool:
    """Whether the relation is none between declared names."""
    return not isinstance(instead, DerivedDim) or instead.root not in named_roots(inputs).values()


def _range(size: DynamicSize, inputs: Inputs, facts: Facts) -> list[MonographError]:
    if narrowed(size.symbol, inputs, facts) is None:
        return []
    root = named_roots(inputs)[size.symbol]
    at, causes = _causes(size.symbol, inputs, facts, lambda guard: guard.relation.kind == "ge")
    return [
        problem(
            "dim-range-violated",
            at=at,
            causes=causes,
            path=size.where,
            dim=root.__name__,
            declared=_range_text(root.min, root.max),
            needed=_range_text(*range_taken(size.symbol, inputs, facts)),
        )
    ]


def _range_text(lower: int, upper: int | None) -> str:
    return f"{lower} and more" if upper is None else f"{lower} … {upper}"


def _name(size: DynamicSize, inputs: Inputs) -> str:
    return inputs.names.get(size.symbol, str(size.symbol))


def _is_equation(guard: Guard) -> bool:
    return guard.relation.kind == "eq"


def _divides(guard: Guard) -> bool:
    return guard.relation.kind == "eq" and "//" in repr(guard.relation)


def _causes(
    symbol: Expr, inputs: Inputs, facts: Facts, matters: Callable[[Guard], bool]
) -> tuple[Any, tuple[Cause, ...]]:
    """The line of the first guard about this symbol, and up to two others as causes.

    Only those that `matters` picks, if there are any.
    """
    about = [
        guard
        for guard in facts.guards
        if symbol in guard.relation.symbols and isinstance(guard.origin, tuple) and guard.origin
    ]
    found = [
        Cause(guard.origin[:1], relation_text(guard.relation, inputs.names))
        for guard in list(filter(matters, about)) or about
        if isinstance(guard.origin, tuple)
    ]
    return (found[0].at if found else ()), tuple(found[1:3])
