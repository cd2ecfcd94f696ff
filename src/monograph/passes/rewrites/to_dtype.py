"""Dtype conversion of a program: what was float32 becomes, say, bfloat16, throughout.

Law: every value of the old type is of the new one: state, inputs, results, and the types that
operators name. So what user code computed in the old type on purpose is computed in the new one.
Numbers that are limits of the old type (`torch.finfo(x.dtype).min` fills masks) are the new one's.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_aggregate

from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import OpOverload
from monograph.passes.rewrites.registry import rewrite
from monograph.passes.rewrites.state_conversion import convert
from monograph.passes.rewrites.type_inference import retyped

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.passes.rewrites.program_copy import ProgramCopy


@rewrite
def to_dtype(
    edited: ProgramCopy, dtype: torch.dtype, *, source: torch.dtype = torch.float32
) -> None:
    """Replace the type `source` by `dtype` everywhere; the contract asks for it too."""
    if dtype is source:
        return
    names = [name for name, tensor in edited.tensors.items() if tensor.dtype is source]
    convert(edited.tensors, names, lambda tensor: tensor.to(dtype))
    for module in list(edited.graphs()):
        nodes = list(module.graph.nodes)
        born = {node for node in nodes if is_born_here(node, source)}
        for node in nodes:
            _retype(module.graph, node, source, dtype, is_born=node in born)
    edited.dtypes = {**edited.dtypes, source: dtype}


_UNMISTAKABLE = 1e-6
"""An epsilon below it is one; the greater ones of short types are numbers as any others."""


def _limits(source: torch.dtype, dtype: torch.dtype) -> dict[float, float]:
    """The limits of one type, each with that of the other."""
    if not all(each.is_floating_point or each.is_complex for each in (source, dtype)):
        return {}
    old, new = torch.finfo(source), torch.finfo(dtype)
    found = {old.min: new.min, old.max: new.max, old.tiny: new.tiny}
    return found | ({old.eps: new.eps} if old.eps < _UNMISTAKABLE else {})


def _retype(
    graph: torch.fx.Graph, node: Node, source: torch.dtype, dtype: torch.dtype, *, is_born: bool
) -> None:
    limits = _limits(source, dtype)

    def constant(value: Any) -> Any:
        if value is source:
            return dtype
        return limits.get(value, value) if isinstance(value, float) else value

    def change(t: TensorType) -> TensorType:
        changed = dtype if t.dtype is source else t.dtype
        return TensorType(t.shape, changed, t.device, t.strides, t.offset, t.requires_grad)

    node.args = map_aggregate(node.args, constant)  # pyright: ignore[reportAttributeAccessIssue]
    node.kwargs = map_aggregate(node.kwargs, constant)  # pyright: ignore[reportAttributeAccessIssue]
    if "val" in node.meta:
        node.meta["val"] = retyped(node.meta["val"], change)
    if not is_born or any(each is dtype for each in (*node.args, *node.kwargs.values())):
        return
    if _names_dtype(node):
        node.kwargs = {**node.kwargs, "dtype": dtype}
        return
    with graph.inserting_after(node):
        cast = graph.call_function(torch.ops.aten.to.dtype, (node, dtype))
    node.replace_all_uses_with(cast, delete_user_cb=lambda user: user is not cast)
    cast.meta = dict(node.meta)
    node.meta["val"] = retyped(node.meta["val"], lambda t: _as(t, source))


def _as(t: TensorType, dtype: torch.dtype) -> TensorType:
    return TensorType(t.shape, dtype, t.device, t.strides, t.offset, t.requires_grad)


def _names_dtype(node: Node) -> bool:
    """Whether the operator takes the type of its result as an option."""
    if not isinstance(node.target, OpOverload):
        return False
    arguments = schema_of(node.target).arguments
    return any(each.name == "dtype" and each.kwarg_only for each in arguments)


def is_born_here(node: Node, source: torch.dtype) -> bool:
    """Whether a tensor has the old type by default, and not from an argument."""
    if not isinstance(node.meta.get("val"), AbstractTensor) or not _has(node, source):
        return False
    if node.target is operator.getitem:
        makers = node.all_input_nodes[0].all_input_nodes
        return not any(_has(each, source) for each in makers)
    if not isinstance(node.target, OpOverload):
        return False
    return not any(_has(each, source) for each in node.all_input_nodes)


def _has(node: Node, dtype: torch.dtype) -> bool:
    val = node.meta.get("val")
    vals: Any = val if isinstance(val, tuple | list) else [val]
    tensors = [each for each in vals if isinstance(each, AbstractTensor)]
    return any(each.tensor_type.dtype is dtype for each in tensors)


__all__ = ["is_born_here", "to_dtype"]
