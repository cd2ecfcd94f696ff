"""One decoder per version of CPython, found by the version that runs.

A decoder is a pure function from a code object to canonical instructions, entered under
`(major, minor)`; it works on code objects of its own version only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from monograph.bytecode.instructions import Instructions

    Decoder = Callable[[CodeType], Instructions]

__all__ = ["RUNNING", "decoder", "find_decoder", "versions"]

RUNNING = (sys.version_info.major, sys.version_info.minor)
"""The version of the Python that runs us."""

_DECODERS: dict[tuple[int, int], Decoder] = {}


def decoder(major: int, minor: int) -> Callable[[Decoder], Decoder]:
    """Enter the function below as the decoder of a version. Raises: ValueError on a second one."""

    def enter(function: Decoder) -> Decoder:
        if (major, minor) in _DECODERS:
            raise ValueError(f"there are two decoders of Python {major}.{minor}")
        _DECODERS[major, minor] = function
        return function

    return enter


def find_decoder(version: tuple[int, int] = RUNNING) -> Decoder | None:
    """Return the decoder of a version, or None."""
    return _DECODERS.get(version)


def versions() -> list[tuple[int, int]]:
    """Return the versions that have a decoder."""
    return sorted(_DECODERS)
