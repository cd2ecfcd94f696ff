"""Runtime assertions of a graph: what Python was told of tensors in the middle of a segment.

A backend that reads no metadata runs a graph for other inputs, too. What Python asked of tensors
that the graph makes is then checked where they are made, before anything depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.jit.guard_code import description

if TYPE_CHECKING:
    import torch

__all__ = [
    "EXPECTATIONS",
    "OF_DTYPE",
    "OF_INPUT",
    "OF_RANK",
    "OF_SHAPE",
    "OtherData",
    "OtherMetadata",
    "assume_shape",
    "assume_truth",
    "assume_value",
    "expect_length",
    "expect_metadata",
    "expect_rank",
    "expect_same",
    "expect_shape",
    "expect_value",
]


class OtherMetadata(Exception):  # noqa: N818 - a signal, which is no error
    """A tensor that a graph made has other metadata than Python was told while recording."""


class OtherData(Exception):  # noqa: N818 - a signal, which is no error
    """Data say something else than they did while recording; it holds where that was asked."""


def assume_truth(tensor: Any, expected: Any, at: Any) -> None:
    """Raises: OtherData, where a condition is another one."""
    if bool(tensor) is not expected:
        raise OtherData(at)


def assume_value(value: Any, expected: Any, at: Any) -> None:
    """Raises: OtherData, where a number is another one."""
    if type(value) is not type(expected) or repr(value) != repr(expected):
        raise OtherData(at)


def assume_shape(tensor: torch.Tensor, expected: Any, at: Any) -> None:
    """Raises: OtherData, where data gave a tensor another shape."""
    if tensor.shape != expected:
        raise OtherData(at)


def expect_metadata(tensor: torch.Tensor, facts: str, expected: Any) -> None:
    """Raises: OtherMetadata."""
    found = tuple(description(tensor).values()) if facts == "all" else getattr(tensor, facts)
    if found != expected:
        raise OtherMetadata


def expect_same(tensor: Any, other: Any) -> None:
    """Raises: OtherMetadata, of what is not one object."""
    if tensor is not other:
        raise OtherMetadata


def expect_shape(tensor: torch.Tensor, shape: Any) -> None:
    """Raises: OtherMetadata."""
    if tensor.shape != shape:
        raise OtherMetadata


def expect_length(values: Any, length: int) -> None:
    """Raises: OtherMetadata."""
    if len(values) != length:
        raise OtherMetadata


def expect_rank(tensor: torch.Tensor, rank: int) -> None:
    """Raises: OtherMetadata."""
    if tensor.dim() != rank:
        raise OtherMetadata


def expect_value(value: Any, expected: Any) -> None:
    """Raises: OtherMetadata."""
    if value != expected:
        raise OtherMetadata


EXPECTATIONS: Final = frozenset(
    {
        *(expect_metadata, expect_same, expect_shape, expect_length, expect_rank, expect_value),
        *(assume_truth, assume_value, assume_shape),
    }
)
"""What graphs call to check what Python was told of tensors; no operators of the program."""
OF_SHAPE: Final = frozenset(
    {"shape", "size", "dim", "ndim", "numel", "nelement", "ndimension", "__len__", "len"}
)
OF_DTYPE: Final = frozenset(
    {"dtype", "is_floating_point", "is_complex", "element_size", "itemsize", "is_signed"}
)
OF_RANK: Final = frozenset({"dim", "ndim", "ndimension"})
OF_INPUT: Final = frozenset(
    {
        *("dtype", "device", "requires_grad", "layout", "is_cuda", "is_cpu", "is_sparse"),
        *("is_quantized", "is_meta", "itemsize", "is_nested", "is_mps"),
    }
)
"""Attributes of inputs that other sizes leave as they are."""
