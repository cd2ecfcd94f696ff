"""Output properties of a graph: the memory, history, layout and draws that a lowering must keep.

Computed of a graph alone, with the aliasing table, so that two graphs of one program can be held
against each other. What is unknown of either is not compared.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import FRESH, Result, aliasing_of, results_of, view_chain
from monograph.abstract.layout_origin import layout_sources
from monograph.abstract.randomness import drawn, draws_often
from monograph.abstract.tensor import AbstractTensor
from monograph.host.flags import region_operators
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.integers import eq, known
from monograph.passes.graph_walks import subgraph_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from monograph.abstract.tensor_type import TensorType

_REGIONS: Final[Mapping[Any, int]] = MappingProxyType(
    dict(zip(region_operators(), (1, 4), strict=True))
)
"""Operators that run one graph as it is, and which of their arguments that is."""
_CONTIGUOUS: Final = torch.ops.aten.contiguous.default
_UNKNOWN: Final = None


@dataclass(frozen=True, slots=True)
class OutputProperties:
    """What is known of one returned value beside its data.

    `inputs` are those in whose memory it may lie, `outputs` the earlier ones of which it may share
    the memory; `is_fresh` tells whether it may have memory of its own, that no input has. None:
    nothing is known of its memory.
    """

    type: TensorType | None
    inputs: frozenset[str] | None
    outputs: frozenset[int] | None
    is_fresh: bool
    is_written: bool = False
    """Whether it lies in an input that is written to after the call, and lies as that does."""

    def memory_text(self) -> str:
        """In words, for a message."""
        found = [f"memory of {name}" for name in sorted(self.inputs or ())]
        found += [f"memory of output {at}" for at in sorted(self.outputs or ())]
        return " or ".join(found + ["memory of its own"] * self.is_fresh)


class GraphProperties:
    """What a graph returns and draws; inputs that are `fixed` lie as the example's in any call.

    `written` maps values to the input that they are written to after the call: they are that input.
    `owners` names, for state in the memory of other state, one that stands for all that share it.
    """

    def __init__(
        self,
        graph: torch.fx.Graph,
        fixed: Collection[str],
        written: Mapping[Node, str] | None = None,
        owners: Mapping[str, str] | None = None,
    ) -> None:
        self._fixed = fixed
        shared = owners or {}
        self._written = {node: shared.get(at, at) for node, at in (written or {}).items()}
        self._inputs = {node.name: node for node in graph.nodes if node.op == "placeholder"}
        self._owners: dict[Node, Any] = {
            node: frozenset({self._inputs[shared.get(name, name)]})
            for name, node in self._inputs.items()
        }
        self._outer: dict[Node, Node] = {}
        self.draws: list[str] = []
        """The operators that draw random numbers, in this graph and what it calls, in order."""
        self.draws_often = False
        """Whether one of them draws more than once."""
        self._count_draws(graph)

    def of(self, values: Sequence[Any]) -> list[OutputProperties]:
        """The properties of values that the graph returns, in order."""
        owners = [self._of(each) for each in values]
        names = {node: name for name, node in self._inputs.items()}
        found: list[OutputProperties] = []
        for at, (value, own) in enumerate(zip(values, owners, strict=True)):
            val = value.meta.get("val") if isinstance(value, Node) else None
            kind = val.tensor_type if isinstance(val, AbstractTensor) else None
            if kind is None or own is _UNKNOWN:
                found.append(OutputProperties(kind, None, None, is_fresh=True))
                continue
            inputs = frozenset(names[each] for each in own if each in names)
            own_memory = own - names.keys()
            shared = frozenset(i for i in range(at) if owners[i] and own_memory & owners[i])
            is_fresh = not own <= names.keys()
            is_written = not inputs.isdisjoint(self._written.values())
            found.append(OutputProperties(kind, inputs, shared, is_fresh, is_written))
        return found

    # --- draws -------------------------------------------------------------------------------

    def _count_draws(self, graph: torch.fx.Graph) -> None:
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            if node.target in _REGIONS:
                self._count_draws(subgraph_of(node.args[_REGIONS[node.target]]).graph)
            elif isinstance(node.target, HigherOrderOperator):
                for each in node.all_input_nodes:
                    if each.op == "get_attr":
                        self._count_draws(subgraph_of(each).graph)
            elif drawn(node):
                self.draws.append(node.name)
                self.draws_often |= draws_often(node.target)

    # --- memory ------------------------------------------------------------------------------

    def _of(self, value: Any) -> Any:
        """Who may own the memory of a value; asked of what it may be a view of alone."""
        if not isinstance(value, Node):
            return frozenset()
        waiting = [value]
        while waiting:
            unknown = [each for each in self._needed(waiting[-1]) if each not in self._owners]
            if unknown:
                waiting += unknown
            else:
                node = waiting.pop()
                if node not in self._owners:
                    self._owners[node] = self._owners_of(node)
        return self._owners[value]

    def _needed(self, node: Node) -> list[Node]:
        """The values whose owners a value's depend on."""
        if node.op != "call_function" or node in self._written or node in self._owners:
            return []
        if node.target in _REGIONS:
            return node.all_input_nodes
        is_part = node.target is operator.getitem
        call: Any = node.args[0] if is_part else node
        source = _source(node, call) if isinstance(call.target, OpOverload) else None
        return [call] * is_part + [source] * (source is not None)

    def _owners_of(self, node: Node) -> Any:
        if node.op != "call_function":
            return frozenset({node}) if node.op == "placeholder" else frozenset()
        if node in self._written:
            return frozenset({self._inputs[self._written[node]]})
        target: Any = node.target
        if target is operator.getitem:
            source: Any = node.args[0]
            place: Any = node.args[1]
            owners = self._of(source)
            return owners[place] if isinstance(owners, list) else self._made(node)
        if target in _REGIONS:
            return self._region(node, _REGIONS[target])
        return self._made(node) if isinstance(target, OpOverload) else frozenset({node})

    def _made(self, node: Node) -> Any:
        """Who may own the memory of an operator's result."""
        call: Any = node.args[0] if node.target is operator.getitem else node
        if not isinstance(call.target, OpOverload):
            return frozenset({node})
        table = aliasing_of(call.target)
        if table.hides_views:
            return _UNKNOWN
        if not isinstance(node.meta.get("val"), AbstractTensor):
            return frozenset({node})  # several results: each is asked for itself
        source = _source(node, call)
        if source is None:
            return frozenset({node})
        results = results_of(node)
        if len(results) > 1 and self._lies(source):
            results = results_of(node, lies=True)
        if results == FRESH:
            return frozenset({node})
        own = self._of(source)
        if own is _UNKNOWN or Result.FRESH not in results:
            return own
        return own | {node} if call.target is _CONTIGUOUS else _UNKNOWN

    def _lies(self, node: Node) -> bool:
        return all(
            self._lies(self._outer[each]) if each in self._outer else each.name in self._fixed
            for each in layout_sources([node])
        )

    def _region(self, node: Node, place: int) -> list[Any]:
        child = subgraph_of(node.args[place])
        inputs = [each for each in child.graph.nodes if each.op == "placeholder"]
        for inner, outer in zip(inputs, node.args[place + 1 :], strict=True):
            if isinstance(outer, Node):
                own = frozenset({outer}) if self._is_newer(outer) else self._of(outer)
                self._owners[inner], self._outer[inner] = own, outer
        returned: Any = child.graph.output_node().args[0]
        return [self._of(each) for each in returned]

    def _is_newer(self, node: Node) -> bool:
        """Whether a value is an input's after the call, of which only views in one graph are."""
        return any(each in self._written for each in view_chain(node))


