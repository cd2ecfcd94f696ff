"""Type propagation after a pass: to what the pass changed, and to what follows from it.

A pass may call another operator in a node's place, or give a node other arguments, and leave what
the node says of its result as it was. Law: after `retype`, what a call says it returns is what its
operator returns for arguments of the types they say, unless neither it nor they were changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import problem
from monograph.host.operator_types import HigherOrderOperator
from monograph.integers import use
from monograph.passes.graph_builder import same_layout
from monograph.passes.graph_walks import graph_modules
from monograph.passes.rewrites.type_inference import inferred
from monograph.rules.fallback import Memo

if TYPE_CHECKING:
    from monograph.integers import Facts


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """What a node was before a pass."""

    target: Any
    args: Any
    kwargs: Any
    val: Any


Snapshot = dict[Node, NodeSnapshot]


def snapshot(module: torch.fx.GraphModule) -> Snapshot:
    """Remember every node of a graph and of the subgraphs it calls."""
    return {
        node: NodeSnapshot(node.target, node.args, node.kwargs, node.meta.get("val"))
        for _, each in graph_modules(module)
        for node in each.graph.nodes
    }


def retype(module: torch.fx.GraphModule, before: Snapshot, facts: Facts) -> None:
    """Work the types out of what a pass changed.

    Raises: invalid-program where a subgraph takes other types than it was made for; what the
    operators' rules refuse.
    """
    _restore_inputs(module, before)
    memo = Memo()
    with use(facts):
        for _, each in graph_modules(module):
            changed: set[Node] = set()
            for node in each.graph.nodes:
                _retype(module, node, before, changed, memo, facts)


def _restore_inputs(module: torch.fx.GraphModule, before: Snapshot) -> None:
    """A pass that writes the graph anew leaves out what its inputs are."""
    known = {node.name: old.val for node, old in before.items() if node.op == "placeholder"}
    for node in module.graph.nodes:
        if node.op == "placeholder" and "val" not in node.meta and node.name in known:
            node.meta["val"] = known[node.name]


def _retype(
    module: torch.fx.GraphModule,
    node: Node,
    before: Snapshot,
    changed: set[Node],
    memo: Memo,
    facts: Facts,
) -> None:
    old = before.get(node)
    if node.op != "call_function":
        if old is not None and not _is_same(old.val, node.meta.get("val")):
            changed.add(node)
        return
    is_touched = not changed.isdisjoint(node.all_input_nodes)
    is_new = old is None or (node.target, node.args, node.kwargs) != (
        old.target,
        old.args,
        old.kwargs,
    )
    if isinstance(node.target, HigherOrderOperator) and "val" in node.meta:
        if is_touched:
            reason = "is given values of other types than its subgraphs were made for"
            raise problem("invalid-program", at=(), graph=module.graph, node=node, reason=reason)
    elif is_new or is_touched or "val" not in node.meta:
        found = inferred(node, memo, facts)
        if found is not None and not _is_same(found[0], node.meta.get("val")):
            node.meta["val"] = found[0]
    if old is not None and not _is_same(old.val, node.meta.get("val")):
        changed.add(node)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are of one type, and two numbers the same; gradients are no matter."""
    if one is other:
        return True
    if isinstance(one, AbstractTensor) and isinstance(other, AbstractTensor):
        left, right = one.tensor_type, other.tensor_type
        return left.device == right.device and same_layout(left, right)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return False
    return to_python(one) == to_python(other)


__all__ = ["Snapshot", "retype", "snapshot"]
