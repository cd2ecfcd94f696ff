"""AdditionalInputs: what differs between representative inputs is dynamic.

Law: the program accepts every input that was added, or the export says which it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from monograph.diagnostics import problem
from monograph.dims.dim import Dim
from monograph.dims.observed import observe
from monograph.keyword_aliases import also_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.dims.observed import Call


class Checking(Protocol):
    """A program that says whether it accepts inputs."""

    def check_inputs(self, *args: Any, **kwargs: Any) -> None:
        """Return None, or refuse."""
        ...


class AdditionalInputs:
    """Representative inputs beside the example; pass it as `dynamic_shapes`.

    Sizes and ints that differ between the inputs become `Dim.DYNAMIC`, the others stay fixed.

    >>> more = AdditionalInputs()
    >>> more.add((torch.ones(4, 8), 4))
    >>> more.dynamic_shapes(lambda x, n: x, (torch.ones(3, 8), 3))
    {'x': (Dim.DYNAMIC, None), 'n': Dim.DYNAMIC}
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add inputs of one call.

        Raises: args-not-a-tuple.
        """
        if type(args) is not tuple or not isinstance(kwargs, dict | None):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            given = args if type(args) is not tuple else kwargs
            raise problem("args-not-a-tuple", given=type(given).__name__)
        self._calls.append((args, kwargs))

    @also_named(module="m")
    def dynamic_shapes(
        self, m: Callable[..., Any], args: tuple[Any, ...], kwargs: Any = None
    ) -> dict[str, Any]:
        """The declaration by argument name, nested like the inputs.

        Raises: spec-calls-differ, with every input that differs in more than sizes and ints.
        """
        return observe(m, [(args, kwargs), *self._calls]).declare(_entry)

    @also_named(program="ep")
    def verify(self, ep: Checking) -> None:
        """Check that a program accepts every input that was added.

        Raises: contract-broken.
        """
        for args, kwargs in self._calls:
            ep.check_inputs(*args, **(kwargs or {}))


def _entry(_: str, values: tuple[Any, ...]) -> Any:
    if isinstance(values[0], torch.Tensor):
        sizes = zip(*[value.shape for value in values], strict=True)
        return tuple([_varying(each) for each in sizes])
    return _varying(values) if type(values[0]) is int else None


def _varying(values: tuple[int, ...]) -> Any:
    return Dim.DYNAMIC if len(set(values)) > 1 else None


__all__ = ["AdditionalInputs", "Checking"]
