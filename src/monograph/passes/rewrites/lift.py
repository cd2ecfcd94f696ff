"""Lifting: tensors that a graph reads as attributes become inputs that stand for constants.

Passes written for `torch.fx` put tensors on the module and read them with get_attr; a program has
its state among its inputs. `program.transform` lifts after each such pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor_type import type_of
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput
from monograph.passes.rewrites.registry import rewrite
from monograph.passes.rewrites.type_inference import described

if TYPE_CHECKING:
    from torch.fx.node import Node


@rewrite
def lift(edited: ProgramCopy) -> None:
    """Make a placeholder of every tensor that the program's graph reads as an attribute.

    A tensor that is state already is read through the placeholder that it has.
    """
    known = {
        id(edited.tensors[state_input.target]): node
        for node in edited.placeholders()
        if (state_input := edited.state_inputs.get(node.name)) is not None
    }
    for node in list(edited.graph.nodes):
        if node.op != "get_attr":
            continue
        tensor = _attribute(edited.module, str(node.target))
        if not isinstance(tensor, torch.Tensor):
            continue
        found = known.get(id(tensor))
        if found is None:
            found = known[id(tensor)] = _placeholder(edited, str(node.target), tensor)
        node.replace_all_uses_with(found)
        edited.graph.erase_node(node)
        _forget(edited.module, str(node.target))


def _placeholder(edited: ProgramCopy, target: str, tensor: torch.Tensor) -> Node:
    free = target if target not in edited.tensors else edited.new_target(target)
    state_input = StateInput("constant", free)
    if isinstance(tensor, torch.nn.Parameter):
        state_input = StateInput("parameter", free)
    return edited.add_state(state_input, tensor, described(type_of(tensor), edited.facts))


def _attribute(module: torch.nn.Module, target: str) -> Any:
    value: Any = module
    for part in target.split("."):
        value = getattr(value, part, None)
    return value


def _forget(module: torch.nn.Module, target: str) -> None:
    """Take a tensor off the module, once nothing reads it there."""
    owner, _, name = target.rpartition(".")
    place = module.get_submodule(owner)
    if hasattr(place, name):
        delattr(place, name)


__all__ = ["lift"]
