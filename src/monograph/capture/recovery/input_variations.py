"""Input variations: an operator run on arguments of other sizes and with other data.

Law: what is given stays as it is; an operator gets copies. Sizes that are equal stay equal, so an
operator that wants two of them alike is not refused for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.host.dispatch import schema_of, without_modes
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monograph.host.operator_types import OpOverload

_STEPS = (3, 5, 9, 15, 21, 33)
"""By how much sizes differ: no two alike, so that they can be told apart, and from even to odd."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the arguments by name, as they were before and are after, and the result."""

    given: dict[str, Any]
    after: dict[str, Any]
    result: Any


def bound(overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, with their defaults."""
    arguments = schema_of(overload).arguments
    given = dict(zip([a.name for a in arguments], args, strict=False)) | dict(kwargs)
    return {
        a.name: given.get(a.name, a.default_value)
        for a in arguments
        if a.name in given or a.has_default_value()
    }


def run(overload: OpOverload, given: Mapping[str, Any]) -> Run:
    """Run the operator on copies; raises what it raises."""
    after = pytree.tree_map_only(torch.Tensor, _copy, dict(given))
    keywords = {a.name for a in schema_of(overload).arguments if a.kwarg_only}
    args = [value for name, value in after.items() if name not in keywords]
    kwargs = {name: value for name, value in after.items() if name in keywords}
    with without_modes(), torch.no_grad(), torch.random.fork_rng(devices=[]):
        return Run(dict(given), after, overload(*args, **kwargs))


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    made = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    return made.copy_(tensor)


def attempt(overload: OpOverload, given: Mapping[str, Any]) -> Run | None:
    """A run, None where the operator refuses the arguments."""
    try:
        return run(overload, given)
    except Exception:  # noqa: BLE001 - an operator may raise anything
        return None


def with_other_sizes(overload: OpOverload, given: Mapping[str, Any]) -> list[Run]:
    """Runs at other sizes: all of them other; else each in turn, as far as the operator runs."""
    sizes = sorted({n for t in tensors(given) for n in t.shape if n >= 2})
    more = {n: n + _STEPS[i % 6] * (1 + i // 6) for i, n in enumerate(sizes)}
    times = {n: n * (2 + i) for i, n in enumerate(sizes)}
    if not sizes:
        return []
    for changes in (more, times):
        found = attempt(overload, resized(given, changes))
        if found is not None:
            return [found]
    for changes in (more, times):
        each = (attempt(overload, resized(given, {n: to})) for n, to in changes.items())
        runs = [found for found in each if found is not None]
        if runs:
            return runs
    return []


def resized(given: Mapping[str, Any], changes: Mapping[int, int]) -> dict[str, Any]:
    """The arguments with other sizes, and data taken from theirs."""

    def other(t: torch.Tensor) -> torch.Tensor:
        shape = [changes.get(n, n) for n in t.shape]
        return _filled(t, shape)

    return pytree.tree_map_only(torch.Tensor, other, dict(given))


def with_other_data(overload: OpOverload, given: Mapping[str, Any]) -> list[Run]:
    """Runs with other data: the first part of it, again and again."""
    found: list[Run] = []
    for parts in (2, 3, 1 << 30):

        def other(t: torch.Tensor, parts: int = parts) -> torch.Tensor:
            return _filled(t, list(t.shape), parts)

        again = attempt(overload, pytree.tree_map_only(torch.Tensor, other, dict(given)))
        if again is not None:
            found.append(again)
    return found


def _filled(t: torch.Tensor, shape: list[int], parts: int = 2) -> torch.Tensor:
    """Legal indices stay legal, and counts differ; the order of dimensions in memory is kept."""
    count = 1
    for size in shape:
        count *= size
    if not t.numel():
        return torch.zeros(shape, dtype=t.dtype, device=t.device)
    chosen = torch.arange(count, device=t.device) % -(-t.numel() // parts)
    order = sorted(range(t.dim()), key=lambda dim: (-t.stride(dim), dim))
    back = [order.index(dim) for dim in range(t.dim())]
    flat = t.detach().permute(order).reshape(-1)[chosen]
    return flat.reshape([shape[dim] for dim in order]).permute(back)


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in a value, in order."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def named_tensors(given: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors among the arguments, as a function that has these parameters would write them."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                if isinstance(item, torch.Tensor):
                    yield f"{name}[{i}]", item


__all__ = [
    "Run",
    "attempt",
    "bound",
    "named_tensors",
    "run",
    "tensors",
    "with_other_data",
    "with_other_sizes",
]
