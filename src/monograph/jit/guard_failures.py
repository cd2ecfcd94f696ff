"""Guard failures: which guard of a segment does not hold of a state, and what is there instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.host.execution_modes import MODE_STATE
from monograph.jit.guard_code import description

if TYPE_CHECKING:
    from monograph.jit.segment_code import CompiledSegment

__all__ = ["GuardFailure", "failure_of"]


@dataclass(frozen=True, slots=True)
class GuardFailure:
    """One guard that failed: what it is about, what was expected, what is there, who asked."""

    about: str
    expected: str
    found: str
    place: str

    def __str__(self) -> str:
        return f"{self.about} was {self.expected}, is {self.found} (asked at {self.place})"


def failure_of(
    segment: CompiledSegment, state: list[Any], entry: str = "the entry"
) -> GuardFailure | None:
    """The first guard that does not hold; None where all do. `entry` is the segment's place."""
    index = _first(segment, state)
    if index is None:
        return None
    if index < 0 or index >= len(segment.guards):
        if index == -2:
            before, now = _modes(segment.modes, MODE_STATE())
            return GuardFailure("the modes of PyTorch", before, now, entry)
        return GuardFailure("the structure of the inputs", "as before", "another", entry)
    guard = segment.guards[index]
    found = _value(segment, guard.read, guard.n_lines, state)
    if isinstance(guard.expected, dict) and isinstance(found, torch.Tensor):
        return _of_tensor(guard.about, guard.expected, description(found), guard.place)
    return GuardFailure(guard.about, _text(guard.expected), _text(found), guard.place)


_MODES = ("grad", "inference", "default dtype", "deterministic", "autocast")


def _modes(before: Any, now: Any) -> tuple[str, str]:
    """The modes that differ, by name."""
    named = zip(_MODES, before, now, strict=False)
    other = [(name, one, two) for name, one, two in named if one != two]
    return (
        ", ".join(f"{name} {one}" for name, one, _ in other),
        ", ".join(f"{name} {two}" for name, _, two in other),
    )


def _of_tensor(
    about: str, expected: dict[str, Any], found: dict[str, Any], place: str
) -> GuardFailure:
    for name, value in expected.items():
        if found[name] != value:
            return GuardFailure(f"{about}.{name}", _text(value), _text(found[name]), place)
    return GuardFailure(about, "a tensor of that kind", "another", place)


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor | torch.nn.Module):
        return f"another {type(value).__name__}"
    shown = getattr(value, "__qualname__", None) or repr(value)
    return shown if len(shown) < 80 else f"{shown[:77]}..."


def _first(segment: CompiledSegment, state: list[Any]) -> int | None:
    tail = ["    return None", "  except Exception: return -1"]
    lines = ["  try:", "    if MODES() != modes: return -2"]
    return _run(segment, [*lines, *(f"    {line}" for line in segment.lines), *tail], state)


def _value(segment: CompiledSegment, read: str, n_lines: int, state: list[Any]) -> Any:
    lines = [f"  {line}" for line in segment.lines[:n_lines]]
    try:
        return _run(segment, [*lines, f"  return {read}"], state)
    except Exception as error:  # noqa: BLE001 - what is read may be gone
        return error


def _run(segment: CompiledSegment, lines: list[str], state: list[Any]) -> Any:
    scope = dict(segment.constants)
    exec("\n".join(["def look(s):", *lines]), scope)  # noqa: S102 - lines of guards
    return scope["look"](state)
