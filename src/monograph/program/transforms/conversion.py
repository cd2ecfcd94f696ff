"""`program.to(...)`: conversion to another device or another floating-point type.

Law: on another device it computes the same function there. In another dtype it is the program of
`module.to(dtype)`, or it is refused: where user code asked for a dtype or named one, where values
are born in one, or where there are several, the graph does not say what that module would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_aggregate

from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import problem
from monograph.host.module_calls import conversion_of
from monograph.passes.graph_walks import graph_modules
from monograph.passes.rewrites.move_to_device import move_to_device
from monograph.passes.rewrites.to_dtype import is_born_here, to_dtype
from monograph.program.contract import where
from monograph.program.dialect import TRAINING
from monograph.program.printing import dtype_text
from monograph.program.signature import InputKind
from monograph.program.transforms.transform import transformed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.fx.node import Node

    from monograph.program.program import ExportedProgram


def converted(program: ExportedProgram, *args: Any, **kwargs: Any) -> ExportedProgram:
    """The program as `Module.to` with these arguments would have it.

    Raises: dtype-is-fixed; TypeError.
    """
    device, dtype, memory_format = conversion_of(*args, **kwargs)
    if memory_format is not None:
        raise problem("state-converted", what=f"weights would lie in {memory_format}")
    if dtype is not None:
        program = _in_dtype(program, dtype)
    return program if device is None else transformed(program, (move_to_device(device),))


def _in_dtype(program: ExportedProgram, dtype: torch.dtype) -> ExportedProgram:
    types = sorted({*_floating(program)}, key=str)
    if types in ([], [dtype]):
        return program
    reason = next(_obstacles(program, types), "")
    if reason:
        raise problem("dtype-is-fixed", dtype=dtype, reason=reason)
    return transformed(program, (to_dtype(dtype, source=types[0]),))


def _nodes(program: ExportedProgram) -> Iterator[Node]:
    for _, module in graph_modules(program.graph_module):
        yield from module.graph.nodes


def _floating(program: ExportedProgram) -> Iterator[torch.dtype]:
    """The types of all values that are converted; state that nothing reads among them."""
    for node in _nodes(program):
        val = node.meta.get("val")
        for each in val if isinstance(val, tuple | list) else [val]:
            if isinstance(each, AbstractTensor) and _is_inexact(each.tensor_type.dtype):
                yield each.tensor_type.dtype
    tensors = (*program.state_dict.values(), *program.constants.values())
    yield from (tensor.dtype for tensor in tensors if _is_inexact(tensor.dtype))


def _is_inexact(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _obstacles(program: ExportedProgram, types: list[torch.dtype]) -> Iterator[str]:
    """Why the graph does not tell what the module does in another type."""
    if program.dialect != TRAINING:
        yield f"its operators were lowered for {dtype_text(types[0])}"
    if types[1:]:
        yield f"it computes in {' and '.join(map(dtype_text, types))}"
    if types[0].is_complex:
        yield "it computes with complex numbers"
    asked = program.contract.dtype_asked
    if asked is True:
        yield "it is not known whether forward asks for dtypes"
    elif asked is not None:
        yield f"forward asks a tensor for its dtype{_at(asked)}"
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR and _is_inexact(_constant(program, spec)):
            yield f"`{spec.target}` is a tensor that `Module.to` does not convert"
    yield from _shared(program)
    for node in _nodes(program):
        yield from _obstacles_at(node, types[0])


def _shared(program: ExportedProgram) -> Iterator[str]:
    """State that shares memory, which `Module.to` copies tensor by tensor."""
    owners: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in {**program.constants, **program.state_dict}.items():
        if tensor.layout is not torch.strided or not tensor.untyped_storage().data_ptr():
            continue
        first, owner = owners.setdefault(tensor.untyped_storage().data_ptr(), (name, tensor))
        if owner is not tensor:
            yield f"`{first}` and `{name}` share memory, which `Module.to` does not keep so"


def _obstacles_at(node: Node, dtype: torch.dtype) -> Iterator[str]:
    place = _at(node.meta.get("frames"))
    if _names_a_dtype(node):
        yield f"{node.target} names a dtype{place}"
    if node.target is torch.ops.aten.as_strided.default:
        yield f"a view is read by its strides, and `Module.to` keeps none of state{place}"
    if node.op == "call_function" and is_born_here(node, dtype):
        yield f"{node.target} makes {dtype_text(dtype)} of something else{place}"


def _at(origin: object) -> str:
    place = where(origin)
    return f" ({place})" if place else ""


def _constant(program: ExportedProgram, spec: Any) -> torch.dtype:
    state_input: Any = program.constants.get(spec.target, program.state_dict.get(spec.target))
    return state_input.dtype


def _names_a_dtype(node: Node) -> bool:
    found: list[torch.dtype] = []

    def look(value: Any) -> Any:
        if isinstance(value, torch.dtype) and _is_inexact(value):
            found.append(value)
        return value

    map_aggregate((node.args, node.kwargs), look)
    return bool(found)


__all__ = ["converted"]
