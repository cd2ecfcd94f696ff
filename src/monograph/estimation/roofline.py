"""The roofline model: an operator takes at least as long as its arithmetic, or its traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.estimation.costs import OperatorCost


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its data sheet has it.

    Units: `flops` in FLOP per second, `bandwidth` in bytes per second, `memory` in bytes.
    """

    name: str
    flops: float
    bandwidth: float
    memory: float | None = None


@dataclass(frozen=True, slots=True)
class Roofline:
    """The least seconds that a program takes on a device: `compute` and `traffic` say what bounds.

    Each operator is bound by the greater of the two, and `seconds` is the sum of these. `fits` is
    whether state, inputs and activations are there at once; None where the memory is not known.

    Units: `intensity` in FLOP per byte, `slowest` as all others in seconds.
    """

    device: Device
    seconds: float
    compute: float
    traffic: float
    intensity: float
    fits: bool | None
    slowest: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        bound = "arithmetic" if self.compute > self.traffic else "memory traffic"
        fits = {True: "fits", False: "does not fit", None: "memory of the device not given"}
        lines = [
            f"{self.device.name}: at least {self.seconds:.3g} s, bound by {bound}",
            f"  arithmetic {self.compute:.3g} s, traffic {self.traffic:.3g} s",
            f"  {self.intensity:.3g} FLOP per byte; {fits[self.fits]}",
        ]
        return "\n".join([*lines, *[f"  {name}  {t:.3g} s" for name, t in self.slowest]])


def roofline(rows: Sequence[OperatorCost], memory: int, device: Device) -> Roofline:
    """The roofline of operators whose costs are numbers; the slowest operators by their sum."""
    compute = traffic = seconds = 0.0
    by_name: dict[str, float] = {}
    for row in rows:
        numbers: tuple[Any, Any] = row.flops, row.read + row.written
        times = numbers[0] / device.flops, numbers[1] / device.bandwidth
        compute, traffic, seconds = compute + times[0], traffic + times[1], seconds + max(times)
        by_name[row.operator] = by_name.get(row.operator, 0.0) + max(times)
    slowest = sorted(by_name.items(), key=lambda item: -item[1])[:SHOWN]
    bytes_moved = traffic * device.bandwidth
    intensity = compute * device.flops / bytes_moved if bytes_moved else 0.0
    fits = None if device.memory is None else memory <= device.memory
    return Roofline(device, seconds, compute, traffic, intensity, fits, tuple(slowest))


SHOWN = 5

__all__ = ["Device", "Roofline", "roofline"]
