"""Constant folding: what depends on constants alone is computed now and becomes a constant.

Opt-in, because it trades memory for time. Law: only what nobody writes to and the caller does not
get hold of is folded, since a constant is one tensor for all calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node, map_arg

from monograph.host.dispatch import has_memory
from monograph.host.operator_types import OpOverload
from monograph.passes.alias_analysis import Sharing, is_pure
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput
from monograph.passes.rewrites.registry import rewrite

if TYPE_CHECKING:
    from collections.abc import Mapping


@rewrite
def fold_constants(edited: ProgramCopy, *, state: bool = False, max_elements: int = 2**20) -> None:
    """Compute what depends on constants, at most `max_elements` large.

    With `state`, parameters and buffers that the program does not write to are constants too:
    they get no gradients through what is folded, and new values of theirs are not seen.
    """
    sharing = Sharing(edited.module, edited.placeholders())
    known: dict[Node, Any] = {}
    for node in edited.placeholders():
        tensor = edited.tensor_of(node)
        if tensor is not None and _is_constant(edited, node, tensor, state=state):
            known[node] = tensor
    for node in list(edited.graph.nodes):
        if _is_foldable(node, known, sharing):
            value = _value(node, known)
            if _can_be_kept(value) and value.numel() <= max_elements:
                known[node] = value
    for node, value in known.items():
        if node.op == "placeholder" or all(user in known for user in node.users):
            continue
        state_input = StateInput("constant", edited.new_target("folded"))
        node.replace_all_uses_with(edited.add_state(state_input, value, node.meta["val"]))
    for node in reversed(list(known)):
        if not node.users and node.op != "placeholder":
            edited.graph.erase_node(node)
    edited.drop_unused_constants()


def _is_constant(edited: ProgramCopy, node: Node, tensor: torch.Tensor, *, state: bool) -> bool:
    if node.name in edited.written:
        return False
    if edited.state_inputs[node.name].kind == "constant":
        return state or not tensor.requires_grad
    return state


def _is_foldable(node: Node, known: Mapping[Node, Any], sharing: Sharing) -> bool:
    return (
        isinstance(node.target, OpOverload)
        and is_pure(node)
        and all(each in known for each in node.all_input_nodes)
        and isinstance(node.meta["val"], torch.Tensor)
        and not sharing.is_written(node)
        and not sharing.is_returned(node)
    )


def _can_be_kept(value: Any) -> bool:
    """Whether a value is a tensor that lies in memory as its type says."""
    return (
        isinstance(value, torch.Tensor)
        and has_memory(value)
        and not value.is_conj()
        and not value.is_neg()
    )


def _value(node: Node, known: Mapping[Node, Any]) -> Any:
    """The value, None where the operator refuses: then it stays for the call to refuse."""
    target: Any = node.target
    args = map_arg(node.args, known.__getitem__)  # pyright: ignore[reportArgumentType]
    kwargs = map_arg(node.kwargs, known.__getitem__)  # pyright: ignore[reportArgumentType]
    try:
        with torch.no_grad():
            return target(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError):
        return None


__all__ = ["fold_constants"]
