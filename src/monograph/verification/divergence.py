"""Fault localisation: the first operator whose result the program does not give.

Both sides are run once more while their operators are watched. An operator of the module is at
fault when no operator of the program gives its result, though each of its inputs is given by one.
"""

from __future__ import annotations

import linecache
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monograph.verification.comparison import compared
from monograph.verification.rounding_errors import rounding_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from monograph.verification.operator_traces import OperatorCall, OperatorTrace


@dataclass(frozen=True, slots=True)
class Divergence:
    """An operator, of a `line` from 1 on, that the program lacks or gives otherwise: `instead`."""

    operator: str
    file: str
    line: int
    instead: str = ""

    @property
    def text(self) -> str:
        """The line of the user's file."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        instead = f"; the program has {self.instead} there" if self.instead else ""
        instead = (
            "; the program's gives something else" if self.instead == self.operator else instead
        )
        where = f" at {self.file}:{self.line}: {self.text}" if self.file else ""
        return f"{self.operator}{where}{instead}"


def divergence(
    expected: Sequence[OperatorCall], actual: Sequence[OperatorCall]
) -> Divergence | None:
    """The first operator of `expected` that `actual` lacks; None where all is there."""
    found = _TraceResults(actual)
    given = [found.has(call) for call in expected]
    for index, call in enumerate(expected):
        if given[index] or not _matters(call):
            continue
        before = [maker for maker in call.makers if maker >= 0]
        if all(given[maker] or not _matters(expected[maker]) for maker in before):
            file, line = call.place or ("", 0)
            return Divergence(call.name, file, line, _instead(call, actual))
    return None


def raising(expected: OperatorTrace, actual: OperatorTrace, *, module: bool) -> Divergence:
    """The operator that raises, in the module or in the program.

    The line of the program's is that of the module's last one of this name.
    """
    name, place = expected.begun if module else actual.begun
    if not module:
        places = [call.place for call in expected.calls if call.name == name]
        place = places[-1] if places else None
    return Divergence(name, *(place or ("", 0)))


def _matters(call: OperatorCall) -> bool:
    """Whether it makes numbers; which results of `empty` are the same, nobody can say."""
    return bool(call.results) and "empty" not in call.name


class _TraceResults:
    """The results of a trace, found by what they are."""

    def __init__(self, calls: Sequence[OperatorCall]) -> None:
        self._bound = 4 * rounding_bound(calls)
        self._results: dict[Any, list[torch.Tensor]] = defaultdict(list)
        for call in calls:
            for each in call.results:
                self._results[_kind(each)].append(each)

    def has(self, call: OperatorCall) -> bool:
        """Whether the first result of an operator is there; others may be left out by passes."""
        first = call.results[0] if call.results else None
        return first is None or any(
            compared("", first, other, lambda: self._bound) is None
            for other in self._results[_kind(first)]
        )


def _kind(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tuple(tensor.shape)


def _instead(call: OperatorCall, actual: Sequence[OperatorCall]) -> str:
    """The operator of the program that has the same inputs."""
    for other in actual:
        if call.inputs and len(other.inputs) == len(call.inputs):
            pairs = zip(call.inputs, other.inputs, strict=True)
            if all(compared("", one, two, lambda: 0.0) is None for one, two in pairs):
                return other.name
    return ""


__all__ = ["Divergence", "divergence", "raising"]
