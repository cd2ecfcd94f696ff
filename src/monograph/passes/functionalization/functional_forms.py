"""Functional variants of operators that write to arguments: `add` for `add_` and `add.out`.

PyTorch derives these forms from one another by name and argument types, and so do we.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from monograph.abstract.aliasing import aliasing_of
from monograph.host.dispatch import overloads_named, schema_of

if TYPE_CHECKING:
    from monograph.host.operator_types import OpOverload


class Results(Enum):
    """Where the functional form returns the new values of what would be written to."""

    INSTEAD = auto()
    """Its results are the new values, in the order of the arguments written to."""
    AFTER = auto()
    """The new values follow the operator's own results."""


@dataclass(frozen=True, slots=True)
class FunctionalForm:
    """An overload without side effects, and how to read its results.

    `drops` are the arguments that it does not take (`out=`), and `defaults` what it must be told
    and the operator that writes need not be.
    """

    overload: OpOverload
    results: Results
    drops: frozenset[str] = frozenset()
    defaults: tuple[tuple[str, Any], ...] = ()


@cache
def functional_form(overload: OpOverload) -> FunctionalForm | None:
    """How to compute without writing what this operator writes, None where PyTorch has no form."""
    written = _written(overload)
    name = schema_of(overload).name.split("::")[-1]
    outs = frozenset(
        a.name for a in schema_of(overload).arguments if a.name in written and a.is_out
    )
    if outs and len(outs) == len(written):
        found = _with_arguments(overload, name, without=outs)
        return found and FunctionalForm(found, Results.INSTEAD, outs, _defaults(overload, found))
    for plain in _names_without_effect(name):
        found = _with_arguments(overload, plain)
        if found is not None:
            return FunctionalForm(found, Results.INSTEAD, defaults=_defaults(overload, found))
    found = _with_arguments(overload, f"{name}_functional")
    return found and FunctionalForm(found, Results.AFTER)


def _defaults(overload: OpOverload, form: OpOverload) -> tuple[tuple[str, Any], ...]:
    """The defaults of arguments that have none in the functional form: `bernoulli_(p=0.5)`."""
    needed = {a.name for a in schema_of(form).arguments if not a.has_default_value()}
    return tuple(
        (a.name, a.default_value)
        for a in schema_of(overload).arguments
        if a.has_default_value() and a.name in needed
    )


def _names_without_effect(name: str) -> list[str]:
    if name.startswith("__i") and name.endswith("__"):
        return [f"__{name[3:]}"]
    if name.endswith("_") and not name.endswith("__"):
        return [name[:-1], f"{name[:-1]}_functional"]
    return []


def _written(overload: OpOverload) -> frozenset[str]:
    return frozenset(aliasing_of(overload).written)


def _with_arguments(
    overload: OpOverload, name: str, without: frozenset[str] = frozenset()
) -> OpOverload | None:
    """The overload of that name with the same arguments, which writes nothing."""
    wanted = _arguments(overload, without)
    for candidate in overloads_named(overload.namespace, name):
        if _arguments(candidate, frozenset()) == wanted and not _written(candidate):
            return candidate
    return None


def _arguments(overload: OpOverload, without: frozenset[str]) -> list[Any]:
    """Names and types; what is operated on may be called `self` in one form, `input` in another."""
    given = [a for a in schema_of(overload).arguments if a.name not in without]
    return [("" if i == 0 else a.name, str(a.type)) for i, a in enumerate(given)]
