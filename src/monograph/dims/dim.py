"""What the user says about one size: a name and a range, a multiple of another, or a hint.

`Dim("batch", min=1, max=64)` names a size; the same name is the same size. `2 * batch + 1` is
derived from it. `Dim.AUTO` lets capture find out, `Dim.DYNAMIC` insists that it varies,
`Dim.STATIC` (as None, or the number) fixes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from monograph.diagnostics import problem

Mode = Literal["AUTO", "DYNAMIC", "STATIC"]


@dataclass(frozen=True, slots=True)
class DimHint:
    """`Dim.AUTO`, `Dim.DYNAMIC` or `Dim.STATIC`; the first two may be called with a range."""

    mode: Mode
    min: int | None = None
    max: int | None = None

    def __call__(self, *, min: int | None = None, max: int | None = None) -> DimHint:  # noqa: A002 - torch's names
        """The same hint with a range.

        Raises: spec-range-empty.
        """
        _check_range(f"Dim.{self.mode}", min, max)
        return DimHint(self.mode, min, max)

    def __repr__(self) -> str:
        limits = [
            f"{end}={n}" for end, n in (("min", self.min), ("max", self.max)) if n is not None
        ]
        return f"Dim.{self.mode}" + f"({', '.join(limits)})" * bool(limits)


class Dim:
    """A size with a name, from `min` (0) to `max` (any) elements, both included.

    Raises: spec-range-empty, spec-not-a-dim (the name is no identifier).

    >>> batch = Dim("batch", min=1, max=64)
    >>> batch, 2 * batch + 1
    (batch, 2*batch + 1)
    """

    __slots__ = ("__name__", "max", "min")

    AUTO: ClassVar = DimHint("AUTO")
    DYNAMIC: ClassVar = DimHint("DYNAMIC")
    STATIC: ClassVar = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        if not name.isidentifier():
            raise problem("spec-not-a-dim", path=f"Dim({name!r})", given=name)
        _check_range(name, min, max)
        self.__name__ = name
        self.min = 0 if min is None else min
        self.max = max

    def __add__(self, other: int) -> DerivedDim:
        """A size larger by a constant."""
        return DerivedDim(self, 1, other)

    __radd__ = __add__

    def __sub__(self, other: int) -> DerivedDim:
        """A size smaller by a constant."""
        return DerivedDim(self, 1, -other)

    def __mul__(self, other: int) -> DerivedDim:
        """A multiple of this size."""
        return DerivedDim(self, other, 0)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return self.__name__


@dataclass(frozen=True, slots=True, repr=False)
class DerivedDim:
    """`coefficient * root + offset`."""

    root: Dim
    coefficient: int
    offset: int

    def __post_init__(self) -> None:
        if not (isinstance(self.coefficient, int) and isinstance(self.offset, int)):  # pyright: ignore[reportUnnecessaryIsInstance] - users may give anything
            raise TypeError(f"a size is derived from `{self.root}` with whole numbers")

    @property
    def __name__(self) -> str:
        return repr(self)

    @property
    def min(self) -> int:
        """The size where the root is smallest."""
        return self.fn(self.root.min)

    @property
    def max(self) -> int | None:
        """The size where the root is largest."""
        return None if self.root.max is None else self.fn(self.root.max)

    def fn(self, size: int) -> int:
        """The derived size for a size of the root."""
        return self.coefficient * size + self.offset

    def __add__(self, other: int) -> DerivedDim:
        """A size larger by a constant."""
        return DerivedDim(self.root, self.coefficient, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> DerivedDim:
        """A size smaller by a constant."""
        return self + -other

    def __mul__(self, other: int) -> DerivedDim:
        """A multiple of this size."""
        return DerivedDim(self.root, self.coefficient * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        name = self.root.__name__
        scaled = name if self.coefficient == 1 else f"{self.coefficient}*{name}"
        if not self.offset:
            return scaled
        return f"{scaled} {'+' if self.offset > 0 else '-'} {abs(self.offset)}"


Constraint = Dim | DerivedDim
"""What states something of one size, under the name that torch.export has for it."""


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:  # noqa: A002
    """Several named sizes with one range, from `min` to `max` elements. Raises: as `Dim`.

    >>> dims("height", "width", min=8)
    (height, width)
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


def _check_range(name: str, lower: int | None, upper: int | None) -> None:
    if upper is not None and (upper < 0 or (lower is not None and lower > upper)):
        raise problem("spec-range-empty", dim=name, lower=lower or 0, upper=upper)


def from_torch(entry: Any) -> Any:
    """A `torch.export.Dim`, derived Dim or Dim hint as ours; anything else as it is.

    Recognised by where their classes were defined, so that nothing of torch.export is imported.
    """
    if type(entry).__module__ != "torch.export.dynamic_shapes":
        return entry
    if hasattr(entry, "root") and hasattr(entry, "fn"):
        offset = entry.fn(0)
        return DerivedDim(from_torch(entry.root), entry.fn(1) - offset, offset)
    if hasattr(entry, "__name__"):
        upper = entry.max if isinstance(entry.max, int) else None
        return Dim(entry.__name__, min=int(entry.min) or None, max=upper)
    kind = getattr(getattr(entry, "type", None), "name", None)
    if kind in {"AUTO", "DYNAMIC", "STATIC"}:
        return DimHint(kind, entry.min, entry.max)
    return entry
