"""Types of elementwise results: shape, device and strides as PyTorch's TensorIterator gives them.

Source: `ATen/TensorIterator.cpp` (observed, not copied): the output of operands that are all dense
in one order keeps that order; otherwise dimensions are sorted by the operands' strides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.layout import (
    insertion_sorted,
    is_contiguous,
    is_dense,
    no_greater,
    strides_in_order,
)
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.integers import choose, known, le, lt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def common_device(operands: Sequence[TensorType]) -> torch.device:
    """The device operands share; a 0-dim CPU tensor may join any.

    Raises: operator-refused-types.
    """
    device: torch.device | None = None
    movable = True
    for t in operands:
        if device is None or (movable and t.device != device):
            device, movable = t.device, not t.shape and t.device.type == "cpu"
        elif t.device != device and (t.shape or t.device.type != "cpu"):
            raise problem(
                "operator-refused-types",
                op="this operator",
                reason=f"its tensors are on {device} and {t.device}",
            )
        elif t.shape:
            movable = False
    return device or torch.device("cpu")


def elementwise(
    operands: Sequence[TensorType], dtype: torch.dtype, *, with_number: bool = False
) -> TensorType:
    """The result of an elementwise operation over tensor operands (Python numbers left out).

    `with_number`: there is a number beside them, which is a tensor of another shape to PyTorch.
    Numbers alone, as in `torch.div(7, 2)`, make a 0-dim tensor on the CPU.

    Raises: sizes-disagree, operator-refused-types.
    """
    if not operands:
        return TensorType((), dtype, torch.device("cpu"))
    first = operands[0]
    if len(operands) == 1:
        strides = unary_strides(first, with_number=with_number)
        return TensorType(first.shape, dtype, first.device, strides)
    shape = broadcast_shapes(*[t.shape for t in operands])
    device = first.device
    contiguous = True
    for t in operands:
        if t.device != device:
            device = common_device(operands)
        if t.strides is not None:
            contiguous = False
    if contiguous:
        return TensorType(shape, dtype, device)
    return TensorType(shape, dtype, device, _strides(operands, shape, with_number=with_number))


def unary_strides(t: TensorType, *, with_number: bool = False) -> tuple[Int, ...] | None:
    """Strides of `f(t)`: `t`'s own if dense, else its order of dimensions."""
    if t.strides is None:
        return None
    return _strides([t], t.shape, with_number=with_number)


def _strides(
    operands: Sequence[TensorType], shape: tuple[Int, ...], *, with_number: bool
) -> tuple[Int, ...] | None:
    first = operands[0]
    if first.shape == shape and _orders_every_dim(first):
        return first.strides
    strides = first.stride()
    if not with_number and all(t.shape == shape for t in operands):
        if all(map(is_contiguous, operands)):
            return None  # whatever strides sizes of 1 have
        if all(t.stride() == strides for t in operands) and is_dense(first):
            return strides
    return strides_from_steps([_broadcast_strides(t, shape) for t in operands], shape)


def _orders_every_dim(t: TensorType) -> bool:
    """Whether of any two dimensions of `t` one is faster, so that no other operand is asked."""
    return not any(type(size) is int and size < 2 for size in t.shape) and is_dense(t)


def strides_from_steps(
    steps: Sequence[tuple[Int, ...]], shape: tuple[Int, ...]
) -> tuple[Int, ...] | None:
    """Strides of a fresh result, given each operand's own; 0 where an operand is repeated.

    The first operand that says which of two dimensions is faster decides; None means contiguous.

    >>> strides_from_steps([(1, 0, 0), (0, 1, 3)], (2, 3, 4))
    (12, 1, 3)
    """
    order = insertion_sorted(len(shape), lambda a, b: _compare(steps, shape, a, b))
    if order == list(range(len(shape) - 1, -1, -1)):
        return None
    return strides_in_order(shape, order)


def _broadcast_strides(t: TensorType, shape: tuple[Int, ...]) -> tuple[Int, ...]:
    lead = len(shape) - t.rank
    own = t.stride()
    inner = tuple(
        0 if isinstance(size, int) and size == 1 and shape[lead + i] != 1 else own[i]
        for i, size in enumerate(t.shape)
    )
    return (0,) * lead + inner


def _compare(steps: Sequence[tuple[Int, ...]], shape: tuple[Int, ...], a: int, b: int) -> int:
    """Positive if dimension `a` is slower than `b`, negative if faster, 0 if they tie."""
    for strides in steps:
        left, right = strides[a], strides[b]
        if (isinstance(left, int) and left == 0) or (isinstance(right, int) and right == 0):
            continue
        if left is right or left == right:
            if known(lt(shape[b], shape[a])) is True:
                return 1
            continue
        verdict = _faster(left, right)
        if verdict:
            return verdict
    return 0


def _faster(left: Int, right: Int) -> int:
    """Negative if stride `left` is the smaller one, positive if `right` is, 0 if nobody can say.

    Where nothing is known it becomes a guard, one way or the other: the layout depends on it.
    """
    if no_greater(left, right):
        return -1
    if no_greater(right, left):
        return 1
    smaller = choose(le(left, right), le(right, left))
    return 0 if smaller is None else (-1, 1)[smaller]
