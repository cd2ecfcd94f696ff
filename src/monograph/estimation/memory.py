"""Peak memory of activations by liveness: what each call finds alive, makes, and leaves behind.

A storage lives from the call that makes it to the last one that reads it or a view of it, as when
the graph runs and each value is dropped after its last use. State and inputs are the caller's.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from torch.fx.node import Node

from monograph.abstract.aliasing import source_of
from monograph.estimation.costs import (
    bodies_of,
    gives_views,
    is_copied,
    settled,
    size_in_bytes,
    types_in,
)
from monograph.estimation.flop_registry import operator_name
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.integers import Expr, Int, is_symbol, product, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

Storage = tuple[Node, int]


@dataclass(frozen=True, slots=True)
class Point:
    """How many bytes are alive while a node runs."""

    node: str
    live: Int


def live_points(module: torch.fx.GraphModule) -> list[Point]:
    """What is alive while calls of a graph run, for those that may be the peak."""
    nodes = list(module.graph.nodes)
    places = {node: i for i, node in enumerate(nodes)}
    owners: dict[Node, set[Storage]] = {}
    last: dict[Storage, int] = {}
    for node in nodes:
        owned = owners[node] = _owned(node, owners)
        until = max([places[user] for user in node.users], default=places[node])
        for storage in owned:
            last[storage] = max(last.get(storage, 0), until)
    ending: dict[int, list[Storage]] = {}
    for storage, place in last.items():
        ending.setdefault(place, []).append(storage)
    sizes: dict[Storage, Int] = {}
    live: Int = 0
    points: list[Point] = []
    for place, node in enumerate(nodes):
        made = [storage for storage in owners[node] if storage[0] is node]
        for _, index in made:
            sizes[node, index] = size_in_bytes(types_in(node)[index])
        new = total([sizes[storage] for storage in made])
        if node.op == "call_function":
            points += _while_running(node, live, new)
        live = live + new - total([sizes[storage] for storage in ending.get(place, ())])
    return greatest(points)


def _owned(node: Node, owners: dict[Node, set[Storage]]) -> set[Storage]:
    """The storages that a value lies in, of those that the graph makes."""
    target: Any = node.target
    if node.op != "call_function":
        return set()
    if target is operator.getitem and isinstance(node.args[0], Node):
        source = source_of(node)
        if source is not None:
            return owners[source]
        call, index = node.args[0], cast("int", node.args[1])
        return {(call, index)} & owners[call] or owners[call]
    types = types_in(node)
    if isinstance(target, HigherOrderOperator):
        return {(node, i) for i in range(len(types))}
    if not isinstance(target, OpOverload) or gives_views(node):
        return set()
    source = source_of(node)
    if source is not None and not is_copied(node):
        return owners[source]
    return {(node, i) for i in range(len(types))}


def _while_running(node: Node, live: Int, new: Int) -> list[Point]:
    """What is alive in a call: its result, what it needs meanwhile, and what its bodies make."""
    target: Any = node.target
    if isinstance(target, HigherOrderOperator):
        inner = [point for body in bodies_of(node) for point in live_points(body)]
        keeps = new if operator_name(target).rpartition("::")[2] in _KEEPING else 0
        return [
            Point(node.name, live + new),
            *[Point(p.node, live + keeps + p.live) for p in inner],
        ]
    scratch = scratch_of(node)
    return [Point(node.name, live + new + scratch)] if types_in(node) else []


_KEEPING: Final = frozenset({"associative_scan", "map_impl", "scan", "while_loop"})
"""Higher-order operators whose results are there beside what a round makes."""


def scratch_of(node: Node) -> Int:
    """What a composite operator allocates and drops again, where that is more than a little."""
    if not isinstance(node.target, OpOverload):
        return 0
    name = operator_name(node.target).rpartition("::")[2]
    if name == "scaled_dot_product_attention":
        query = types_in(node.args[0])[0].shape
        return 4 * product(map(settled, query[:-1]))
    if name == "cross_entropy_loss":
        return size_in_bytes(types_in(node.args[0])[0])
    return 0


def greatest(points: Sequence[Point]) -> list[Point]:
    """The points that are the peak at some sizes: one that is never more than another goes."""
    kept: list[Point] = []
    for point in points:
        if any(_covers(other.live, point.live) for other in kept):
            continue
        kept = [other for other in kept if not _covers(point.live, other.live)]
        kept.append(point)
    return kept


def _covers(one: Int, other: Int) -> bool:
    """Whether `one >= other` for all sizes, by their coefficients."""
    left, right = _parts(one), _parts(other)
    for monomial in left.keys() | right.keys():
        a, b = left.get(monomial, 0), right.get(monomial, 0)
        if a < b or (a > b and not all(map(is_symbol, monomial))):
            return False
    return True


def _parts(e: Int) -> dict[tuple[Expr, ...], int]:
    return dict(e.parts) if isinstance(e, Expr) else {(): e}
