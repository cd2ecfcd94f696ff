"""After the run, what was learnt about sizes is compared with what the user declared.

`Dim.AUTO` may turn out anything. `Dim.DYNAMIC` must not turn out constant. A named `Dim` must keep
its range and its independence of other names. All disagreements are raised together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import Cause, MonographError, problem, together
from monograph.dims import Dim, DimHint
from monograph.integers import Expr, Real, eq, is_symbol, relation_text, text

if TYPE_CHECKING:
    from monograph.capture.inputs import DynamicSize, Inputs
    from monograph.integers import Facts

_SMALL = 2
"""Sizes 0 and 1 may be special to an operator; excluding them is no disagreement by itself."""


def check_declarations(inputs: Inputs, facts: Facts) -> None:
    """Raises: dim-specialised, dims-must-be-equal, relation-not-declared, dim-range-violated."""
    problems: list[MonographError] = []
    checked: set[Expr] = set()
    for size in inputs.dynamic:
        if size.symbol in checked or (
            isinstance(size.entry, DimHint) and size.entry.mode == "AUTO"
        ):
            continue
        checked.add(size.symbol)
        problems += _check(size, inputs, facts)
    problems += _fixed_floats(inputs, facts)
    if problems:
        raise together(problems)


def _check(size: DynamicSize, inputs: Inputs, facts: Facts) -> list[MonographError]:
    path = size.where
    learnt = facts.simplify(size.symbol)
    causes = _causes(size.symbol, inputs, facts)
    at = causes[0].at if causes else ()
    if isinstance(learnt, int):
        return [problem("dim-specialised", at=at, path=path, dim=_name(size, inputs), value=learnt)]
    if isinstance(size.entry, DimHint):
        return []
    stated = inputs.stated.get(size.symbol)
    if stated is not None and facts.simplify(stated) is learnt:
        return []
    if learnt is not size.symbol:
        return _tied(size, learnt, inputs, path, at, causes)
    return _range(size, inputs, facts, path, at, causes)


def _fixed_floats(inputs: Inputs, facts: Facts) -> list[MonographError]:
    """Floats that were to differ between calls, and that the model fixes to the example's."""
    problems: list[MonographError] = []
    for leaf in inputs.leaves:
        if isinstance(leaf.number, Real) and leaf.path in inputs.insisted:
            (symbol,) = leaf.number.symbols
            if facts.known(eq(leaf.number, leaf.value)):
                causes = _causes(symbol, inputs, facts)
                at = causes[0].at if causes else ()
                path, value = leaf.path, leaf.value
                problems += [problem("dim-specialised", at=at, path=path, dim=path, value=value)]
    return problems


def _tied(
    size: DynamicSize, learnt: Expr, inputs: Inputs, path: str, at: Any, causes: tuple[Cause, ...]
) -> list[MonographError]:
    named = {entry.symbol for entry in inputs.dynamic if not isinstance(entry.entry, DimHint)}
    if not learnt.symbols <= named:
        return []
    if is_symbol(learnt):
        other = next(entry for entry in inputs.dynamic if entry.symbol is learnt)
        return [
            problem(
                "dims-must-be-equal",
                at=at,
                causes=causes[1:],
                first=_name(size, inputs),
                second=_name(other, inputs),
                first_path=path,
                second_path=other.where,
            )
        ]
    relation = f"{_name(size, inputs)} == {text(learnt, inputs.names)}"
    return [problem("relation-not-declared", at=at, causes=causes[1:], relation=relation)]


def _range(
    size: DynamicSize,
    inputs: Inputs,
    facts: Facts,
    path: str,
    at: Any,
    causes: tuple[Cause, ...],
) -> list[MonographError]:
    entry = size.entry
    root = entry if isinstance(entry, Dim) else getattr(entry, "root", None)
    assert root is not None, "hints were dealt with"
    lower, upper = facts.range_of(size.symbol)
    least, most = inputs.allowed[size.symbol]
    too_low = lower > max(least, _SMALL)
    too_high = upper < most
    if not too_low and not too_high:
        return []
    return [
        problem(
            "dim-range-violated",
            at=at,
            causes=causes[1:],
            path=path,
            dim=root.__name__,
            declared=_range_text(root.min, root.max),
            needed=_range_text(lower, upper),
        )
    ]


def _range_text(lower: Any, upper: Any) -> str:
    end = "" if upper is None or upper == float("inf") else f" {upper}"
    return f"{lower} …{end}"


def _name(size: DynamicSize, inputs: Inputs) -> str:
    return inputs.names.get(size.symbol, str(size.symbol))


def _causes(symbol: Expr, inputs: Inputs, facts: Facts) -> tuple[Cause, ...]:
    """Where guards about this symbol were recorded, the first ones."""
    found = [
        Cause(guard.origin[:1], relation_text(guard.relation, inputs.names))
        for guard in facts.guards
        if symbol in guard.relation.symbols and isinstance(guard.origin, tuple) and guard.origin
    ]
    return tuple(found[:3])
