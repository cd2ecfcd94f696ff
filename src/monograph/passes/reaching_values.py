"""Reaching values: what results may be, through branches and loops, in a program's own graph.

A branch of Python's returns one of the tensors that it is given as it is, and a loop without an
iteration what it begins with: a result of their calls may be a result of a subgraph, and that what
the call was given.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torch.fx.node import Node, map_arg

from monograph.abstract.aliasing import view_chain
from monograph.host.fx_nodes import is_superfluous
from monograph.host.higher_order import SCAN, WHILE_LOOP
from monograph.passes.graph_walks import subgraph_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def reaching(results: Iterable[Node]) -> list[Node]:
    """The nodes, also of subgraphs, that some results may be, or may be views of."""
    found: dict[Node, None] = {}
    given: dict[Node, list[Node]] = {}
    waiting = [*results]
    while waiting:
        for node in view_chain(waiting.pop()):
            if node not in found:
                found[node] = None
                waiting += _behind(node, given)
    return [*found]


def subgraph_call(node: Node) -> Node | None:
    """The call of subgraphs that this is a result of."""
    call = node.args[0] if node.target is operator.getitem else None
    is_call = isinstance(call, Node) and any(each.op == "get_attr" for each in call.all_input_nodes)
    return call if isinstance(call, Node) and is_call else None


def _behind(node: Node, given: dict[Node, list[Node]]) -> list[Node]:
    """What a node may be besides what its operator says; `given`: what subgraphs get."""
    if node.op == "placeholder":
        return given.get(node, [])
    call, place = subgraph_call(node), node.args[1] if len(node.args) > 1 else None
    if call is None or type(place) is not int:
        return node.all_input_nodes if is_superfluous(node) else []
    found: list[Node] = []
    last = max(i for i, each in enumerate(call.args) if _is_subgraph(each))
    rest: list[Any] = []
    for each in call.args[last + 1 :]:
        rest += each if isinstance(each, list | tuple) else [each]
    carried: Any = call.args[last + 1] if call.target in (SCAN, WHILE_LOOP) else ()
    map_arg(carried[place : place + 1], found.append)
    for each in filter(_is_subgraph, call.args):
        graph = subgraph_of(each).graph
        returned: Any = graph.output_node().args[0]
        returned = returned if isinstance(returned, list | tuple) else ()
        inputs = [inner for inner in graph.nodes if inner.op == "placeholder"]
        rounds = zip(inputs[: len(carried)], returned, strict=False)
        for inner, outer in (*zip(inputs, rest, strict=False), *rounds):
            if isinstance(outer, Node):
                given.setdefault(inner, []).append(outer)
        map_arg(returned[place : place + 1], found.append)
    return found


def _is_subgraph(value: Any) -> bool:
    return isinstance(value, Node) and value.op == "get_attr"


__all__ = ["reaching", "subgraph_call"]
