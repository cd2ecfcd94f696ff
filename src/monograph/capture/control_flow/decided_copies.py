"""Alias analysis at regions: whether what copies as its argument lies did copy, for every call.

`x.contiguous()` lies in the memory of `x` or in its own, as `x` lies. A region that begins with a
copy of one of them must know: the example decides, with a guard on how the inputs lie and, where
sizes decide as well, on these. A tensor that was copied owns its memory from then on. A dropout
gives a tensor without elements itself: what a region copies has some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.aliasing import (
    FRESH,
    aliasing_of,
    may_drop_nothing,
    require_drop,
    results_of,
    source_of,
    view_chain,
)
from monograph.abstract.layout import contiguity
from monograph.abstract.layout_origin import copied_by_layout
from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import problem
from monograph.integers import choose, negate, use

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder


def decide_copies(recorder: Recorder, operator: str, tensor: AbstractTensor) -> None:
    """Find out who owns the memory of a tensor; `storage_root` tells it afterwards.

    `operator` is how messages call what runs the region that asks.

    Raises: branch-writes (data decide).
    """
    facts = recorder.facts
    while facts.outer is not None:  # what holds in a region alone decides nothing outside of it
        facts = facts.outer
    with use(facts):
        chain = () if tensor.node is None else view_chain(tensor.node)
        for each in filter(may_drop_nothing, chain):
            require_drop(each)
    for call, source in copied_by_layout(tensor.node):
        recorder.layout_asked(source, "form")
        made = call.meta.get("val")
        with use(facts):
            is_copy = isinstance(made, AbstractTensor) and _is_copy(call, source, made)
        if is_copy is None:
            reason = "data decide whether it is a copy"
            raise problem("branch-writes", operator=operator, name="", reason=reason)
        if is_copy and isinstance(made, AbstractTensor):
            _own(recorder, made)
            return


def _is_copy(call: Node, source: AbstractTensor, made: AbstractTensor) -> bool | None:
    """Whether it has memory of its own; what is a view has its elements in the source's order."""
    found = results_of(call, lies=True)
    if found == FRESH or FRESH.isdisjoint(found):
        return found == FRESH
    target: Any = call.target
    form = aliasing_of(target).bound(call.args, call.kwargs).get("memory_format")
    lie = [_lies(each, form or torch.contiguous_format) for each in (source, made)]
    return None if None in lie else lie == [False, True]


def _lies(tensor: AbstractTensor, form: torch.memory_format) -> bool | None:
    """Whether it lies so, for the example, with a guard; None where data decide."""
    where = contiguity(tensor.tensor_type, form)
    chosen = choose(where, negate(where))
    return None if chosen is None else chosen == 0


def _own(recorder: Recorder, owner: AbstractTensor) -> None:
    """Let a tensor, and all views of it, lie in its own memory."""
    root = owner.storage_root
    if root is owner or owner.node is None:
        return
    recorder.lineage.parted(owner, root)
    owner.n_writes = root.n_writes
    found = {owner.node}
    waiting = [owner.node]
    while waiting:
        node = waiting.pop()
        value = node.meta.get("val")
        if isinstance(value, AbstractTensor):
            value.view_of = None if value is owner else owner
        users = [each for each in node.users if each not in found and source_of(each) in found]
        more = [each for each in users if results_of(each) != FRESH]
        found.update(more)
        waiting += more


__all__ = ["decide_copies"]
