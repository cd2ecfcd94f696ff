"""`tensor[index]` and `tensor[index] = value`, written in Python.

PyTorch's C++ indexing asks symbolic indices for their value, which would fix them. This follows the
same order of steps: integers select, slices slice, None unsqueezes, and tensors, lists and masks
left over make one `index` (or `index_put_`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.data import holds_symbols, is_number, known_value, tensor_from

if TYPE_CHECKING:
    from monograph.capture.recorder import Recorder

aten = torch.ops.aten
_END = 2**63 - 1


def getitem(recorder: Recorder, tensor: AbstractTensor, index: Any) -> Any:
    """`tensor[index]`.

    Raises: IndexError as eager does (too many indices, out of range).
    """
    view, indices = _apply(recorder, tensor, index)
    if indices is not None:
        return recorder.call(aten.index.Tensor, (view, indices), {})
    if view is tensor:
        return recorder.call(aten.alias.default, (tensor,), {})
    return view


def setitem(recorder: Recorder, tensor: AbstractTensor, index: Any, value: Any) -> None:
    """`tensor[index] = value`: a write through the view that the index describes."""
    view, indices = _apply(recorder, tensor, index)
    if indices is not None:
        source = value if isinstance(value, torch.Tensor) else _scalar(recorder, value, tensor)
        source = _like_target(recorder, source, tensor)
        recorder.call(aten.index_put_.default, (view, indices, source), {})
    elif is_number(value):
        recorder.call(aten.fill_.Scalar, (view, value), {})
    else:
        source = value if isinstance(value, torch.Tensor) else torch.tensor(value)
        source = _without_leading_ones(recorder, recorder.abstract(source), view)
        recorder.call(aten.copy_.default, (view, source), {})


def _scalar(recorder: Recorder, value: Any, tensor: AbstractTensor) -> Any:
    t = tensor.tensor_type
    options = {"dtype": t.dtype, "device": t.device}
    return recorder.call(aten.full.default, ([], value), options)


def _like_target(recorder: Recorder, source: Any, tensor: AbstractTensor) -> Any:
    source = recorder.abstract(source)
    if source.dtype == tensor.dtype:
        return source
    return recorder.call(aten.to.dtype, (source, tensor.dtype), {})


def _without_leading_ones(recorder: Recorder, source: AbstractTensor, view: Any) -> Any:
    """Eager drops leading dimensions of size 1 from what is assigned."""
    shape = source.tensor_type.shape
    extra = len(shape) - len(view.tensor_type.shape)
    for _ in range(max(extra, 0)):
        source = recorder.call(aten.squeeze.dim, (source, 0), {})
    return source


def _apply(recorder: Recorder, tensor: AbstractTensor, index: Any) -> tuple[Any, list[Any] | None]:
    """(the view after all simple steps, the tensor indices per dimension or None)."""
    steps = index if type(index) is tuple else _as_steps(index)
    rank = len(tensor.tensor_type.shape)
    consumed = sum(_dims_consumed(step) for step in steps)
    if consumed > rank:
        message = f"too many indices for tensor of dimension {rank}"
        raise IndexError(message)
    view: Any = tensor
    dim = 0
    indices: dict[int, Any] = {}
    for step in steps:
        if step is Ellipsis:
            dim += rank - consumed
        elif step is None:
            view = recorder.call(aten.unsqueeze.default, (view, dim), {})
            dim += 1
        elif isinstance(step, slice):
            view = _slice(recorder, view, dim, step)
            dim += 1
        elif step is True or step is False:
            view = recorder.call(aten.unsqueeze.default, (view, dim), {})
            indices[dim] = _lifted_index([step], view)
            dim += 1
        elif isinstance(step, int | torch.SymInt):
            view = recorder.call(aten.select.int, (view, dim, step), {})
        else:
            view, dim = _advanced(recorder, view, dim, step, indices)
    if not indices:
        return view, None
    return view, [indices.get(i) for i in range(max(indices) + 1)]


def _as_steps(index: Any) -> tuple[Any, ...]:
    if isinstance(index, list) and any(isinstance(i, slice | list | tuple) or i is None or i is Ellipsis for i in index):
        return tuple(index)
    return (index,)


def _dims_consumed(step: Any) -> int:
    if step is None or step is Ellipsis or step is True or step is False:
        return 0
    if isinstance(step, torch.Tensor) and step.dtype in {torch.bool, torch.uint8}:
        return step.dim()
    return 1


def _slice(recorder: Recorder, view: Any, dim: int, step: slice) -> Any:
    start, stop, stride = (_bound(recorder, b) for b in (step.start, step.stop, step.step))
    if start is None and stop is None and (stride is None or stride == 1):
        return view
    if stride is not None and not isinstance(stride, torch.SymInt) and stride <= 0:
        message = "step must be greater than zero"
        raise ValueError(message)
    args = (view, dim, 0 if start is None else start, _END if stop is None else stop)
    return recorder.call(aten.slice.Tensor, args if stride in (None, 1) else (*args, stride), {})


def _bound(recorder: Recorder, bound: Any) -> Any:
    if isinstance(bound, torch.Tensor):
        return recorder.item(recorder.abstract(bound))
    if bound is None or isinstance(bound, int | torch.SymInt):
        return bound
    return bound.__index__()


def _advanced(
    recorder: Recorder, view: Any, dim: int, step: Any, indices: dict[int, Any]
) -> tuple[Any, int]:
    """A tensor, a list or an array as index; returns the view and the next dimension."""
    tensor = step if isinstance(step, torch.Tensor) else _lifted_index(step, view, recorder)
    tensor = recorder.abstract(tensor)
    rank = len(tensor.tensor_type.shape)
    if tensor.dtype in {torch.bool, torch.uint8}:
        if rank == 0:
            view = recorder.call(aten.unsqueeze.default, (view, dim), {})
            tensor = recorder.call(aten.unsqueeze.default, (tensor, 0), {})
        indices[dim] = tensor
        return view, dim + max(rank, 1)
    if rank == 0 and isinstance(step, torch.Tensor):
        value = known_value(recorder, tensor)
        if value is not None:
            return recorder.call(aten.select.int, (view, dim, int(value)), {}), dim
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        indices[dim] = tensor
        return view, dim + 1
    message = "tensors used as indices must be long, int, byte or bool tensors"
    raise IndexError(message)


def _lifted_index(step: Any, view: Any, recorder: Recorder | None = None) -> Any:
    """Lists, ranges and arrays become index tensors."""
    if isinstance(step, range):
        step = list(step)
    if recorder is not None and holds_symbols(step):
        return tensor_from(recorder, step, None, view.device)
    if isinstance(step, list | tuple) and not step:
        return torch.tensor([], dtype=torch.int64, device=view.device)
    return torch.tensor(step, device=view.device)
