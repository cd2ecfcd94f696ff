"""A message as data: what happened, where, why, what else is known, and which edit helps.

Nothing here is layout; `render` turns a diagnostic into lines. A spot is a frame (cheap to take
while a program is captured) or a place (read from a file); both become source when printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from monograph.diagnostics.frames import Frame, Place

if TYPE_CHECKING:
    from monograph.diagnostics.source_edits.edits import Edit

__all__ = ["Cause", "Diagnostic", "Spot", "Text"]

Spot = Frame | Place


@dataclass(frozen=True, slots=True)
class Cause:
    """A contributing fact: the lines it comes from, innermost first or none, and what it says."""

    at: tuple[Spot, ...]
    label: str


@dataclass(frozen=True, slots=True)
class Text:
    """What a message template returns: all the prose of one message, without its places."""

    headline: str
    label: str = ""
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: name, headline, the user's frames innermost first, causes, notes and edits.

    `graph` is the program so far, where there is one; it is never printed with the message.
    `times` is how often one run met it at its line; `edits` are those of the helps that can be
    applied as they stand.
    """

    name: str
    headline: str
    at: tuple[Spot, ...] = ()
    label: str = ""
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    graph: object = field(default=None, compare=False, repr=False)
    times: int = 1
    edits: tuple[Edit, ...] = ()

    @property
    def see(self) -> str:
        """Name its page and its case of ExportDB, both called as it is."""
        return f'see: monograph.explain("{self.name}"), exportdb.cases["{self.name}"]'

    def given(self, answer: bool) -> Diagnostic:  # noqa: FBT001 - the fact itself
        """The message where the example's answer is known: edits that state the other one go."""
        wrong = [each for each in self.edits if each.answer is (not answer)]
        shown = {each.shown() for each in wrong}
        return replace(
            self,
            helps=tuple([each for each in self.helps if each not in shown]),
            edits=tuple([each for each in self.edits if each not in wrong]),
        )
