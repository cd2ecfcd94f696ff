"""Everything known about a tensor except its data, as one small value.

Law: a `TensorType` never changes after it was handed out; `like` and `view_of` make new ones.
Sizes, strides and offsets are in elements and are `Int`: a Python int, or an `Expr` of sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from monograph.abstract.layout import contiguous_strides
from monograph.integers import product

if TYPE_CHECKING:
    from monograph.integers import Int


_LAZY: Final = (UninitializedBuffer, UninitializedParameter)


class TensorType:
    """Shape, dtype, device, layout and requires_grad of one tensor.

    `strides` None means contiguous. A plain slotted class, not a frozen dataclass, because one is
    made for every operator call and the frozen one costs three times as much.
    """

    __slots__ = ("_key", "device", "dtype", "offset", "requires_grad", "shape", "strides")

    def __init__(
        self,
        shape: tuple[Int, ...],
        dtype: torch.dtype,
        device: torch.device,
        strides: tuple[Int, ...] | None = None,
        offset: Int = 0,
        requires_grad: bool = False,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.strides = strides
        """None where the tensor is contiguous."""
        self.offset = offset
        self.requires_grad = requires_grad
        self._key: tuple[object, ...] | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def stride(self) -> tuple[Int, ...]:
        """The strides, computed where the type only says contiguous."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    def numel(self) -> Int:
        """Number of elements."""
        return product(self.shape)

    @property
    def key(self) -> tuple[object, ...]:
        """Hashable identity: two types with equal keys cannot be told apart."""
        if self._key is None:
            self._key = (
                self.shape,
                self.dtype,
                self.device,
                self.strides,
                self.offset,
                self.requires_grad,
            )
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        sizes = ", ".join(str(size) for size in self.shape)
        return f"TensorType({self.dtype}[{sizes}], {self.device})"


def like(
    t: TensorType,
    shape: tuple[Int, ...] | None = None,
    dtype: torch.dtype | None = None,
    strides: tuple[Int, ...] | None = None,
    device: torch.device | None = None,
) -> TensorType:
    """A fresh tensor on `t`'s device, contiguous unless strides are given; it shares no storage."""
    return TensorType(
        t.shape if shape is None else shape,
        t.dtype if dtype is None else dtype,
        t.device if device is None else device,
        strides,
    )


def view_of(
    t: TensorType,
    shape: tuple[Int, ...],
    strides: tuple[Int, ...] | None,
    offset: Int | None = None,
) -> TensorType:
    """A tensor that shares `t`'s storage. `offset` None keeps `t`'s."""
    return TensorType(shape, t.dtype, t.device, strides, t.offset if offset is None else offset)


def type_of(tensor: torch.Tensor) -> TensorType:
    """The type of a real, dense tensor."""
    strides = None if tensor.is_contiguous() else tuple(tensor.stride())
    return TensorType(
        tuple(tensor.shape),
        tensor.dtype,
        tensor.device,
        strides,
        int(tensor.storage_offset()),
        tensor.requires_grad,
    )


def unusual_layout(tensor: torch.Tensor) -> str | None:
    """What a type cannot say of a tensor: sparse, nested, quantised or lazy; None of all others."""
    if isinstance(tensor, _LAZY):
        return "lazy"
    if tensor.layout is torch.strided and not (tensor.is_nested or tensor.is_quantized):
        return None
    if tensor.is_nested:
        return "nested"
    layout = str(tensor.layout).removeprefix("torch.")
    if layout != "strided":
        return f"sparse ({layout})" if layout.startswith("sparse") else f"packed ({layout})"
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype.startswith(("qint", "quint")):
        return f"quantised ({dtype})"
    return None


def is_differentiable(dtype: torch.dtype) -> bool:
    """Whether tensors of this dtype may require gradients."""
    return dtype.is_floating_point or dtype.is_complex


def type_text(t: TensorType) -> str:
    """A type for a message: `float32[3, n]`."""
    return f"{str(t.dtype).removeprefix('torch.')}[{', '.join(map(str, t.shape))}]"
