"""The cost of each operator call: FLOPs, bytes read and written, as formulas in symbolic sizes."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import Result, aliasing_of, results_of, source_of
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType, type_of
from monograph.estimation.flop_registry import formula_of, operator_name
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.integers import Int, has_facts, maximum, product, simplify, total
from monograph.passes.graph_walks import subgraph_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROWS_READ: Final = frozenset({"embedding", "gather", "index", "index_select", "take"})
"""Operators that read as much of their first argument as they return, whatever its size."""
LOOPS: Final = frozenset({"associative_scan", "map_impl", "scan"})
"""Higher-order operators that call their body for each row of what they go over."""


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """One call: its node, operator and module, FLOPs, and bytes of the tensors it reads and writes.

    A view costs nothing. `kind` is the class of the module.
    """

    node: str
    operator: str
    module: str
    kind: str
    flops: Int
    read: Int
    written: Int

    def times(self, n: Int) -> OperatorCost:
        """The same call, n times."""
        return replace(self, flops=n * self.flops, read=n * self.read, written=n * self.written)

    def mapped(self, value: Callable[[Int], Int]) -> OperatorCost:
        """The same with other formulas."""
        return replace(
            self, flops=value(self.flops), read=value(self.read), written=value(self.written)
        )


def costs_of(module: torch.fx.GraphModule, notes: dict[str, None]) -> list[OperatorCost]:
    """The calls of a graph in order; a branch is one row, and so is a loop.

    `notes` gets what the formulas take for granted.
    """
    found: list[OperatorCost] = []
    for node in module.graph.nodes:
        target: Any = node.target
        if node.op == "call_function" and isinstance(target, OpOverload) and types_in(node):
            found.append(_of_operator(node))
        elif node.op == "call_function" and isinstance(target, HigherOrderOperator):
            found += _of_higher_order(node, notes)
    return found


def bodies_of(node: Node) -> list[Any]:
    """The subgraphs that a higher-order operator is given."""
    given = [subgraph_of(each) for each in node.all_input_nodes if each.op == "get_attr"]
    return [each for each in given if isinstance(each, torch.fx.GraphModule)]


def types_in(value: Any) -> list[TensorType]:
    """The types of the tensors among nested values, and of the nodes that make them."""
    if isinstance(value, Node):
        return types_in(value.meta.get("val"))
    if isinstance(value, AbstractTensor):
        return [value.tensor_type]
    if isinstance(value, torch.Tensor):
        return [type_of(value)]
    if isinstance(value, list | tuple):
        return [each for item in value for each in types_in(item)]
    return []


def size_in_bytes(kind: TensorType) -> Int:
    """Of the elements in memory; a dimension that was expanded has one."""
    strides = kind.strides or (1,) * kind.rank
    shape = [settled(n) for n, step in zip(kind.shape, strides, strict=True) if step != 0]
    return product(shape) * kind.dtype.itemsize


def settled(size: Int) -> Int:
    """A size with what the facts in force have learnt since."""
    return simplify(size) if has_facts() else size


def is_copied(node: Node) -> bool:
    """Whether a result has memory of its own; where layouts leave that open, it is taken to."""
    return source_of(node) is None or Result.FRESH in results_of(node, lies=True)


def _shapes(value: Any) -> Any:
    """An argument with shapes in the place of tensors, and expressions in that of sizes."""
    if isinstance(value, Node):
        value = value.meta.get("val")
    if isinstance(value, AbstractTensor):
        return tuple(map(settled, value.tensor_type.shape))
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    if isinstance(value, list | tuple):
        return [_shapes(each) for each in value]
    return to_python(value)


def _flops(node: Node) -> Int:
    formula = formula_of(node.target)
    if formula is None:
        return 0
    result = node.meta.get("val")
    args = [_shapes(each) for each in node.args]
    kwargs = {name: _shapes(each) for name, each in node.kwargs.items()}
    return formula(*args, **kwargs, out_shape=_shapes(result))


def _bytes(types: Iterable[TensorType]) -> Int:
    return total([size_in_bytes(each) for each in types])


def _of_operator(node: Node) -> OperatorCost:
    target: Any = node.target
    name = operator_name(target).rpartition("::")[2]
    result = node.meta.get("val")
    given = {each: types_in(each) for each in node.all_input_nodes}
    read, written = _bytes([t for types in given.values() for t in types]), _bytes(types_in(result))
    if name in ROWS_READ:
        read = read - _bytes(types_in(node.args[0])) + written
    if _is_view(node, target):
        read = written = 0
    return _row(node, str(target.overloadpacket), _flops(node), read, written)


def gives_views(node: Node) -> bool:
    """Whether a call gives a list of views, as `split` does."""
    users = [each for each in node.users if each.target is operator.getitem]
    return any(source_of(user) is not None for user in users)


def _is_view(node: Node, target: Any) -> bool:
    if aliasing_of(target).written:
        return False
    is_one = isinstance(node.meta.get("val"), torch.Tensor)
    return not is_copied(node) if is_one else gives_views(node)


def _row(node: Node, operator: str, flops: Int, read: Int, written: Int) -> OperatorCost:
    stack: Any = node.meta.get("nn_module_stack") or {"": ("", "")}
    path, kind = list(stack.values())[-1]
    module = str(path).partition("@")[0]
    kind = str(getattr(kind, "__name__", kind)).rpartition(".")[2]
    return OperatorCost(node.name, operator, module, kind, flops, read, written)


def _of_higher_order(node: Node, notes: dict[str, None]) -> list[OperatorCost]:
    name = operator_name(node.target).rpartition("::")[2]
    sides = [costs_of(body, notes) for body in bodies_of(node)]
    if name == "cond":
        notes["a branch costs what the dearer of its sides does"] = None
        sums = [_sum(node, name, side) for side in sides]
        parts = ([getattr(each, part) for each in sums] for part in ("flops", "read", "written"))
        return [_row(node, name, *[_greatest(each) for each in parts])]
    if name in LOOPS:
        rows = types_in(node.args[2 if name == "scan" else 1])
        n = settled(rows[0].shape[0]) if rows and rows[0].shape else 1
        return [_sum(node, name, [each for side in sides for each in side]).times(n)]
    if name == "while_loop":
        notes["a loop whose length depends on data is counted for one round"] = None
        return [_sum(node, name, [each for side in sides for each in side])]
    if formula_of(node.target) is not None:
        made = types_in(node)
        return [
            _row(node, name, _flops(node), _bytes(types_in(node.all_input_nodes)), _bytes(made))
        ]
    return [each for side in sides for each in side]


def _sum(node: Node, name: str, rows: list[OperatorCost]) -> OperatorCost:
    parts = [total([getattr(row, part) for row in rows]) for part in ("flops", "read", "written")]
    return _row(node, name, *parts)


def _greatest(values: list[Int]) -> Int:
    found = values[0]
    for each in values[1:]:
        found = maximum(found, each)
    return found
