"""Guard sources, worded: where an assumption came from, in its assertion's message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import Place, place, problem
from monograph.integers import relation_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.diagnostics import MonographError
    from monograph.integers import Facts, Guard


def broken(facts: Facts, guard: Guard, said: str | None) -> str:
    """What to say where an assumption does not hold, in the user's words: what they `said`."""
    if said and _ASSUMPTION.match(said):
        return f"{said}{_asked_at(guard.origin)}"
    names = {s: facts.source_of(s) or s.name for s in guard.relation.symbols}
    words = f"`{relation_text(guard.relation, names)}` does not hold{_asked_at(guard.origin)}"
    return f"{said}: {words}" if said else words


_ASSUMPTION: Final = re.compile(
    r"this draft assumes that (.*), which does not hold(?: \((.*):([0-9]+) needs it\))?", re.DOTALL
)
"""What assertions of drafts say, which is all of them that a file keeps."""
_RELATION: Final = re.compile(r"`(.*)` does not hold(?: \((.*):([0-9]+) needs it\))?", re.DOTALL)
"""What assertions say that stand for guards, and not for a check of the user's with a text."""
_PLACE: Final = re.compile(r".* \((.*):[0-9]+ needs it\)", re.DOTALL)
_SAID: Final = re.compile(rf"(?:(.*?): )?(?:{_RELATION.pattern})", re.DOTALL)


def draft_assumes(clause: str) -> str:
    """What is said where a draft goes another way than its example did; see `broken`."""
    return f"this draft assumes that {clause}, which does not hold"


def refusal_of_assertion(message: str, now: str) -> MonographError | None:
    """The refusal that a broken assertion's message stands for; None of a user's own text.

    `now` says what the numbers in it are.
    """
    of_draft = _ASSUMPTION.fullmatch(message)
    found = of_draft or _RELATION.fullmatch(message)
    if found is None:
        return None
    assumed, file, line = found.groups()
    at = () if file is None else Place(file, int(line), int(line), None, None, "<module>")
    name = "draft-assumption" if of_draft else "assumption-broken"
    return problem(name, at=at, assumed=assumed, now=now)


def said_in(message: str) -> str:
    """What users said in a message that `broken` made, "" where they said nothing."""
    found = _ASSUMPTION.fullmatch(message)
    if found is not None:
        return draft_assumes(found[1])
    found = _SAID.fullmatch(message)
    return message if found is None else found[1] or ""


def with_file(message: str, name: Callable[[str], str]) -> str:
    """A message of `broken`, with another name of the file that it points to."""
    found = _PLACE.fullmatch(message)
    if found is None:
        return message
    return f"{message[: found.start(1)]}{name(found[1])}{message[found.end(1) :]}"


def _asked_at(origin: Any) -> str:
    """` (model.py:31 needs it)`, where the user's line is known."""
    if not origin:
        return ""
    spot = place(origin[0])
    return f" ({spot.file}:{spot.line} needs it)"
