"""Written storages: which tensors own memory that something writes to, before lowering.

Only those are followed as aliases; all others are values from the start.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import BEGINS_HISTORY, FRESH, results_of
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.recording.operators import OPERATORS, Operator
from monograph.host.decompositions import composite_formula
from monograph.host.flags import region_operators
from monograph.host.operator_types import OpOverload
from monograph.passes.formulas import CannotDecomposeError
from monograph.passes.graph_builder import argument_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.passes.formulas import Formula


_GRAD, _AUTOCAST = region_operators()


class Writes:
    """Finds the owners of memory that is written to; `roots` are their nodes.

    `formula` runs a composite operator's formula, to see which of its results are its arguments'
    memory where the schema does not say so.
    """

    def __init__(self, formula: Callable[..., Formula]) -> None:
        self.roots: set[Node] = set()
        self._formula = formula
        self._owner: dict[Node, Any] = {}
        self._seen: set[torch.fx.Graph] = set()
        self._order: dict[Node, int] = {}
        """Of the program's own calls."""
        self._written_at: dict[Node, list[int]] = {}

    def find(self, graph: torch.fx.Graph, *, is_program: bool = False) -> None:
        """Add the owners written to in this graph and in the regions it calls."""
        if graph in self._seen:
            return
        self._seen.add(graph)
        if writes_something(graph):
            self._walk(graph, is_program=is_program)

    def is_used_before_writes(self, node: Node | None) -> bool:
        """Whether its result is last used before memory that it may be in is next written to.

        Inputs may lie in the memory of others.
        """
        owner = None if node is None else self._owner.get(node)
        if node not in self._order or not isinstance(owner, Node) or owner.op == "placeholder":
            return False
        later = [at for at in self._written_at.get(owner, ()) if at >= self._order[node]]
        return not later or self._last_use(node, owner) < later[0]

    def _last_use(self, node: Node, owner: Node) -> float:
        """When a value, or one that may lie in its memory, is used last; regions hide it."""
        last, rest = 0, [node]
        for each in rest:
            for user in each.users:
                if user.target is not operator.getitem and not isinstance(user.target, OpOverload):
                    return float("inf")
                last = max(last, self._order[user])
                found = self._owner.get(user)
                if found is owner or isinstance(found, list):
                    rest.append(user)
        return last

    def _walk(self, graph: torch.fx.Graph, *, is_program: bool) -> None:
        owner = self._owner
        for node in graph.nodes:
            target: Any = node.target
            if is_program:
                self._order[node] = len(self._order)
            if node.op != "call_function":
                owner.setdefault(node, node)
            elif target is operator.getitem:
                source = owner[node.args[0]]
                owner[node] = source[node.args[1]] if isinstance(source, list) else source
                if source is node.args[0]:
                    owner[node] = node  # one of several fresh results
            elif target is _GRAD or target is _AUTOCAST:
                place = 1 if target is _GRAD else 4
                owner[node] = self._walk_region(node, place, is_program=is_program)
            elif isinstance(target, OpOverload):
                owner[node] = self._owner_of(node, OPERATORS.of(target))
            else:
                owner[node] = node

    def _walk_region(self, node: Node, place: int, *, is_program: bool) -> list[Any]:
        attribute: Any = node.args[place]
        child: Any = getattr(attribute.graph.owning_module, str(attribute.target))
        inputs = [each for each in child.graph.nodes if each.op == "placeholder"]
        for inner, outer in zip(inputs, node.args[place + 1 :], strict=True):
            self._owner[inner] = self._owner.get(outer, outer)  # pyright: ignore[reportArgumentType, reportCallIssue]
        self._walk(child.graph, is_program=is_program)
        returned: Any = child.graph.output_node().args[0]
        return [self._owner.get(each, each) for each in returned]

    def _owner_of(self, node: Node, op: Operator) -> Any:
        """Who owns the memory of a call's results; notes whose memory it writes."""
        table = op.aliasing
        if not op.inplace_view and op.overload is not BEGINS_HISTORY:
            for value in table.writes(node.args, node.kwargs):
                self._note(value)
        if table.written:
            bound = table.bound(node.args, node.kwargs)
            returned = [self._owned(bound.get(n)) if n else node for n in table.returned]
            return returned[0] if len(returned) == 1 else returned
        if table.source is not None and results_of(node) != FRESH:
            owners = self._owned(table.argument(table.source, node.args, node.kwargs))
            is_one = is_tensor_node(node) and isinstance(owners, list)
            return owners[0] if is_one else owners
        return self._owner_inside(node) if table.hides_views else node

    def _owned(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._owned(item) for item in value]
        return self._owner.get(value, value)

    def _note(self, value: Any) -> None:
        owner = self._owned(value)
        for each in owner if isinstance(owner, list) else [owner]:
            if isinstance(each, Node):
                self.roots.add(each)
                self._written_at.setdefault(each, []).append(len(self._order) - 1)

    def _owner_inside(self, node: Node) -> Any:
        """As the formula of a composite operator has it; where it has none, nothing is shared."""
        overload: Any = node.target
        types = tuple([argument_type(arg) for arg in node.args])
        keywords = {name: argument_type(arg) for name, arg in node.kwargs.items()}
        tensors = [each for each in node.all_input_nodes if is_tensor_node(each)]
        if not tensors:
            return node
        try:
            formula = self._formula(overload, composite_formula(overload), types, keywords)
        except CannotDecomposeError:
            return node
        given: list[Any] = []
        _flatten([*node.args, *node.kwargs.values()], given)
        owners = {id(slot.meta["val"]): g for slot, g in zip(formula.slots, given, strict=True)}

        def owner(result: Any) -> Any:
            if isinstance(result, list):
                return [owner(each) for each in result]
            val = result.meta["val"] if isinstance(result, Node) else None
            if not isinstance(val, AbstractTensor):
                return node
            source = owners.get(id(val.storage_root))
            return node if source is None else self._owned(source)

        found = owner(formula.results)
        flat = found if isinstance(found, list) else [found]
        return node if all(each is node for each in flat) else found


def is_tensor_node(node: Any) -> bool:
    """Whether a node of a program makes a tensor."""
    return isinstance(node, Node) and isinstance(node.meta.get("val"), AbstractTensor)


def shows_arguments(formula: Formula) -> bool:
    """Whether a result of a formula lies in the memory of what it is given."""
    return shows_one_of(formula.slots, formula.results)


def shows_one_of(slots: Sequence[Node], results: Any) -> bool:
    """Whether one of some recorded results lies in the memory of one of these inputs."""
    given = {id(slot.meta["val"]) for slot in slots}
    found: list[Any] = []
    _flatten([results], found)
    return any(id(each.meta["val"].storage_root) in given for each in found)


def _flatten(value: Any, tensors: list[Any]) -> None:
    for item in value:
        if is_tensor_node(item):
            tensors.append(item)
        elif isinstance(item, list | tuple):
            _flatten(item, tensors)


def writes_something(graph: torch.fx.Graph) -> bool:
    """Whether a graph, or a region it calls, has an operator that writes to an argument."""
    for node in graph.nodes:
        target: Any = node.target
        if isinstance(target, OpOverload):
            op = OPERATORS.of(target)
            if op.mutated or op.silent_flag is not None:
                return True
        elif node.op == "get_attr":
            child = getattr(graph.owning_module, str(target), None)
            if isinstance(child, torch.fx.GraphModule) and writes_something(child.graph):
                return True
    return False
