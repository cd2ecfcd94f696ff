"""Comparison of two outcomes of one call: values, types, strides, aliasing, mutation, gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.verification.outcomes import RAISES, first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.verification.outcomes import Outcome

GRADIENTS: Final = 4
"""A backward pass has about twice the operators, on what the forward pass has rounded already."""

ANYWAY: Final = ("input", RAISES)
"""Gradients that both sides have: parameters may be registered on one of them alone."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, in which `part` of the outcome, of which `kind`.

    Kinds are: values, type, structure, strides, memory, gradients, raises, accepted, state.
    """

    kind: str
    part: str
    what: str

    def __str__(self) -> str:
        return f"{self.part}: {self.what}"


def first_difference(
    expected: Sequence[Outcome], actual: Sequence[Outcome], bound: Callable[[], float]
) -> Difference | None:
    """The first difference; values may differ by `bound()` of the greatest of their tensor.

    A call that the contract refuses is none; whether that was due is for the caller to say.
    """
    for call, (left, right) in enumerate(zip(expected, actual, strict=False)):
        if right.refused:
            return None
        found = _of_errors(left, right)
        if found is None and left.error is None:
            found = _of_outcomes(left, right, bound)
            # State that a module keeps may lead a second backward pass into the call before.
            if found is None and not (call and any(n.startswith(RAISES) for n in left.gradients)):
                found = _of_gradients(left, right, bound)
        if found is not None:
            when = " in the second call" if call else ""
            return Difference(found.kind, found.part + when, found.what)
    return None


def _of_errors(left: Outcome, right: Outcome) -> Difference | None:
    if (left.error is None) == (right.error is None):
        return None
    if left.error is not None:
        return Difference("raises", "the call", f"the module raises {first_line(left.error)}")
    return Difference("raises", "the call", f"the program raises {first_line(right.error)}")


def _of_outcomes(left: Outcome, right: Outcome, bound: Callable[[], float]) -> Difference | None:
    if len(left.leaves) != len(right.leaves):
        what = f"{len(left.leaves)} values became {len(right.leaves)}"
        return Difference("structure", "the result", what)
    for index, (one, other) in enumerate(zip(left.leaves, right.leaves, strict=True)):
        found = compared(f"result {index}", one, other, bound)
        if found is not None:
            return found
    if left.structure != right.structure:
        what = f"{left.structure} became {right.structure}"
        return Difference("structure", "the result", what)
    for index, (one, other) in enumerate(zip(left.inputs, right.inputs, strict=True)):
        found = compared(f"input {index} afterwards", one, other, bound)
        if found is not None:
            return found
    for name in left.state.keys() & right.state.keys():
        found = compared(f"{name} afterwards", left.state[name], right.state[name], bound)
        if found is not None:
            return found
    return _of_memory(left, right)


def _of_memory(left: Outcome, right: Outcome) -> Difference | None:
    for index, (one, other) in enumerate(zip(left.memory, right.memory, strict=True)):
        if set(one) != set(other):
            what = f"it shares memory with {_names(other)}; the module's with {_names(one)}"
            return Difference("memory", f"result {index}", what)
    return None


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def _of_gradients(left: Outcome, right: Outcome, bound: Callable[[], float]) -> Difference | None:
    given = [[n for n in each.gradients if n.startswith(ANYWAY)] for each in (left, right)]
    kinds = [{RAISES if n.startswith(RAISES) else n for n in names} for names in given]
    if kinds[0] != kinds[1]:
        what = f"it gives {_names(given[1])}; the module's {_names(given[0])}"
        return Difference("gradients", "the backward pass", what)
    # Where gradients cancel out, what is left is rounding of those that do not.
    scale = max([_greatest(each) for each in left.gradients.values()], default=0.0)
    for name in left.gradients.keys() & right.gradients.keys():
        one = left.gradients[name]
        own = _greatest(one)
        ratio = GRADIENTS * scale / own if own else 0.0
        found = _of_values(one, right.gradients[name], lambda r=ratio: r * bound())
        if found is not None:
            return Difference("gradients", f"the gradient of {name}", found)
    return None


def _greatest(tensor: torch.Tensor) -> float:
    numbers = _numbers(tensor).abs().nan_to_num(0.0, 0.0, 0.0)
    return float(numbers.max()) if numbers.numel() else 0.0


def compared(part: str, one: Any, other: Any, bound: Callable[[], float]) -> Difference | None:
    """How a value differs from the one expected."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return _of_objects(part, one, other, bound)
    for what in ("shape", "dtype", "device", "layout", "requires_grad"):
        before, after = getattr(one, what), getattr(other, what)
        if before != after:
            shown = (tuple(before), tuple(after)) if what == "shape" else (before, after)
            return Difference("type", part, f"its {what} is {shown[1]}, not {shown[0]}")
    if _lies_otherwise(one, other):
        what = f"its strides are {other.stride()}, not {one.stride()}"
        return Difference("strides", part, what)
    found = _of_values(one, other, bound)
    return None if found is None else Difference("values", part, found)


def _of_objects(part: str, one: Any, other: Any, bound: Callable[[], float]) -> Difference | None:
    if type(one) is not type(other):
        what = f"a {type(other).__name__}, not a {type(one).__name__}"
        return Difference("type", part, what)
    if isinstance(one, float | complex):
        pair = (torch.tensor(one), torch.tensor(other))
        return None if _of_values(*pair, bound) is None else _unequal(part, one, other)
    try:
        same = one is other or bool(one == other)
    except Exception:  # noqa: BLE001  (objects whose comparison raises cannot be told apart)
        same = True
    # Two objects of a class without `==` are never equal: nothing is known of them.
    told = type(one).__eq__ is not object.__eq__
    return None if same or not told else _unequal(part, one, other)


def _unequal(part: str, one: object, other: object) -> Difference:
    return Difference("values", part, f"{other!r}, not {one!r}")


def _lies_otherwise(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.layout is not torch.strided or one.numel() < 2:
        return False
    dims = zip(one.shape, one.stride(), other.stride(), strict=True)
    return any(size > 1 and left != right for size, left, right in dims)


def _of_values(one: torch.Tensor, other: torch.Tensor, bound: Callable[[], float]) -> str | None:
    if one.shape != other.shape:
        return f"its shape is {tuple(other.shape)}, not {tuple(one.shape)}"
    if one.is_meta or other.is_meta:
        return None
    left, right = _numbers(one), _numbers(other)
    apart = ~((left == right) | (left.isnan() & right.isnan()))
    if not bool(apart.any()):
        return None
    distance = (left - right).abs()
    most = float(distance[apart].nan_to_num(float("inf"), float("inf")).max())
    if one.is_floating_point() or one.is_complex():
        allowed = bound() * _greatest(one)
        if most <= allowed:
            return None
        share = f"by up to {most:.3g}, where rounding explains {allowed:.1g}"
    else:
        share = f"by up to {most:.3g}"
    return f"{int(apart.sum())} of {apart.numel()} values differ, {share}"


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach()
    tensor = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


__all__ = ["Difference", "compared", "first_difference"]
