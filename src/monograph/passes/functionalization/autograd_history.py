"""Autograd history in a graph: which values have one, and writes that it does not see.

In eager a write under `no_grad`, or through a detached view, changes data and leaves the history as
it was. No operator computes such a value: it would have the data of one tensor and the gradient of
another. `aten.copy` stands for it, which has no derivative, so going back through it is refused.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from torch.fx.node import Node

from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import is_differentiable
from monograph.host.overloads import aten

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from monograph.capture.recording.scopes import ModeRegion
    from monograph.passes.functionalization.views import View


_HIDING: Final = frozenset(map(id, (aten.detach.default, aten.data.default, aten.view.dtype)))

_ASKING_ONLY: Final = (
    *("empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like"),
    *("new_empty", "new_full", "new_ones", "new_zeros"),
)
_CUTS: Final = _HIDING | {id(getattr(aten, name).default) for name in _ASKING_ONLY}
"""What a gradient does not go through: `_like` and `new_` ask a tensor for its type alone."""


class History:
    """What may have a gradient in one graph.

    `without` are the inputs that have none; `leaves` those that the caller writes to beneath their
    history, as soon as the new value is there.
    """

    def __init__(
        self,
        states: Mapping[Node, Sequence[ModeRegion]],
        without: Collection[str] = (),
        leaves: Collection[str] = (),
    ) -> None:
        self.states = states
        self.without = without
        self.leaves = leaves
        self._known: dict[Node, bool] = {}
        self._begun: set[Node] = set()

    def begin(self, node: Node) -> None:
        """A value is made a leaf: a gradient may flow to it from here on."""
        self._begun.add(node)
        self._known.clear()

    def may_have(self, node: Node) -> bool:
        """Whether a gradient may flow from a value to an input."""
        known, rest = self._known, [node]
        while rest:
            current = rest[-1]
            sources = [] if current in known else self._sources(current)
            unknown = [each for each in sources if each not in known]
            if unknown:
                rest += unknown
                continue
            rest.pop()
            if current not in known:
                known[current] = any(known[each] for each in sources) or self._is_end(current)
        return known[node]

    def goes_on(self, before: Node, after: Node) -> bool:
        """Whether every gradient that may flow from one value may flow from another too."""
        if not self.may_have(before):
            return True
        found = {after}
        rest = deque(found)
        while rest:
            current = rest.popleft()
            if current is before:
                return True
            new = [each for each in self._sources(current) if each not in found]
            found.update(new)
            rest += new
        return self.ends(before) <= found

    def ends(self, node: Node) -> set[Node]:
        """The inputs, and leaves, that a gradient may flow to."""
        found = {node}
        rest = [node]
        while rest:
            new = [each for each in self._sources(rest.pop()) if each not in found]
            found.update(new)
            rest += new
        return {each for each in found if self._is_end(each)}

    def _is_end(self, node: Node) -> bool:
        """Whether a gradient may end there: an input, or a leaf that was made."""
        return node in self._begun or (node.op == "placeholder" and self._is_followed(node))

    def _is_followed(self, node: Node) -> bool:
        return node.name not in self.without and _may_require_grad(node.meta.get("val"))

    def _sources(self, node: Node) -> Sequence[Node]:
        """What a gradient flows on to."""
        is_cut = hides_writes(self.states.get(node, ())) or id(node.target) in _CUTS
        if is_cut or node.op != "call_function" or not _may_require_grad(node.meta.get("val")):
            return ()
        return node.all_input_nodes


def hides_writes(regions: Sequence[ModeRegion]) -> bool:
    """Whether autograd sees nothing in these regions, outermost first."""
    grad = [region.settings[0] for region in regions if region.kind == "grad"]
    return bool(grad) and not grad[-1]


def seen_from(regions: Sequence[ModeRegion]) -> tuple[ModeRegion, ...]:
    """The regions around the outermost one that hides: what was there before is seen there."""
    for place in range(len(regions)):
        if hides_writes(regions[: place + 1]):
            return tuple(regions[:place])
    return tuple(regions)


def is_hidden(views: Sequence[View]) -> bool:
    """Whether autograd does not see a write through these views."""
    return any(id(view.overload) in _HIDING for view in views)


def is_only_detached(node: Node | None) -> bool:
    """Whether it detaches new memory, without a history, that nothing else holds."""
    if node is None or node.target is not aten.detach.default:
        return False
    source = node.args[0]
    return (
        isinstance(source, Node)
        and source.op == "call_function"
        and id(source.target) in _CUTS - _HIDING
        and len(source.users) == 1
    )


def _may_require_grad(val: Any) -> bool:
    if isinstance(val, tuple | list):
        return any(_may_require_grad(each) for each in val)
    return isinstance(val, AbstractTensor) and is_differentiable(val.tensor_type.dtype)


__all__ = ["History", "hides_writes", "is_hidden", "is_only_detached", "seen_from"]
