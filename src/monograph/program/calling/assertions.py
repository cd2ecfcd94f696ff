"""Run-time assertions: what a program asserts while it runs, with the values that broke it.

A graph holds `aten._assert_scalar` and `aten._assert_tensor_metadata`, which other tools know, with
a fixed text or none; that of `program.module()` calls `assert_holds` and `assert_promised` instead,
with the numbers that the condition is about, and the operator that returned something else.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.layout import is_dense, stride_order
from monograph.abstract.symbols import SymbolNode
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.recording.guard_sources import refusal_of_assertion
from monograph.diagnostics import named
from monograph.host.calling import Proxy, is_read_by_dynamo, recorded_by_fx
from monograph.host.dispatch import share_memory
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, Real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.fx import Node

ASSERT_SCALAR: Final = torch.ops.aten._assert_scalar.default  # noqa: SLF001 - an operator's name
ASSERT_METADATA: Final = torch.ops.aten._assert_tensor_metadata.default  # noqa: SLF001 - an operator's name
N_STATED: Final = 4
"""How many arguments a promise has in a program's graph."""


def assert_holds(condition: Any, message: str, names: tuple[str, ...], *values: Any) -> None:
    """Raise RuntimeError, as the operator does, and say what the numbers are.

    Raises: draft-assumption, where it is a draft's that the example was like this, and
        assumption-broken, where it is what the capture took to hold.
    """
    if condition.__class__ is Proxy:
        recorded_by_fx(assert_holds, (condition, message, names, *values))
    elif not condition:
        shown = ", ".join(
            [f"{named(name)} is {value}" for name, value in zip(names, values, strict=True)]
        )
        refusal = refusal_of_assertion(message, shown)
        if refusal is not None:
            raise refusal
        raise RuntimeError(f"{message}: {shown}" if shown else message)


def assert_promised(
    tensor: torch.Tensor,
    sizes: Sequence[int],
    _: None,
    dtype: torch.dtype,
    op: str,
    orders: tuple[tuple[int, ...], ...],
    /,
    *given: torch.Tensor,
) -> None:
    """Raise RuntimeError where a custom operator returns what its fake kernel did not promise.

    `given` are the tensors that the operator got, none of which it may return. `orders` are how
    they and the result lay in memory when this was recorded, from slowest to fastest dimension; it
    is empty where that cannot be told. Operators may lay out results as they find arguments, so
    where these lie otherwise now, nothing is promised.
    """
    if recorded_by_fx(assert_promised, (tensor, sizes, _, dtype, op, orders, *given)) is not None:
        return
    if is_read_by_dynamo():
        ASSERT_METADATA(tensor, sizes, None, dtype)
        return
    if tensor.dtype is not dtype or tuple(tensor.shape) != tuple(sizes):
        returned = _shown(tensor.dtype, tensor.shape)
        message = f"`{op}` returned {returned}, its fake kernel promises {_shown(dtype, sizes)}"
        raise RuntimeError(message)
    if orders and all(map(_lies, given, orders)) and not _lies(tensor, orders[-1]):
        order = orders[-1]
        lies = "contiguous" if order == tuple(range(len(order))) else f"dense in order {order}"
        message = f"`{op}` returned strides {tensor.stride()}, its fake kernel promises {lies} ones"
        raise RuntimeError(message)
    if any(share_memory(tensor, each) for each in given):
        message = f"`{op}` returned an argument, or a view of one: its schema promises a new tensor"
        raise RuntimeError(message)


def _lies(tensor: torch.Tensor, order: tuple[int, ...]) -> bool:
    return tensor.permute(order).is_contiguous()


def _shown(dtype: torch.dtype, sizes: Sequence[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, sizes))}]"


def is_promise(node: Node) -> bool:
    """Whether a node compares what a custom operator returned with what was said of it."""
    return node.target is ASSERT_METADATA and _maker(node) is not None


def _maker(node: Node) -> Node | None:
    """The call of the custom operator."""
    made = node.args[0]
    if isinstance(made, torch.fx.Node) and made.target is operator.getitem:
        made = made.args[0]
    if not isinstance(made, torch.fx.Node) or len(node.args) != N_STATED or node.args[1] is None:
        return None
    target = made.target
    return made if isinstance(target, OpOverload) and target.namespace != "aten" else None


def promised(node: Node) -> tuple[Any, ...]:
    """The arguments of `assert_promised` for an assertion of a program's graph."""
    maker, made = _maker(node), node.args[0]
    assert maker is not None, "only promises are asked"
    assert isinstance(maker.target, OpOverload), "only promises are asked"
    assert isinstance(made, torch.fx.Node), "only promises are asked"
    given = [
        each for each in maker.all_input_nodes if isinstance(each.meta.get("val"), torch.Tensor)
    ]
    orders = [_order(each.meta.get("val")) for each in (*given, made)]
    known = () if None in orders else tuple(orders)
    return *node.args, maker.target.name(), known, *given


def _order(val: Any) -> tuple[int, ...] | None:
    """How the dimensions of a dense tensor lie in memory, if its type tells without symbols.

    What an operator counts it may lay out as it finds it, as `nonzero` does.
    """
    if not isinstance(val, AbstractTensor):
        return None
    t, facts = val.tensor_type, val.recorder.facts
    sizes = [each for each in t.shape if isinstance(each, Expr)]
    if any(facts.is_unbacked(symbol) for each in sizes for symbol in each.symbols):
        return None
    if t.strides is None:
        return tuple(range(len(t.shape)))
    if any(type(each) is not int for each in (*t.shape, *t.strides)) or not is_dense(t):
        return None
    return tuple(reversed(stride_order(t)))


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
    "N_STATED",
    "assert_holds",
    "assert_promised",
    "is_promise",
    "numbers_of",
    "promised",
    "with_values",
]
