"""Collective order: all ranks of a process group call the same collectives, in the same order.

Else each waits for the other for ever. So a graph keeps all of them, in order, a branch on data has
the same ones on both sides, and a loop on data has none.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.diagnostics import problem
from monograph.host import process_groups as host
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder


def note_collective(recorder: Recorder, node: Node, origin: object) -> None:
    """Note the process group of a functional collective: calls are made by the same ranks."""
    if (group := group_of(node)) is not None:
        recorder.answers_noted.note("process_group", origin, group)


def group_of(node: Node) -> str | None:
    """The process group of a functional collective, None of another node."""
    target: Any = node.target
    if not isinstance(target, OpOverload) or target.namespace not in host.NAMESPACES:
        return None
    return str(node.args[-1]) if type(node.args[-1]) is str else None


def check_collectives(recorder: Recorder) -> None:
    """Hold of a finished graph that all ranks call the same, whatever their data.

    Raises: collective-in-branch, collective-not-awaited.
    """
    try:
        list(_calls(recorder.writer.graph, recorder.children))
    except _UnorderedError as found:
        raise found.refusal(recorder) from None
    graphs = {recorder.writer.graph, *_graphs(recorder.children)}
    for node, origin in recorder.unawaited.values():
        if node.graph in graphs:  # not in a region that was given up
            raise problem("collective-not-awaited", at=origin)


def _graphs(children: Mapping[str, Any]) -> Iterator[torch.fx.Graph]:
    for each in children.values():
        yield each.graph
        yield from _graphs(each.children)


def _calls(graph: torch.fx.Graph, children: Mapping[str, Any]) -> Iterator[tuple[Node, object]]:
    """The collectives of a graph in order, each with all that other ranks must agree on."""
    for node in graph.nodes:
        if group_of(node) is not None:
            rest = [each for each in node.args if not isinstance(each, torch.fx.Node | list)]
            made = getattr(node.meta.get("val"), "tensor_type", None)
            yield node, (str(node.target), *rest, str(made))
        if not isinstance(node.target, HigherOrderOperator):
            continue
        named = [str(each.target) for each in node.all_input_nodes if each.op == "get_attr"]
        regions = [children[each] for each in named if each in children]
        found = [list(_calls(each.graph, each.children)) for each in regions]
        if str(node.target) in _OFTEN:
            for call, _ in (each for calls in found for each in calls):
                raise _UnorderedError(call, "a loop of as many rounds as data say")
        for calls in found[1:]:
            for one, other in zip_longest(found[0], calls, fillvalue=(None, None)):
                if one[1] != other[1]:
                    raise _UnorderedError(one[0] or other[0], "one side of a branch on data")
        yield from found[0] if found else ()


_OFTEN: Final = frozenset({"while_loop"})


class _UnorderedError(Exception):
    """A collective that some ranks may not call, and how."""

    def __init__(self, call: Any, how: str) -> None:
        self.call, self.how = call, how

    def refusal(self, recorder: Recorder) -> Exception:
        at = recorder.scopes.filter.innermost_user(self.call.meta.get("frames", ()))
        op = schema_of(self.call.target).name.rpartition("::")[2]
        return problem("collective-in-branch", at=at, op=op, how=self.how)
