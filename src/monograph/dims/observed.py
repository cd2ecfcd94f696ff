"""Several calls side by side: what is at each leaf of the inputs, call by call.

What varies and may: sizes of tensors, and numbers. Everything else that differs is a difference
that no declaration can express, and all of them are reported together.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.diagnostics.wording import counted
from monograph.dims.arguments import Arguments, bound_arguments
from monograph.dims.nesting import nested

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Call = tuple[tuple[Any, ...], "Mapping[str, Any] | None"]


@dataclass(frozen=True, slots=True)
class ObservedSizes:
    """The inputs of the first call, and the leaves of all calls by path."""

    arguments: Arguments
    leaves: Mapping[str, tuple[Any, ...]]

    def declare(self, entry: Callable[[str, tuple[Any, ...]], Any]) -> dict[str, Any]:
        """A declaration by argument name: at each leaf what `entry(path, its values)` says."""
        return {
            name: nested(
                self.arguments.by_name[name], lambda path, _: entry(path, self.leaves[path]), name
            )
            for name in self.arguments.in_signature
        }


def observe(
    module: Callable[..., Any], calls: Sequence[Call], may_vary: tuple[type, ...] = (int,)
) -> ObservedSizes:
    """Put several calls side by side.

    Raises: spec-calls-differ, forward-rejects-inputs.

    >>> observe(lambda x, n: x, [((1, 3), None), ((1, 4), None)]).leaves["n"]
    (3, 4)
    """
    bound = [bound_arguments(module, tuple(args), kwargs or {}) for args, kwargs in calls]
    listed = [_leaves(arguments) for arguments in bound]
    differences: dict[str, str] = {}
    for path in dict.fromkeys(path for leaves in listed for path in leaves):
        values = [leaves.get(path, _ABSENT) for leaves in listed]
        difference = _difference(values, may_vary)
        if difference:
            differences[path] = difference
    if differences:
        raise problem("spec-calls-differ", differences=differences)
    leaves = {path: tuple(each[path] for each in listed) for path in listed[0]}
    return ObservedSizes(bound[0], leaves)


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


def _leaves(arguments: Arguments) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in arguments.by_name.items():
        nested(value, found.__setitem__, name)
    return found


def _difference(values: list[Any], may_vary: tuple[type, ...]) -> str:
    """In what the values of one leaf differ although they may not, "" if in nothing."""
    first = values[0]
    if all(isinstance(value, torch.Tensor) for value in values):
        if len({value.dim() for value in values}) > 1:
            return _each(_dimensions(value) for value in values)
        kinds = [str(value.dtype).removeprefix("torch.") for value in values]
        return "" if len(set(kinds)) == 1 else _each(kinds)
    if len({type(value) for value in values}) == 1 and (
        type(first) in may_vary or all(_same(first, value) for value in values)
    ):
        return ""
    return _each(_word(value) for value in values)


def _same(a: Any, b: Any) -> bool:
    try:
        return a is b or bool(a == b) or (a != a and b != b)  # noqa: PLR0124 - NaN is NaN
    except ValueError:
        return True  # an array, which is no input of a program: the export says so


def _word(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {_dimensions(value)}"
    return reprlib.repr(value)


def _dimensions(tensor: torch.Tensor) -> str:
    return counted(tensor.dim(), "dimension")


def _each(words: Any) -> str:
    return ", ".join(dict.fromkeys(words))


__all__ = ["Call", "ObservedSizes", "observe"]
