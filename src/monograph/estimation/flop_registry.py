"""The registry of FLOP formulas: one small function per family of operators, found by name.

A formula takes the arguments of its operator with shapes in the place of tensors, and the shape of
what it returns as `out_shape`, as those of `torch.utils.flop_counter` do; sizes may be symbolic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch.utils.flop_counter import flop_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.integers import Int

FORMULAS: Final[dict[str, Callable[..., Int]]] = {}
"""By the qualified name of the operator, without its overload: `aten::mm`."""


def flop_formula(*names: str) -> Callable[[Any], Any]:
    """Register what operators cost: `@flop_formula("mylib::foo")` over `(a_shape, *, out_shape)`.

    Operators of PyTorch are named without their namespace.

    Raises: ValueError (another formula has that name).
    """

    def register(formula: Any) -> Any:
        for name in names:
            full = name if "::" in name else f"aten::{name}"
            if full in FORMULAS:
                raise ValueError(f"{full} has a formula already")
            FORMULAS[full] = formula
        return formula

    return register


def operator_name(target: Any) -> str:
    """The qualified name of an operator without its overload: `aten::mm`, `higher_order::cond`."""
    schema = getattr(target, "_schema", None)
    return f"higher_order::{target}" if schema is None else str(schema.name)


def formula_of(target: Any) -> Callable[..., Int] | None:
    """The formula of an operator; for others than PyTorch's, also one that `flop_counter` has."""
    name = operator_name(target)
    found = FORMULAS.get(name)
    if found is not None or name.startswith(("aten::", "higher_order::")):
        return found
    theirs: Any = flop_registry.get(target.overloadpacket)
    if theirs is None:
        return None
    return lambda *args, out_shape, **kwargs: theirs(*args, out_val=out_shape, **kwargs)


__all__ = ["FORMULAS", "flop_formula", "formula_of", "operator_name"]
