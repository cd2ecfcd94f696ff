"""Checks of operands that rules share: ranks, dtypes, and the refusal of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics import problem

if TYPE_CHECKING:
    import torch

    from monograph.abstract.tensor_type import TensorType
    from monograph.diagnostics import MonographError


def refusal(op: str, reason: str) -> MonographError:
    """The operator does not take these arguments."""
    return problem("operator-refused-types", op=op, reason=reason)


def need_rank(x: TensorType, rank: int, what: str) -> None:
    """An operand has so many dimensions.

    Raises: rank-disagrees.
    """
    if len(x.shape) != rank:
        raise problem("rank-disagrees", what=what, expected=rank, got=len(x.shape))


def need_dimensions(x: TensorType, least: int, what: str) -> None:
    """An operand has so many dimensions, or more.

    Raises: rank-disagrees.
    """
    if len(x.shape) < least:
        expected = f"at least {least} dimension{'s' if least > 1 else ''}"
        raise problem("rank-disagrees", what=what, expected=expected, got=len(x.shape))


def check_rank(fits: object, what: str, expected: object, got: int) -> None:
    """The number of dimensions is one that the operator takes.

    Raises: rank-disagrees.
    """
    if not fits:
        raise problem("rank-disagrees", what=what, expected=expected, got=got)


def check_dtype(fits: object, what: str, expected: object, got: torch.dtype) -> None:
    """The dtype is one that the operator takes.

    Raises: dtype-disagrees.
    """
    if not fits:
        raise problem("dtype-disagrees", what=what, expected=expected, got=got)


def need_same_dtype(op: str, first: TensorType, *others: TensorType | None) -> None:
    """Operands that are not promoted are of one dtype.

    Raises: dtype-disagrees.
    """
    dtype = first.dtype
    for t in others:
        if t is not None and t.dtype is not dtype:
            raise problem("dtype-disagrees", what=op, expected=dtype, got=t.dtype)
