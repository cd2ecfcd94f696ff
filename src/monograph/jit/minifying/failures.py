"""Failures: how a backend or a capture fails, told apart so that a smaller one is the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
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

    def is_same(self, other: ReducibleFailure | None) -> bool:
        """Whether another failure is this one, but for sizes and numbers."""
        return other is not None and (self.kind, self.key) == (other.kind, other.key)


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
        key = error.diagnostic.name if isinstance(error, MonographError) else text.split("\n")[0]
        key = re.sub(r"0x[0-9a-f]+|\d+", "N", key)
        return ReducibleFailure(type(error).__name__, key, text.split("\n")[0]), None


def failure_of_graph(
    backend: Callable[..., Any], graph: GraphModule, inputs: Sequence[Any], *, accuracy: bool
) -> ReducibleFailure | None:
    """How a backend fails with a graph that runs by itself; None where it does not."""
    torch.manual_seed(0)
    broken, expected = failure_of_run(lambda: graph(*copies(inputs)))
    if broken is not None:
        return None
    torch.manual_seed(0)
    failure, found = failure_of_run(lambda: backend(graph, copies(inputs))(*copies(inputs)))
    if failure is not None or not accuracy:
        return failure
    worst = _difference(expected, found)
    if worst is None:
        return None
    return ReducibleFailure(
        "numbers", "differ", f"results differ by {worst:.3g} from those of eager code"
    )


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
