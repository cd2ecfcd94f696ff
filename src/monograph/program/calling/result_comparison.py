"""Comparison of results, value by value, within tolerances that their dtypes have.

The default tolerances are those of `torch.testing.assert_close`, which is not called: it loads
sympy and torch.distributed first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Tolerance = tuple[float, float]
"""Relative, and absolute."""

_CLOSE: Final[Mapping[torch.dtype, Tolerance]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_EXACT: Final = (0.0, 0.0)


def first_difference(
    expected: Sequence[Any], actual: Sequence[Any], close: Tolerance | None = None
) -> tuple[int, str] | None:
    """The first value that differs by more than `close`, and how; None where all agree."""
    for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
        what = _difference(left, right, close)
        if what is not None:
            return index, what
    return None


def _difference(expected: Any, actual: Any, close: Tolerance | None) -> str | None:
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        return _of_tensors(expected, actual, close or _CLOSE.get(expected.dtype, _EXACT))
    same = type(expected) is type(actual) and (expected == actual or expected is actual)
    if not same and isinstance(expected, float | complex) and isinstance(actual, float | complex):
        one, other = torch.tensor([expected, actual], dtype=torch.complex128)
        rtol, atol = close or _CLOSE[torch.float64]
        same = torch.allclose(other, one, rtol=rtol, atol=atol, equal_nan=True)
    return None if same else f"{expected!r} became {actual!r}"


def _of_tensors(expected: torch.Tensor, actual: torch.Tensor, close: Tolerance) -> str | None:
    for what in ("shape", "dtype", "device", "layout"):
        before, after = getattr(expected, what), getattr(actual, what)
        if before != after:
            return f"its {what} was {before}, and is {after}"
    left, right = _comparable(expected), _comparable(actual)
    apart = ~torch.isclose(right, left, *close, equal_nan=True)
    if not bool(apart.any()):
        return None
    n_apart, most = int(apart.sum()), (left - right).abs().nan_to_num(float("inf")).max()
    return f"{n_apart} of {apart.numel()} elements differ, by up to {most.item():.3g}"


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, dense, in a dtype that has an order and a difference."""
    tensor = tensor.detach()
    tensor = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    if tensor.dtype.is_complex:
        return tensor.to(torch.complex128)
    if tensor.dtype.is_floating_point:
        return tensor.to(torch.float64)
    return tensor.to(torch.int64)


__all__ = ["Tolerance", "first_difference"]