def _source(node: Node, call: Node) -> Node | None:
    index: Any = node.args[1] if node is not call else None
    found = aliasing_of(call.target).source_of_result(index, call.args, call.kwargs)  # pyright: ignore[reportArgumentType]
    return found if isinstance(found, Node) else None


def differences(
    before: Sequence[OutputProperties], after: Sequence[OutputProperties]
) -> Iterator[tuple[int, str]]:
    """What each output has lost, in words, of those that have lost something."""
    pairs = [*zip(before, after, strict=True)]
    known_memory = {
        at for at, pair in enumerate(pairs) if all(each.inputs is not None for each in pair)
    }
    for at, (one, other) in enumerate(pairs):
        lost = _difference(one, other, known_memory)
        if lost:
            yield at, lost


def _difference(
    before: OutputProperties, after: OutputProperties, known_memory: Collection[int]
) -> str:
    one, other = before.type, after.type
    if one is None or other is None:
        return ""
    if one.dtype is not other.dtype or len(one.shape) != len(other.shape):
        return f"its type: {one} became {other}"
    if any(known(eq(n, m)) is False for n, m in zip(one.shape, other.shape, strict=True)):
        return f"its sizes: {one} became {other}"
    if not after.is_written and _lies_otherwise(one, other):
        return f"its strides: {one.stride()} became {other.stride()}"
    if before.inputs is None or after.inputs is None:
        return ""
    memory = [
        (each.inputs, (each.outputs or frozenset()) & {*known_memory}, each.is_fresh)
        for each in (before, after)
    ]
    if memory[0] != memory[1]:
        return f"its memory: {before.memory_text()} became {after.memory_text()}"
    return ""


def _lies_otherwise(one: TensorType, other: TensorType) -> bool:
    """Whether strides differ for certain, where there is more than one element."""
    return any(
        known(eq(a, b)) is False and known(eq(size, 1)) is False
        for size, a, b in zip(one.shape, one.stride(), other.stride(), strict=True)
    ) and all(known(eq(size, 0)) is False for size in one.shape)


__all__ = ["GraphProperties", "OutputProperties", "differences"]
