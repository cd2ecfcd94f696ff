"""Indexing: `tensor[index]` and `tensor[index] = value`, decomposed in Python.

PyTorch's C++ indexing asks symbolic indices for their value, which would fix them. This follows the
same order of steps: integers select, slices slice, None unsqueezes, and tensors, lists and masks
left over make one `index` (or `index_put_`). A 0-dim integer tensor selects like an integer, so the
result is a view and writing to it writes to the tensor.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.capture.recording.symbolic_ranges import SymbolicRange
from monograph.capture.recording.unbacked_values import (
    holds_symbols,
    is_number,
    known_value,
    plain_number,
    tensor_from,
    write_number,
)
from monograph.host.autograd import are_transforms_active, indexes_by_numbers, is_wrapped
from monograph.host.overloads import aten
from monograph.host.versions import assigned_numbers_fill
from monograph.integers import ge, lt

if TYPE_CHECKING:
    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.recording.recorder import Recorder

_END = 2**63 - 1
_NUMBERS_FILL = assigned_numbers_fill()
_MASKS = frozenset({torch.bool, torch.uint8})
_INDICES = frozenset({torch.int64, torch.int32}) | _MASKS


def getitem(recorder: Recorder, tensor: AbstractTensor, index: Any) -> Any:
    """`tensor[index]`.

    Raises: IndexError, TypeError and ValueError as eager does (too many indices, out of range).
    """
    if are_transforms_active() and (mapped := _mapped_indices(index)):
        return aten.index.Tensor(tensor, mapped)
    view, indices = _apply(recorder, tensor, index)
    if indices is not None:
        return recorder.call(aten.index.Tensor, (view, indices), {})
    if view is tensor:
        return recorder.call(aten.alias.default, (tensor,), {})
    return view


def setitem(recorder: Recorder, tensor: AbstractTensor, index: Any, value: Any) -> None:
    """`tensor[index] = value`: a write through the view that the index describes.

    Raises: as `getitem`; TypeError for values that are neither tensors nor numbers.
    """
    value = _assignable(value, tensor)
    if index is False:
        return
    view, indices = _apply(recorder, tensor, index)
    if indices is not None:
        _put(recorder, view, indices, value)
    elif not isinstance(value, torch.Tensor):
        if _NUMBERS_FILL:
            recorder.call(aten.fill_.Scalar, (view, value), {})
        else:
            write_number(recorder, view, value)
    else:
        source = _without_leading_ones(recorder, recorder.abstract(value), view)
        recorder.call(_assignment(view, source), (view, source), {})


def _assignment(view: AbstractTensor, source: AbstractTensor) -> Any:
    """What eager assigns by: one element fills, so it may lie in what it is written to."""
    is_element = not source.dim() and view.dim() and source.device.type == "cpu"
    return aten.fill_.Tensor if is_element and not are_transforms_active() else aten.copy_.default


def _assignable(value: Any, tensor: AbstractTensor) -> Any:
    if isinstance(value, torch.Tensor):
        return value
    if is_number(value):
        return plain_number(value)
    if type(value).__module__ == "numpy" and hasattr(value, "__index__") and not value.shape:
        return operator.index(value)
    kind = torch.empty(0, dtype=tensor.dtype, device="meta").type().replace("meta.", "")
    message = f"can't assign a {_type_name(value)} to a {kind}"
    raise TypeError(message)


def _type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _put(recorder: Recorder, view: Any, indices: list[Any], value: Any) -> None:
    """`index_put_`, which broadcasts the value but never converts it."""
    t = view.tensor_type
    if not isinstance(value, torch.Tensor):
        options = {"dtype": t.dtype, "device": t.device}
        value = recorder.call(aten.full.default, ([], value), options)
    source = recorder.abstract(value)
    only_masks = all(index is None or index.dtype in _MASKS for index in indices)
    if source.dtype != t.dtype and not (only_masks and source.tensor_type.numel() == 1):
        message = (
            "Index put requires the source and destination dtypes match, "
            f"got {source.dtype} for the source and {t.dtype} for the destination"
        )
        raise RuntimeError(message)
    shape = source.tensor_type.shape
    while shape and shape[0] == 1:
        source = recorder.call(aten.squeeze.dim, (source, 0), {})
        shape = shape[1:]
    recorder.call(aten.index_put_.default, (view, indices, source), {})


def _without_leading_ones(recorder: Recorder, source: AbstractTensor, view: Any) -> Any:
    """Eager drops leading dimensions of size 1 from what is assigned."""
    shape = source.tensor_type.shape
    extra = len(shape) - len(view.tensor_type.shape)
    for _ in range(max(extra, 0)):
        source = recorder.call(aten.squeeze.dim, (source, 0), {})
    return source


def _apply(recorder: Recorder, tensor: AbstractTensor, index: Any) -> tuple[Any, list[Any] | None]:
    """(the view after all simple steps, the tensor indices per dimension or None)."""
    steps = index if isinstance(index, tuple) else _as_steps(index)
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
        elif isinstance(step, bool | torch.SymBool):
            view = recorder.call(aten.unsqueeze.default, (view, dim), {})
            indices[dim] = recorder.abstract(_lifted_index([step], view, recorder))
            dim += 1
        elif isinstance(step, int | torch.SymInt):
            view = _select(recorder, view, dim, step)
        else:
            view, dim = _advanced(recorder, view, dim, step, indices)
    if not indices:
        return view, None
    return view, [indices.get(i) for i in range(max(indices) + 1)]


def _mapped_indices(index: Any) -> list[torch.Tensor]:
    """Indices of which `torch.vmap` maps some, where one `index` takes them all; else none.

    A number is an element there for `flex_attention` alone, which says so by a mode.
    """
    steps = list(index) if isinstance(index, tuple) else [index]
    if not all(isinstance(step, torch.Tensor) for step in steps):
        return []
    if not any(is_wrapped(step) for step in steps):
        return []
    return steps if indexes_by_numbers() or all(step.dim() for step in steps) else []


def _as_steps(index: Any) -> tuple[Any, ...]:
    """A list with anything but numbers in it stands for a tuple, as it did in NumPy."""
    if isinstance(index, list) and any(_is_step(item) for item in index):
        return tuple(index)
    return (index,)


def _is_step(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, slice | list | tuple | torch.Tensor)


def _dims_consumed(step: Any) -> int:
    if step is None or step is Ellipsis or isinstance(step, bool | torch.SymBool):
        return 0
    if isinstance(step, torch.Tensor) and step.dtype in _MASKS:
        return step.dim()
    return 1


def _select(recorder: Recorder, view: Any, dim: int, step: Any) -> Any:
    """One element of a dimension; out of range in the example is an IndexError, as in eager.

    Where the size may vary, being out of range is then what the program depends on.
    """
    index, size = to_python(step), view.tensor_type.shape[dim]
    facts = recorder.facts
    for inside in (lt(index, size), ge(index, -size)):
        example = inside if isinstance(inside, bool) else facts.hint_of_relation(inside)
        if example is False and not bool(to_sym(inside)):
            message = f"index {index} is out of bounds for dimension {dim} with size {size}"
            raise IndexError(message)
    return recorder.call(aten.select.int, (view, dim, plain_number(step)), {})


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
    if bound is None or isinstance(bound, int | torch.SymInt):
        return plain_number(bound) if type(bound) is not bool else int(bound)
    if isinstance(bound, torch.Tensor):
        if bound.dtype.is_floating_point or bound.dtype.is_complex:
            message = "only integer tensors of a single element can be converted to an index"
            raise TypeError(message)
        return recorder.item(recorder.abstract(bound))
    if not hasattr(bound, "__index__"):
        message = "slice indices must be integers or None or have an __index__ method"
        raise TypeError(message)
    return operator.index(bound)


def _advanced(
    recorder: Recorder, view: Any, dim: int, step: Any, indices: dict[int, Any]
) -> tuple[Any, int]:
    """A tensor, a sequence or an array as index; returns the view and the next dimension."""
    if isinstance(step, torch.Tensor):
        tensor = recorder.abstract(step)
    elif isinstance(step, list | tuple | range | SymbolicRange) or getattr(step, "shape", ()):
        tensor = recorder.abstract(_lifted_index(step, view, recorder))
    else:
        return _select(recorder, view, dim, _plain_index(step)), dim
    rank = len(tensor.tensor_type.shape)
    if tensor.dtype not in _INDICES:
        message = "tensors used as indices must be long, int, byte or bool tensors"
        raise IndexError(message)
    if tensor.dtype in _MASKS:
        if rank == 0:
            view = recorder.call(aten.unsqueeze.default, (view, dim), {})
            tensor = recorder.call(aten.unsqueeze.default, (tensor, 0), {})
        indices[dim] = tensor
        return view, dim + max(rank, 1)
    if rank == 0:
        return _select(recorder, view, dim, _element(recorder, tensor)), dim
    indices[dim] = tensor
    return view, dim + 1


def _element(recorder: Recorder, tensor: AbstractTensor) -> Any:
    """What a 0-dim index says: a number where it is a constant, else one known at run time."""
    value = known_value(recorder, tensor)
    return recorder.item(tensor) if value is None else int(value)


def _plain_index(step: Any) -> int:
    kind = type(step)
    try:
        if kind.__name__ not in {"bool", "bool_"}:
            return operator.index(step)
    except TypeError:
        pass
    message = (
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {_type_name(step)})"
    )
    raise IndexError(message)


def _lifted_index(step: Any, view: Any, recorder: Recorder) -> Any:
    """Lists, ranges and arrays become index tensors: integers, unless they are masks."""
    if isinstance(step, range | SymbolicRange):
        step = list(step)
    if holds_symbols(step):
        return tensor_from(recorder, step, None, view.device)
    if isinstance(step, list | tuple) and not step:
        return torch.tensor([], dtype=torch.int64, device=view.device)
    tensor = torch.tensor(step, device=view.device)
    return tensor if tensor.dtype in _MASKS else tensor.to(torch.int64)
