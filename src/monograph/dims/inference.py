"""From several real calls to a declaration: which sizes vary, and which vary together.

Two dimensions that are equal in every call are one Dim. From three calls with three different sizes
on, `a*d + b` is recognised too; two points lie on a line whatever they mean.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from monograph.dims.dim import DerivedDim, Dim
from monograph.dims.observed import observe
from monograph.dims.source import declaration_source, root_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.dims.observed import Call, ObservedSizes

Sizes = tuple[int, ...]
"""What one dimension is in each call."""

_ENOUGH = 3


class InferredShapes(dict[str, Any]):
    """A declaration by argument name; its `str` is source that can be pasted.

    >>> d = Dim("d")
    >>> print(InferredShapes({"x": (d, 2 * d, None), "mode": None}))
    d = Dim("d")
    dynamic_shapes = {"x": (d, 2*d, None), "mode": None}
    """

    def __str__(self) -> str:
        spec = dict(self)
        return "\n".join([*root_lines(spec), f"dynamic_shapes = {declaration_source(spec)}"])


def infer_dynamic_shapes(
    module: Callable[..., Any], calls: Sequence[Call | tuple[Any, ...]]
) -> InferredShapes:
    """The declaration that several calls suggest, each given as `(args, kwargs)`.

    Floats that differ become `Dim.DYNAMIC`. A Dim is named after the first place it is at.

    Raises: spec-calls-differ, forward-rejects-inputs.

    >>> calls = [((torch.ones(n, 8), torch.ones(n), torch.ones(2 * n)), {}) for n in (2, 3, 7)]
    >>> print(infer_dynamic_shapes(lambda x, mask, out: x, calls))
    x_0 = Dim("x_0")
    dynamic_shapes = {"x": (x_0, None), "mask": (x_0,), "out": (2*x_0,)}
    """
    observed = observe(module, [_as_call(call) for call in calls], may_vary=(int, float))
    dims = _dims(_varying(observed))

    def entry(_: str, values: tuple[Any, ...]) -> Any:
        if isinstance(values[0], torch.Tensor):
            sizes = zip(*[value.shape for value in values], strict=True)
            return tuple([dims.get(tuple(each)) for each in sizes])
        if type(values[0]) is float:
            return Dim.DYNAMIC if len(set(values)) > 1 else None
        return dims.get(values) if type(values[0]) is int else None

    return InferredShapes(observed.declare(entry))


def _as_call(call: Any) -> Call:
    """`(args, kwargs)`; a tuple of anything else is the args of a call without keywords."""
    if len(call) == 2 and isinstance(call[0], tuple) and isinstance(call[1], dict | None):
        return (call[0], call[1])
    return (tuple(call), None)


def _varying(observed: ObservedSizes) -> dict[Sizes, str]:
    """Every sequence of sizes that is not constant, and a name for it."""
    found: dict[Sizes, str] = {}
    taken: set[str] = set()
    for path, values in observed.leaves.items():
        named: list[tuple[Sizes, str]] = []
        if isinstance(values[0], torch.Tensor):
            sizes = zip(*[value.shape for value in values], strict=True)
            named = [(tuple(each), f"{path}_{axis}") for axis, each in enumerate(sizes)]
        elif type(values[0]) is int:
            named = [(values, path)]
        for each, name in named:
            if len(set(each)) > 1 and each not in found:
                found[each] = _free(name, taken)
    return found


def _free(name: str, taken: set[str]) -> str:
    plain = re.sub(r"\W+", "_", name.replace("]", "").replace("'", "")).strip("_")
    found, number = plain, 1
    while found in taken:
        number += 1
        found = f"{plain}_{number}"
    taken.add(found)
    return found


def _dims(varying: dict[Sizes, str]) -> dict[Sizes, Dim | DerivedDim]:
    """A Dim for each sequence of sizes: its own, or a multiple of one that varies less."""
    found: dict[Sizes, Dim | DerivedDim] = {}
    roots: dict[Sizes, Dim] = {}
    for sizes in sorted(varying, key=_spread):
        derived = next(filter(None, (_derived(sizes, *root) for root in roots.items())), None)
        if derived is None:
            lower = min(sizes)
            roots[sizes] = Dim(varying[sizes], min=lower) if lower < 0 else Dim(varying[sizes])
        found[sizes] = derived or roots[sizes]
    return found


def _spread(sizes: Sizes) -> tuple[int, int]:
    return (max(sizes) - min(sizes), min(sizes))


def _derived(sizes: Sizes, root_sizes: Sizes, root: Dim) -> DerivedDim | None:
    """`sizes` as a*root + b with whole a > 0, where enough different sizes agree."""
    points = sorted(set(zip(root_sizes, sizes, strict=True)))
    if len({x for x, _ in points}) < _ENOUGH:
        return None
    (x0, y0), (x1, y1) = points[0], points[1]
    if x1 == x0 or (y1 - y0) % (x1 - x0):
        return None
    a = (y1 - y0) // (x1 - x0)
    b = y0 - a * x0
    if a <= 0 or any(y != a * x + b for x, y in points):
        return None
    return DerivedDim(root, a, b)


__all__ = ["InferredShapes", "infer_dynamic_shapes"]
