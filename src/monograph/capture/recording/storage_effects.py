"""What operators that write or view do to the memory of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics import problem
from monograph.integers import eq, require

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType


def require_same_shape(result: TensorType, target: TensorType) -> None:
    """What is written must have the shape of what it is written to.

    Raises: sizes-disagree.
    """
    if len(result.shape) != len(target.shape):
        raise problem("sizes-disagree", left=str(target.shape), right=str(result.shape))
    for dim, (size, wanted) in enumerate(zip(result.shape, target.shape, strict=True)):
        if size is not wanted:
            require(eq(size, wanted), "sizes-disagree", left=wanted, right=size, dim=dim)
