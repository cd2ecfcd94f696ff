"""Both ways of branches on sizes, where that costs little.

A run takes the way of the example where user code branches on a size, with a guard. Where it left
sizes out so that were declared, or may be any, the module is run once more with both ways recorded.
That run is taken if it lets in more, and has little more to compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.capture.inputs.declarations import broken_declarations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.fx import Graph

    from monograph.capture.captured import Capture

_MOST_BRANCHES: Final = 64
MOST_REGIONS: Final = 8 * _MOST_BRANCHES
"""How many are recorded before it is clear that there are too many: some are recorded again."""
_MOST_TIMES: Final = 2
"""How many times as many operators the program may have; a few more are no matter."""
_FEW: Final = 24


def is_worth_it(first: Capture, both: Capture) -> bool:
    """Whether the capture with both ways accepts more than the first, and costs little more."""
    if broken_declarations(both.inputs, both.facts):
        return False
    if not broken_declarations(first.inputs, first.facts):
        accepts_no_more = len(both.facts.guards) >= len(first.facts.guards)
        # What a way asks is asserted when it runs, which is late.
        if accepts_no_more or _asserts(both.recorder.children) > _asserts(first.recorder.children):
            return False
    before, after = _measured(first), _measured(both)
    n_more = len(both.recorder.children) - len(first.recorder.children)
    is_short = after <= max(_MOST_TIMES * before, before + _FEW)
    return 0 <= n_more <= 2 * _MOST_BRANCHES and is_short


def _measured(captured: Capture) -> int:
    recorder = captured.recorder
    return _size(recorder.writer.graph, recorder.children)


def _size(graph: Graph, children: Mapping[str, Any]) -> int:
    """How many operators there are, with those of subgraphs."""
    own = sum(node.op == "call_function" for node in graph.nodes)
    return own + sum(_size(each.graph, each.children) for each in children.values())


def _asserts(children: Mapping[str, Any]) -> int:
    """How many conditions ways require."""
    return sum(
        sum("_assert_" in str(node.target) for node in each.graph.nodes) + _asserts(each.children)
        for each in children.values()
    )


__all__ = ["MOST_REGIONS", "is_worth_it"]
