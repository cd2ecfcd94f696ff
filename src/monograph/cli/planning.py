"""The command that says what programs cost: estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from monograph.cli.output import RIGHT, NotThereError, say, verb
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

_estimate = deferred("monograph.estimation:estimate")
_device = deferred("monograph.estimation:Device")
_load = deferred("monograph.archive:load")


@verb
def estimate(
    file: str, *, at: Sequence[str] = (), device: str | None = None, as_json: bool = False
) -> int:
    """Print what a call of a program needs; `at` are sizes as name=number.

    `device` is a roofline's: FLOP per second, bytes per second, bytes of memory, with commas.
    """
    if not Path(file).is_file():
        raise NotThereError(f"there is no file {file}")
    found = _estimate(_load(file), dict(map(_size, at)))
    say(found.as_json() if as_json else found)
    if device is not None and not as_json:
        say(f"\n{found.roofline(_device('the device', *map(_number, device.split(','))))}")
    return RIGHT


def _size(text: str) -> tuple[str, int]:
    name, found, value = text.rpartition("=")
    if not found or not value.isdigit():
        raise NotThereError(f"write a size as name=number; not {text}")
    return name, int(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NotThereError(f"write a device as 312e12,2e12,80e9; not {text}") from None


__all__ = ["estimate"]
