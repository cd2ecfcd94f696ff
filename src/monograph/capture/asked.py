"""Where an assumption came from, in the words of the assertion that checks it."""

from __future__ import annotations

from typing import Any

from monograph.diagnostics import place


def asked_at(origin: Any) -> str:
    """` (model.py:31 needs it)`, where the user's line is known."""
    if not origin:
        return ""
    spot = place(origin[0])
    return f" ({spot.file}:{spot.line} needs it)"
