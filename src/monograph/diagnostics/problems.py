"""From a name and facts to an exception: what every place that refuses something calls.

`problem("sizes-disagree", left=..., right=...)` never raises; a mistake in the call itself (no such
name, facts that do not fit) comes back as a `BugError` that says so and repeats the facts.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from monograph.diagnostics.catalogue import entries, find_entry
from monograph.diagnostics.diagnostic import Cause, Diagnostic, Spot, Text
from monograph.diagnostics.errors import BugError, MonographError
from monograph.diagnostics.frames import Frame, Place, place, user_frames
from monograph.diagnostics.messages.internal import bug
from monograph.diagnostics.rendering import snippet
from monograph.diagnostics.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

__all__ = ["asked_from", "problem"]

_FRAMES: Final[ContextVar[tuple[Frame, ...] | None]] = ContextVar("monograph_frames", default=None)


def problem(
    name: str,
    /,
    *,
    at: Spot | Iterable[Spot] | None = None,
    causes: Iterable[Cause] = (),
    graph: object = None,
    **facts: object,
) -> MonographError:
    """Build the exception of this name; the facts are the keyword parameters of its template.

    `at` is a frame, or frames innermost first; None means the user frames of now, () means nowhere.
    """
    spots = _spots(at)
    entry = find_entry(name)
    if entry is None:
        meant = nearest(name, [entry.name for entry in entries()])
        hint = f", the nearest is `{meant}`" if meant else ""
        return _mistake(f"there is no message named `{name}`{hint}", facts, spots)
    if "here" in entry.facts and "here" not in facts:
        facts["here"] = snippet(spots)
    if "where" in entry.facts:
        facts["where"] = place(spots[0]) if spots else None
    try:
        text = entry.template(**facts)
    except TypeError as error:
        return _mistake(f"the facts of `{name}` do not fit: {error}", facts, spots)
    return entry.error(_diagnostic(name, text, spots, tuple(causes), graph))


@contextmanager
def asked_from(frames: tuple[Frame, ...]) -> Generator[None]:
    """What is refused meanwhile is refused there: user code asked earlier, and is not running."""
    token = _FRAMES.set(frames)
    try:
        yield
    finally:
        _FRAMES.reset(token)


def _spots(at: Spot | Iterable[Spot] | None) -> tuple[Spot, ...]:
    if at is None:
        frames = _FRAMES.get()
        return user_frames() if frames is None else frames
    return (at,) if isinstance(at, Frame | Place) else tuple(at)


def _diagnostic(
    name: str, text: Text, at: tuple[Spot, ...], causes: tuple[Cause, ...], graph: object = None
) -> Diagnostic:
    return Diagnostic(
        name=name,
        headline=text.headline,
        at=at,
        label=text.label,
        causes=(*causes, *text.causes),
        notes=text.notes,
        helps=text.helps,
        graph=graph,
        edits=text.edits,
    )


def _mistake(reason: str, facts: Mapping[str, object], at: tuple[Spot, ...]) -> BugError:
    given = tuple(Cause((), f"{fact} = {value}") for fact, value in facts.items())
    return BugError(_diagnostic("bug", bug(reason=reason), at, given))
