"""The overloads of ATen by name, as tables of ours are written with them.

One that this version of PyTorch lacks is `Absent`: a line of a table that nothing ever asks for,
instead of an error where the table is imported. `LACKING` says which those are in the versions that
were verified; in another version `monograph doctor` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LACKING: Final = {"aten.cholesky.default": "2.14"}
"""Overloads that our tables name, and the first verified version that is without."""

ABSENT: Final[list[Absent]] = []
"""What was asked for and is not there."""


class Absent:
    """Stands for an overload that this version of PyTorch lacks; nothing dispatches it."""

    def __init__(self, name: str) -> None:
        self.name = name
        ABSENT.append(self)

    def __str__(self) -> str:
        """The name, as that of an overload."""
        return self.name

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raises: NotImplementedError."""
        raise NotImplementedError(f"{self.name} is not in PyTorch {torch.__version__}")


class _Packet:
    """The overloads of one name, each looked up once."""

    def __init__(self, name: str, packet: Any) -> None:
        self._name, self._packet = name, packet

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):
            raise AttributeError(overload)
        found = getattr(self._packet, overload, None)
        found = Absent(f"{self._name}.{overload}") if found is None else found
        setattr(self, overload, found)
        return found


class _Namespace:
    """The packets of one namespace, each looked up once."""

    def __init__(self, name: str) -> None:
        self._name, self._namespace = name, getattr(torch.ops, name)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._namespace, name, None)
        if found is None and name.startswith("__"):
            raise AttributeError(name)  # what Python itself asks of any object
        packet = _Packet(f"{self._name}.{name}", found)
        setattr(self, name, packet)
        return packet


aten: Any = _Namespace("aten")
prims: Any = _Namespace("prims")
"""The operators that some of PyTorch's decompositions are written in."""


def present(overloads: Iterable[Any]) -> Iterator[Any]:
    """Those that this version of PyTorch has."""
    return (each for each in overloads if type(each) is not Absent)


__all__ = ["ABSENT", "LACKING", "Absent", "aten", "present", "prims"]
