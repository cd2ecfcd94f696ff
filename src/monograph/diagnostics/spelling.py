"""What a misspelt name was probably meant to be."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `name`, or None if none is.

    >>> nearest("bacth", ["batch", "channels"])
    'batch'
    >>> nearest("q", ["batch", "channels"])
    """
    return next(iter(get_close_matches(name, list(candidates), n=1)), None)
