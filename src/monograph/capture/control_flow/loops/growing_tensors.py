"""Growing tensors: what a loop carries is longer after each iteration, by as much.

`y = torch.cat([y, new], 1)` in a `for`. What is carried instead is a tensor of the final length,
whose beginning the iteration is given, and which begins with what it made when it has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor_type import TensorType
from monograph.capture.control_flow.loops.list_accumulation import alias
from monograph.capture.recording.scalar_tensors import filler
from monograph.integers import Expr, eq, ge, known, symbols

if TYPE_CHECKING:
    from monograph.abstract.tensor import AbstractTensor
    from monograph.integers import Int

_SCATTER: Final = torch.ops.aten.slice_scatter.default


@dataclass(frozen=True, slots=True)
class Lengthening:
    """A dimension that has `size` elements before the loop, and `more` with each iteration."""

    dim: int
    size: Int
    more: Int

    def begin(self, tensor: Any, count: Int) -> Any:
        """What the loop begins with; one longer than needed, as an iteration may be tried."""
        t = tensor.tensor_type
        rest = [*t.shape]
        rest[self.dim] = self.more * (count + 1)
        return torch.cat([tensor, filler(TensorType(tuple(rest), t.dtype, t.device))], self.dim)

    def given(self, whole: Any, index: Any) -> Any:
        """The value in an iteration."""
        part = self._part(whole, to_python(index))
        alias([part])  # eager code would write to what the loop began with
        return part

    def ended(self, whole: AbstractTensor, value: AbstractTensor, index: Any) -> Any:
        """What the next iteration begins with; None where this one made another length."""
        t, length = value.tensor_type, self.size + self.more * (to_python(index) + 1)
        if t.strides is not None or known(eq(t.shape[self.dim], length)) is not True:
            return None
        return whole.recorder.call(_SCATTER, (whole, value, self.dim, 0, to_sym(length)), {})

    def last(self, whole: Any, count: Int) -> Any:
        """The value behind the loop."""
        return self._part(whole, count)

    def _part(self, whole: Any, count: Int) -> Any:
        part = whole.narrow(self.dim, 0, to_sym(self.size + self.more * count))
        return part.clone(memory_format=torch.contiguous_format)


def lengthening(before: Any, after: Any, outside: frozenset[Expr]) -> Lengthening | None:
    """How a tensor has grown in the first iteration, if by a number that is known `outside`."""
    one, other = before.tensor_type, after.tensor_type
    if (one.dtype, one.device, one.rank) != (other.dtype, other.device, other.rank):
        return None
    sizes = enumerate(zip(one.shape, other.shape, strict=True))
    longer = [(n, a, b) for n, (a, b) in sizes if known(eq(a, b)) is not True]
    if len(longer) != 1 or other.strides is not None:
        return None
    ((dim, size, length),) = longer
    more = length - size
    if not symbols(more) | symbols(size) <= outside or known(ge(more, 0)) is not True:
        return None
    return Lengthening(dim, size, more)


__all__ = ["Lengthening", "lengthening"]
