"""Dialects: which operators a program's graph may call, and what departs from that.

    TRAINING   what capture records: any operator, in place or not
    ATEN       operators that write to no argument but copies made for them
    CORE_ATEN  of those, the ones that PyTorch tags as core

`program.exceptions` names every operator outside the dialect, and why it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import BEGINS_HISTORY, written_by
from monograph.host.decompositions import is_core
from monograph.host.operator_types import OpOverload
from monograph.passes.decomposition.user_formulas import NOT_APPLIED
from monograph.passes.graph_walks import calls

if TYPE_CHECKING:
    from torch.fx.node import Node

TRAINING: Final = "TRAINING"
ATEN: Final = "ATEN"
CORE_ATEN: Final = "CORE_ATEN"

REASONS: Final = "monograph.reasons"
"""Where a graph module's `meta` says why operators were kept."""

_CLONE = torch.ops.aten.clone.default


def exceptions(module: torch.fx.GraphModule, dialect: str) -> dict[str, str]:
    """The operators outside the dialect by name, each with its reason."""
    if dialect == TRAINING:
        return {}
    reasons: dict[str, str] = module.meta.get(REASONS, {})
    found: dict[str, str] = {}
    for node in calls(module):
        target: Any = node.target
        name = str(target)
        if name in found or not isinstance(target, OpOverload):
            continue
        if target is BEGINS_HISTORY:
            found[name] = "it makes a leaf of the call's own, which no value says"
        elif written_by(node):
            found[name] = "it writes to copies, which take the place of what it would write to"
        elif dialect == CORE_ATEN and not is_core(target):
            found[name] = reasons.get(name, "it has no formula in simpler operators")
        elif reasons.get(name, "").startswith(NOT_APPLIED):
            found[name] = reasons[name]
    return found


def dialect_fault(node: Node) -> str:
    """What is wrong with a call in a graph without writes, "" where nothing is."""
    for written in written_by(node):
        if written.target is not _CLONE and node.target is not BEGINS_HISTORY:
            return f"writes to `{written}`, in a program whose mutations are outputs"
    return ""
