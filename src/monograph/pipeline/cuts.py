"""Where a graph is cut: between modules, so that the dearest stage is as cheap as it can be.

Law: a cut leaves memory that is written to, numbers that no input can be, and lists of results
whole, each with all that reads them, on one side.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of, view_chain
from monograph.estimation.costs import costs_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.integers import evaluate, symbols, use
from monograph.passes.alias_analysis import written_arguments
from monograph.pipeline.call_times import times_of
from monograph.program import InputKind, OutputKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch.fx.node import Node

    from monograph.program import ExportedProgram

NEAR: Final = 1.2
"""Cuts between larger modules are taken where they balance nearly as well as any."""


def cuts_of(program: ExportedProgram, parts: int, balance: str) -> list[list[Node]]:
    """The calls of a graph in `parts` runs of them, by the parameters, FLOPs or time of each.

    None where there are not as many places to cut.
    """
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    whole = _kept_whole(program, calls)
    stacks = _stacks(calls)
    depths = {
        at: _common(stacks[at - 1], stacks[at])
        for at in range(1, len(calls))
        if not whole[at] and stacks[at - 1] != stacks[at]
    }
    weights = _weights(program, calls, balance)
    found: list[int] = []
    if len(depths) >= parts - 1:
        finest = _balanced(weights, sorted(depths), parts)
        for depth in sorted({*depths.values()}):
            places = sorted(at for at, each in depths.items() if each <= depth)
            found = _balanced(weights, places, parts) if len(places) >= parts - 1 else []
            if found and _greatest(weights, found) <= NEAR * _greatest(weights, finest):
                break
    elif parts > 1:
        return []
    ends = [0, *found, len(calls)]
    return [calls[begin:end] for begin, end in pairwise(ends)]


def memory_of(calls: Iterable[Node]) -> dict[Node, Node]:
    """One value for all that may lie in the same memory; a call that hides views joins the rest."""
    parent: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while parent.get(node, node) is not node:
            node = parent[node]
        return node

    for node in calls:
        target: Any = node.target
        ways = view_chain(node)
        if isinstance(target, OpOverload) and aliasing_of(target).hides_views:
            ways = [node, *node.all_input_nodes]
        elif isinstance(target, HigherOrderOperator) or target is operator.getitem:
            ways = [node, *node.all_input_nodes, *ways]
        for other in ways:
            if isinstance(other.meta.get("val"), torch.Tensor | tuple | list):
                parent[root(other)] = root(node)
    return {node: root(node) for node in {*parent, *calls}}


def _kept_whole(program: ExportedProgram, calls: Sequence[Node]) -> list[bool]:
    """Whether a cut before each call is out of the question."""
    places = {node: at for at, node in enumerate(calls)}
    memory = memory_of(calls)
    last = _last_writes(program, places, memory)
    runs: dict[Any, list[int]] = {}
    for node in calls:
        for each in (node, *node.all_input_nodes):
            lies = memory.get(each, each)
            if places[node] <= last.get(lies, -1):
                runs.setdefault(lies, []).append(places[node])
        val = node.meta.get("val")
        if not isinstance(val, torch.Tensor | torch.SymInt | int):
            runs[node] = [places[node], *[places[user] for user in node.users if user in places]]
    _put_mutations(program, places, runs)
    whole = [False] * (len(calls) + 1)
    for run in runs.values():
        for at in range(min(run) + 1, max(run) + 1):
            whole[at] = True
    return whole


def _last_writes(
    program: ExportedProgram, places: Mapping[Node, int], memory: Mapping[Node, Node]
) -> dict[Node, int]:
    """The place of the last write to each memory; beyond all where it is an input's or a buffer's.

    Whoever reads such a one later, reads what was written there.
    """
    last: dict[Node, int] = {}
    for node, place in places.items():
        for each in written_arguments(program.graph_module, node):
            last[memory.get(each, each)] = place
    for each, lies in [*memory.items(), *zip(last, last, strict=True)]:
        if each.op == "placeholder" and lies in last:
            last[lies] = len(places)
    return last


def _put_mutations(
    program: ExportedProgram, places: dict[Node, int], runs: dict[Any, list[int]]
) -> None:
    """What a functional graph returns as a new value of an input is made where that is read."""
    signature = program.graph_signature
    inputs = {spec.target or spec.arg.name: spec.arg.name for spec in signature.input_specs}
    holders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    values: Any = program.graph.output_node().args[0]
    for spec, value in zip(signature.output_specs, values, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT or spec.target not in inputs:
            continue
        users = [each for each in holders[inputs[spec.target]].users if each in places]
        made = [places[each] for each in (*users, value) if each in places]
        runs[spec.target] = runs.get(spec.target, []) + (made or [0])


def _stacks(calls: Sequence[Node]) -> list[tuple[str, ...]]:
    """The modules that each call is in; what has none is where the one before it is."""
    stacks: list[Any] = [node.meta.get("nn_module_stack") for node in calls]
    last: Any = next(filter(None, stacks), {})
    found: list[tuple[str, ...]] = []
    for stack in stacks:
        last = stack or last
        found.append(tuple([str(path) for path, _ in last.values()]))
    return found


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    n = 0
    while n < min(len(one), len(other)) and one[n] == other[n]:
        n += 1
    return n


def _weights(program: ExportedProgram, calls: Sequence[Node], balance: str) -> list[int]:
    """What each call weighs, at the example's sizes; a little even where it is nothing."""
    found = {node.name: 0 for node in calls}
    if balance == "time":
        times = times_of(program)
        found = {node.name: times[node.name] for node in calls}
    elif balance == "flops":
        facts = program.facts
        with use(facts):
            rows = costs_of(program.graph_module, {})
        hints = {
            each: 1 if facts.hint_of(each) is None else facts.hint_of(each)
            for each in facts.symbols
        }
        for row in rows:
            known = {each: hints.get(each, 1) for each in symbols(row.flops)}
            if row.node in found:
                found[row.node] += evaluate(row.flops, known)
    else:
        state = {
            spec.arg.name: spec.target
            for spec in program.graph_signature.input_specs
            if spec.kind is InputKind.PARAMETER
        }
        seen: set[str] = set()
        for node in calls:
            for each in node.all_input_nodes:
                target = state.get(each.name)
                if target is not None and target not in seen:
                    seen.add(target)
                    found[node.name] += program.state_dict[target].numel()
    return [len(calls) * found[node.name] + 1 for node in calls]


