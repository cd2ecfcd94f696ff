"""Guard sources, worded: where an assumption came from, in its assertion's message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import place
from monograph.integers import relation_text

if TYPE_CHECKING:
    from monograph.integers import Facts, Guard


def broken(facts: Facts, guard: Guard, said: str | None) -> str:
    """What to say where an assumption does not hold, in the user's words: what they `said`."""
    names = {s: facts.source_of(s) or s.name for s in guard.relation.symbols}
    words = f"`{relation_text(guard.relation, names)}` does not hold{_asked_at(guard.origin)}"
    return f"{said}: {words}" if said else words


def _asked_at(origin: Any) -> str:
    """` (model.py:31 needs it)`, where the user's line is known."""
    if not origin:
        return ""
    spot = place(origin[0])
    return f" ({spot.file}:{spot.line} needs it)"
