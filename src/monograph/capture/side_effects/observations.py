"""Observations for the report: what a strict capture saw user code do, as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

if TYPE_CHECKING:
    from monograph.diagnostics import Frame, MonographError, Spot


class Assumption(NamedTuple):
    """A plain value that user code read and that is a constant of the program from then on.

    `kind` is attribute, global, closure, environment or query (`torch.compiler.is_compiling()`);
    `name` is how the code calls it: `self.training`.
    """

    kind: str
    name: str
    value: Any
    at: tuple[Frame, ...]


class Island(NamedTuple):
    """A Python function that ran natively instead of being interpreted, and why."""

    function: str
    reason: str


class SideEffect(NamedTuple):
    """A write that outlives the call, which the user chose to ignore: what, and where."""

    what: str
    at: tuple[Spot, ...]


@dataclass(slots=True)
class Observations:
    """Everything that one run showed."""

    assumptions: list[Assumption] = field(default_factory=list[Assumption])
    islands: list[Island] = field(default_factory=list[Island])
    side_effects: list[SideEffect] = field(default_factory=list[SideEffect])

    @property
    def is_anything(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.assumptions or self.islands or self.side_effects)

    def ignore(self, harm: list[MonographError]) -> list[MonographError]:
        """Report what outlives the call; what is left must be refused nonetheless."""
        ignored = [error for error in harm if error.diagnostic.name in _IGNORED]
        self.side_effects += [
            SideEffect(error.diagnostic.headline, error.diagnostic.at) for error in ignored
        ]
        return [error for error in harm if error not in ignored]


_IGNORED: Final = frozenset({"attribute-changed", "write-outlives-call"})
"""Refusals of writes that a program can do without; other state of the module it cannot."""


_PLAIN: Final = frozenset({int, float, bool, str, type(None), complex, torch.dtype, torch.device})
_LONGEST: Final = 16
"""The longest list of plain values that is reported as one."""


def is_plain(value: Any) -> bool:
    """Whether a value is a number or a text, or a short sequence of those."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is list or kind is tuple:
        return 0 < len(value) <= _LONGEST and all(type(each) in _PLAIN for each in value)
    return issubclass(type(value), enum.Enum)
