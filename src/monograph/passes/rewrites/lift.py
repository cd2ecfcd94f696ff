"""Lifting: tensors that a graph reads as attributes become inputs that stand for constants.

Passes written for `torch.fx` put tensors on the module and read them with get_attr; a program has
its state among its inputs. `program.transform` lifts after each such pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor_type import type_of
from monograph.passes.rewrites.program_copy import Held, Material
from monograph.passes.rewrites.registry import rewrite
from monograph.passes.rewrites.type_inference import described

if TYPE_CHECKING:
    from torch.fx.node import Node


@rewrite
def lift(material: Material) -> None:
    """Make a placeholder of every tensor that the program's graph reads as an attribute.

    A tensor that is state already is read through the placeholder that it has.
    """
    known = {
        id(material.tensors[held.target]): node
        for node in material.placeholders()
        if (held := material.held.get(node.name)) is not None
    }
    for node in list(material.graph.nodes):
        if node.op != "get_attr":
            continue
        tensor = _attribute(material.module, str(node.target))
        if not isinstance(tensor, torch.Tensor):
            continue
        found = known.get(id(tensor))
        if found is None:
            found = known[id(tensor)] = _placeholder(material, str(node.target), tensor)
        node.replace_all_uses_with(found)
        material.graph.erase_node(node)
        _forget(material.module, str(node.target))


def _placeholder(material: Material, target: str, tensor: torch.Tensor) -> Node:
    free = target if target not in material.tensors else material.new_target(target)
    held = Held("constant", free)
    if isinstance(tensor, torch.nn.Parameter):
        held = Held("parameter", free)
    return material.add_state(held, tensor, described(type_of(tensor), material.facts))


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
