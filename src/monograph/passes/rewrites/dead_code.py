"""Dead code: what has no effect and whose result nobody uses goes.

Writes, assertions, and draws of random numbers stay: each changes something that is seen.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.recording.operators import only_computes
from monograph.host.flags import region_operators
from monograph.host.operator_types import HigherOrderOperator
from monograph.passes.rewrites.registry import rewrite

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.passes.rewrites.program_copy import ProgramCopy


@rewrite
def dead_code(edited: ProgramCopy) -> None:
    """Remove what computes nothing that is used, in regions too, and constants read by nothing."""
    _sweep(edited.module)
    edited.drop_unused_constants()


def _sweep(module: torch.fx.GraphModule) -> None:
    for node in reversed(list(module.graph.nodes)):
        if node.op == "call_function" and isinstance(node.target, HigherOrderOperator):
            _narrow(module, node)
        if not node.users and _is_dead_when_unused(module, node):
            module.graph.erase_node(node)
    read = {node.target for node in module.graph.nodes if node.op == "get_attr"}
    for name, child in list(module.named_children()):
        if isinstance(child, torch.fx.GraphModule) and name not in read:
            delattr(module, name)


def _is_dead_when_unused(module: torch.fx.GraphModule, node: Node) -> bool:
    if node.op == "get_attr":
        return True
    if node.op != "call_function":
        return False
    if isinstance(node.target, HigherOrderOperator):
        return all(_is_harmless(body) for body in _bodies(module, node))
    return only_computes(node)


def has_effect(module: torch.fx.GraphModule | None, node: Node) -> bool:
    """Whether a call changes what is seen beside its result; a region, whether anything in it does.

    Without a module the bodies of regions are not known, and may do anything.
    """
    if module is None:
        return isinstance(node.target, HigherOrderOperator)
    return node.op == "call_function" and not _is_dead_when_unused(module, node)


def _is_harmless(module: torch.fx.GraphModule) -> bool:
    return all(
        node.op in {"placeholder", "output", "get_attr"} or _is_dead_when_unused(module, node)
        for node in module.graph.nodes
    )


def _bodies(module: torch.fx.GraphModule, node: Node) -> list[torch.fx.GraphModule]:
    found = [
        getattr(module, str(each.target)) for each in node.all_input_nodes if each.op == "get_attr"
    ]
    return [each for each in found if isinstance(each, torch.fx.GraphModule)]


def _narrow(module: torch.fx.GraphModule, node: Node) -> None:
    """Let a subgraph return what is used only, then sweep it."""
    bodies = _bodies(module, node)
    takes = all(user.target is operator.getitem for user in node.users)
    if node.target in region_operators() and takes and len(bodies) == 1:
        output: Any = bodies[0].graph.output_node()
        used = sorted({int(user.args[1]) for user in node.users})  # pyright: ignore[reportArgumentType]
        if len(used) < len(output.args[0]):
            output.args = (tuple(output.args[0][index] for index in used),)
            for each in (output, node):
                if isinstance(each.meta.get("val"), tuple):
                    each.meta["val"] = tuple(each.meta["val"][index] for index in used)
            for user in list(node.users):
                user.args = (node, used.index(int(user.args[1])))  # pyright: ignore[reportArgumentType]
    for body in bodies:
        _sweep(body)


__all__ = ["dead_code", "has_effect"]
