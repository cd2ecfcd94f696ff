"""What a program asserts while it runs, with the values that broke it.

A graph holds `aten._assert_scalar` and `aten._assert_tensor_metadata`, which other tools know, with
a fixed text or none; that of `program.module()` calls `assert_holds` and `assert_promised` instead,
with the numbers that the condition is about, and the operator that returned something else.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import SymbolNode
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, Real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.fx import Node

ASSERT_SCALAR: Final = torch.ops.aten._assert_scalar.default  # noqa: SLF001 - an operator's name
ASSERT_METADATA: Final = torch.ops.aten._assert_tensor_metadata.default  # noqa: SLF001 - an operator's name


def assert_holds(condition: Any, message: str, names: tuple[str, ...], *values: Any) -> None:
    """Raise RuntimeError, as the operator does, and say what the numbers are."""
    if not condition:
        shown = [f"`{name}` is {value}" for name, value in zip(names, values, strict=True)]
        raise RuntimeError(f"{message}: {', '.join(shown)}" if shown else message)


def assert_promised(
    tensor: torch.Tensor, sizes: Sequence[int], _: None, dtype: torch.dtype, op: str, /
) -> None:
    """Raise RuntimeError where a custom operator returns what its fake kernel did not promise."""
    if tensor.dtype is not dtype or tuple(tensor.shape) != tuple(sizes):
        returned = _shown(tensor.dtype, tensor.shape)
        message = f"`{op}` returned {returned}, its fake kernel promises {_shown(dtype, sizes)}"
        raise RuntimeError(message)


def _shown(dtype: torch.dtype, sizes: Sequence[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, sizes))}]"


def is_promise(node: Node) -> bool:
    """Whether a node compares what a custom operator returned with what was said of it."""
    return node.target is ASSERT_METADATA and bool(_maker(node))


def _maker(node: Node) -> str:
    made = node.args[0]
    if isinstance(made, torch.fx.Node) and made.target is operator.getitem:
        made = made.args[0]
    target = made.target if isinstance(made, torch.fx.Node) else None
    if not isinstance(target, OpOverload) or target.namespace == "aten" or len(node.args) != 4:
        return ""
    return target.name()


def promised(node: Node) -> tuple[Any, ...]:
    """The arguments of `assert_promised` for an assertion of a program's graph."""
    return *node.args, _maker(node)


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


__all__ = [
    "ASSERT_METADATA",
    "ASSERT_SCALAR",
    "assert_holds",
    "assert_promised",
    "is_promise",
    "numbers_of",
    "promised",
    "with_values",
]
