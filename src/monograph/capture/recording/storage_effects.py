"""What operators that write or view do to the memory of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import problem
from monograph.integers import eq, require

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.operators import Operator


def is_inplace(op: Operator) -> bool:
    """Whether an operator changes its first argument alone, and gives that back."""
    return op.base_name.endswith("_") and op.mutated == op.argument_names[:1]


def require_same_shape(result: TensorType, target: TensorType) -> None:
    """What is written must have the shape of what it is written to.

    Raises: sizes-disagree.
    """
    if len(result.shape) != len(target.shape):
        raise problem("sizes-disagree", left=str(target.shape), right=str(result.shape))
    for dim, (size, wanted) in enumerate(zip(result.shape, target.shape, strict=True)):
        if size is not wanted:
            require(eq(size, wanted), "sizes-disagree", left=wanted, right=size, dim=dim)


def shared_source(
    op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> AbstractTensor | None:
    """The tensor whose storage this operator's results view."""
    position = op.argument_names.index(op.shared or "")
    source = args[position] if position < len(args) else kwargs.get(op.shared or "")
    return source if isinstance(source, AbstractTensor) else None
