"""Failures: how a backend or a capture fails, told apart so that a smaller one is the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import MonographError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import GraphModule

__all__ = ["ReducibleFailure", "copies", "failure_of_graph", "failure_of_run"]

_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class ReducibleFailure:
    """A failure: its kind, what tells it from others, and the text that people read."""

    kind: str
    key: str
    text: str
    is_backward: bool = False
    """Whether it takes a backward pass to see it."""

    def is_same(self, other: ReducibleFailure | None) -> bool:
        """Whether another failure is this one, but for sizes and numbers."""
        if other is None or self.is_backward != other.is_backward:
            return False
        return (self.kind, self.key) == (other.kind, other.key)


def copies(inputs: Sequence[Any]) -> list[Any]:
    """The same inputs once more: a graph may write to them."""
    return [
        each.detach().clone().requires_grad_(each.requires_grad)
        if isinstance(each, torch.Tensor)
        else each
        for each in inputs
    ]


def failure_of_run(run: Callable[[], Any]) -> tuple[ReducibleFailure | None, Any]:
    """What calling something raises, or what it returns."""
    try:
        return None, run()
    except Exception as error:  # noqa: BLE001 - whatever it is
        text = str(error).strip() or type(error).__name__
        is_ours = isinstance(error, MonographError)
        key = error.diagnostic.headline if is_ours else text.split("\n")[0]
        key = re.sub(r"0x[0-9a-f]+|\d+", "N", key)
        return ReducibleFailure(type(error).__name__, key, text.split("\n")[0]), None


def failure_of_graph(
    backend: Callable[..., Any], graph: GraphModule, inputs: Sequence[Any], *, accuracy: bool
) -> ReducibleFailure | None:
    """How a backend fails with a graph that runs by itself; None where it does not.

    Where inputs require gradients, and eager code gives them, the backward pass is run, too.
    """
    torch.manual_seed(0)
    given = copies(inputs)
    broken, expected = failure_of_run(lambda: graph(*given))
    if broken is not None:
        return None
    unable, wanted = failure_of_run(lambda: _gradients(expected, given))
    given = copies(inputs)
    torch.manual_seed(0)
    failure, found = failure_of_run(lambda: backend(graph, copies(inputs))(*given))
    if failure is not None:
        return failure
    if accuracy and (worst := _difference(expected, found)) is not None:
        text = f"results differ by {worst:.3g} from those of eager code"
        return ReducibleFailure("numbers", "differ", text)
    if unable is not None or not wanted:
        return None
    failure, gradients = failure_of_run(lambda: _gradients(found, given))
    if failure is not None:
        return replace(failure, is_backward=True)
    if accuracy and (worst := _difference(wanted, gradients)) is not None:
        text = f"gradients differ by {worst:.3g} from those of eager code"
        return ReducibleFailure("numbers", "differ", text, is_backward=True)
    return None


def _gradients(results: Any, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """The gradients of the sum of all results for the inputs that require them."""
    tensors = [each for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
    leaves = [each for each in inputs if isinstance(each, torch.Tensor) and each.requires_grad]
    if not tensors or not leaves:
        return ()
    ones = [torch.ones_like(each) for each in tensors]
    return torch.autograd.grad(tensors, leaves, ones, materialize_grads=True)


def _difference(expected: Any, found: Any) -> float | None:
    """The largest difference of two results that is too large; None where there is none."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor) or expected.shape != found.shape:
            return float("inf")
        one, two = (each.detach().to(torch.complex128) for each in (expected, found))
        if torch.allclose(one, two, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            return None
        return float((one - two).abs().nan_to_num(float("inf")).max())
    if not isinstance(expected, tuple | list):
        return None
    if len(expected) != len(found):
        return float("inf")
    worst = [_difference(one, two) for one, two in zip(expected, found, strict=True)]
    return max((each for each in worst if each is not None), default=None)
