"""Read-after-write dependences: inputs that are read once another was written to.

Law: a graph without writes, which keeps every value it was given until the end, answers as the
original did for inputs that overlap, unless the overlap is of a pair found here.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from monograph.abstract.aliasing import Result, aliasing_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.passes.alias_analysis import may_hold_memory, writes, written_arguments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import torch
    from torch.fx.node import Node

Held = frozenset["Node"]


def read_after_write(
    module: torch.fx.GraphModule, among: Collection[str] | None = None
) -> frozenset[tuple[str, str]]:
    """Pairs of placeholders: what the first brought is written to, and the second touched then.

    With `among`, only pairs of which at least one has such a name.
    """
    if not writes(module):
        return frozenset()
    memory: dict[Node, Held] = {}
    first_write: dict[Node, int] = {}
    last_touch: dict[Node, int] = {}
    for time, node in enumerate(module.graph.nodes):
        if node.op == "placeholder":
            memory[node] = frozenset({node})
        if node.op != "call_function":
            continue
        given = _memory_of(node.all_input_nodes, memory)
        if not given:
            continue
        for each in _memory_of(written_arguments(module, node), memory):
            first_write.setdefault(each, time)
        if not _only_looks(node):
            last_touch |= dict.fromkeys(given, time)
        if _passes_on(node):
            memory[node] = given
    return frozenset(_pairs(first_write, last_touch, among))


def _pairs(
    first_write: dict[Node, int], last_touch: dict[Node, int], among: Collection[str] | None
) -> Iterator[tuple[str, str]]:
    some = {node: at for node, at in last_touch.items() if among is None or node.name in among}
    for written, begin in first_write.items():
        all_of_it = among is None or written.name in among
        for touched, end in (last_touch if all_of_it else some).items():
            if touched is not written and end >= begin:
                yield written.name, touched.name


def _memory_of(nodes: Any, memory: dict[Node, Held]) -> Held:
    found = [memory[each] for each in nodes if each in memory]
    return found[0] if len(found) == 1 else frozenset().union(*found)


def _only_looks(node: Node) -> bool:
    """Whether no data is read: a view is made for sure, or one result taken among several."""
    target: Any = node.target
    if isinstance(target, OpOverload):
        table = aliasing_of(target)
        return table.source is not None and Result.FRESH not in table.possible
    return target is operator.getitem


def _passes_on(node: Node) -> bool:
    target: Any = node.target
    if not may_hold_memory(node):
        return False
    if isinstance(target, OpOverload):
        return aliasing_of(target).may_alias
    return isinstance(target, HigherOrderOperator) or target is operator.getitem


__all__ = ["read_after_write"]
