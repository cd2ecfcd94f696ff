"""What a program asserts while it runs, with the values that broke it.

A graph holds `aten._assert_scalar`, which other tools know, with a fixed text; that of
`program.module()` calls `assert_holds` instead, with the numbers that the condition is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import SymbolNode
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, Real

if TYPE_CHECKING:
    from torch.fx import Node

ASSERT_SCALAR: Final = torch.ops.aten._assert_scalar.default  # noqa: SLF001 - an operator's name


def assert_holds(condition: Any, message: str, names: tuple[str, ...], *values: Any) -> None:
    """Raise RuntimeError, as the operator does, and say what the numbers are."""
    if not condition:
        shown = [f"`{name}` is {value}" for name, value in zip(names, values, strict=True)]
        raise RuntimeError(f"{message}: {', '.join(shown)}" if shown else message)


def with_values(node: Node) -> tuple[Any, ...]:
    """The arguments of `assert_holds` for an assertion of a program's graph."""
    condition, message = node.args
    found = numbers_of(condition)
    return condition, message, tuple(found), *found.values()


def numbers_of(condition: Any) -> dict[str, Node]:
    """What a condition is computed from, by name: sizes, and numbers read out of tensors."""
    found: dict[str, Node] = {}
    waiting: list[Any] = [condition]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, torch.fx.Node) or node in seen:
            continue
        seen.add(node)
        if node.op == "call_function" and not isinstance(node.target, OpOverload):
            waiting.extend(reversed(node.args))
        elif name := _name(node.meta.get("val")):
            found.setdefault(name, node)
    return found


def _name(val: Any) -> str:
    """Where a number comes from, in the user's words."""
    number = getattr(val, "node", None)
    if not isinstance(number, SymbolNode):
        return ""
    value = number.value
    symbols = value.symbols if isinstance(value, Expr | Real) else ()
    known = number.facts.symbols
    return ", ".join(
        number.facts.source_of(symbol) or symbol.name if symbol in known else symbol.name
        for symbol in symbols
    )


__all__ = ["ASSERT_SCALAR", "assert_holds", "numbers_of", "with_values"]
