"""Concrete execution: as much of the graph as somebody asks for, run on the example inputs.

Law: a value is the one that eager has at this moment, for the example. A part that nothing was
written to is run once and kept. Where something was written in place, a value depends on when it is
read, so the whole graph is run in its order up to now, on copies of what it writes.

Nothing outlives it: random numbers are drawn from a generator that is put back.
"""

from __future__ import annotations

import operator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_arg

from monograph.abstract.tensor import AbstractTensor
from monograph.host.dispatch import without_modes
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder


class StuckError(Exception):
    """The graph cannot be run on the example."""


class Rehearsal:
    """Runs parts of a recorder's graph; `real` holds the values of placeholders."""

    def __init__(self, recorder: Recorder, real: Mapping[Node, Any]) -> None:
        self._recorder = recorder
        self._real = real
        self._kept: dict[Node, Any] = {}
        self._in_order: _InOrder | None = None

    def value(self, node: Node) -> Any:
        """What the node computes for the example; a tensor that is returned is not to be changed.

        Raises: StuckError.
        """
        order, reached = self._part(node)
        try:
            with _undisturbed():
                if any(_is_written(each) for each in reached):
                    return self._now(node)
                for each in order:
                    self._kept[each] = self._run(each, self._kept)
        except Exception as error:
            raise StuckError(str(error)) from error
        return self._kept[node]

    def _part(self, node: Node) -> tuple[list[Node], set[Node]]:
        """The nodes that have to run for this one, in order; and these with those they read."""
        order: list[Node] = []
        reached: set[Node] = set()
        waiting = [(node, False)]
        while waiting:
            each, is_ready = waiting.pop()
            if is_ready:
                order.append(each)
            elif each not in reached:
                reached.add(each)
                if each not in self._kept:
                    waiting.append((each, True))
                    waiting.extend((source, False) for source in each.all_input_nodes)
        return order, reached

    def _now(self, node: Node) -> Any:
        written = frozenset(self._recorder.mutated)
        if self._in_order is None or self._in_order.written != written:
            self._in_order = _InOrder(written)
        done = self._in_order.values
        for each in self._recorder.writer.graph.nodes:
            if each not in done and each is not self._recorder.writer.body_begin:
                value = self._run(each, done)
                copied = each.op == "placeholder" and each.name in written
                done[each] = value.clone() if copied else value
        return done[node]

    def _run(self, node: Node, values: Mapping[Node, Any]) -> Any:
        if node.op == "placeholder":
            constant = self._recorder.writer.constant_of.get(node)
            return self._real[node] if constant is None else constant
        args = map_arg(node.args, values.__getitem__)
        kwargs = map_arg(node.kwargs, values.__getitem__)
        target: Any = node.target
        with self._regions(node):
            return target(*args, **kwargs)

    @contextmanager
    def _regions(self, node: Node) -> Generator[None]:
        """The casts that the operator was recorded in."""
        with ExitStack() as stack:
            for region in self._recorder.scopes.states.get(node, ()):
                if region.kind == "autocast":
                    device, dtype, enabled, cache = region.settings
                    stack.enter_context(
                        torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=cache)
                    )
            yield


class _InOrder:
    """The values of a run from the beginning, on copies of what is `written`."""

    def __init__(self, written: frozenset[str]) -> None:
        self.written = written
        self.values: dict[Node, Any] = {}


def _is_written(node: Node) -> bool:
    """Whether the node's result lies in memory that somebody wrote to."""
    if node.target is operator.getitem:
        return False
    return any(
        isinstance(value, AbstractTensor) and value.storage_root.n_writes
        for value in pytree.tree_leaves(node.meta.get("val"))
    )


@contextmanager
def _undisturbed() -> Generator[None]:
    with without_modes(), torch.no_grad(), torch.random.fork_rng(devices=[]):
        yield


__all__ = ["Rehearsal", "StuckError"]
