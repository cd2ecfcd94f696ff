"""From code objects to canonical instructions: one file per version of CPython."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.decoding import python311, python312, python313, python314
from monograph.bytecode.decoding.registry import RUNNING, decoder, find_decoder, versions

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode.instructions import Instructions

__all__ = [
    "RUNNING",
    "decode",
    "decoder",
    "find_decoder",
    "python311",
    "python312",
    "python313",
    "python314",
    "versions",
]


def decode(code: CodeType) -> Instructions:
    """Decode a code object of the Python that runs.

    Raises: NotImplementedError where nobody wrote a decoder for this version.
    """
    found = find_decoder()
    if found is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in versions())
        raise NotImplementedError(f"bytecode is known of Python {known}, not {RUNNING}")
    return found(code)