def _balanced(weights: Sequence[int], places: Sequence[int], parts: int) -> list[int]:
    """The places whose dearest part is cheapest: linear partition, by bisection of its weight."""
    sums = [0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    ends = [*places, len(weights)]
    low, high = 0, sums[-1]
    while low < high:
        middle = (low + high) // 2
        if _filled(sums, ends, middle, parts) is None:
            low = middle + 1
        else:
            high = middle
    return _filled(sums, ends, high, parts) or []


def _filled(sums: Sequence[int], ends: Sequence[int], limit: int, parts: int) -> list[int] | None:
    """Cuts with no part above the limit, each part as long as it may be; None where none are."""
    cuts: list[int] = []
    begin = 0
    for number, at in enumerate(ends[:-1]):
        left = len(ends) - 1 - number  # places from here on
        missing = parts - 1 - len(cuts)
        is_needed = missing == left
        is_full = sums[ends[number + 1]] - sums[begin] > limit
        if missing and (is_needed or is_full):
            cuts.append(at)
            begin = at
    edges = [0, *cuts, ends[-1]]
    widest = max(sums[b] - sums[a] for a, b in pairwise(edges))
    return cuts if widest <= limit else None


def _greatest(weights: Sequence[int], cuts: Sequence[int]) -> int:
    edges = [0, *cuts, len(weights)]
    return max(sum(weights[a:b]) for a, b in pairwise(edges))
