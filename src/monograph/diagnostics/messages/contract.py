"""Messages of calls that a program cannot vouch for; only the first needs no operator to run.

contract-broken    clauses: Sequence[Clause], helps=()    ContractError
assumption-broken  assumed, now=""                        ContractError
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Cause, Text
from monograph.diagnostics.errors import ContractError
from monograph.diagnostics.frames import Frame, Place
from monograph.diagnostics.wording import as_advice, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.diagnostics.diagnostic import Spot

__all__ = ["Clause"]


class Clause(NamedTuple):
    """One thing that differs: its path, what it must be, what came, and what made it matter.

    `path` is as a user writes it: `y.size()[0]`. `cause` is a frame or a place, several of them
    innermost first, or a text such as "model.py:19 in Model.forward". `edit` is what would mend the
    call.
    """

    path: str
    expected: object
    got: object
    cause: Spot | tuple[Spot, ...] | str = ""
    edit: str = ""


@message("contract-broken", ContractError)
def contract_broken(*, clauses: Sequence[Clause], helps: Sequence[str] = ()) -> Text:
    """Say that a call differs from what the program accepts; `helps` are edits to allow it."""
    words = [f"`{path}` expected {expected}, got {got}" for path, expected, got, *_ in clauses]
    more = f", and {counted(len(words) - 1, 'more difference')}" if words[1:] else ""
    return Text(
        headline=f"{words[0]}{more}",
        causes=tuple(
            cause
            for position, (clause, text) in enumerate(zip(clauses, words, strict=True))
            if (cause := _cause(clause, text if position else "this line needs it")) is not None
        ),
        helps=tuple(map(as_advice, helps)),
    )


def _cause(clause: Clause, words: str) -> Cause | None:
    """Say what differs and why; of the first, which the headline has, only why."""
    cause = clause.cause
    if isinstance(cause, Frame | Place):
        return Cause((cause,), words)
    if isinstance(cause, tuple) and cause:
        return Cause(cause, words)
    if cause:
        return Cause((), f"{words} ({cause})")
    # Nobody's line: a declared range, or a fact of our own.
    return None if words == "this line needs it" else Cause((), words)


@message("assumption-broken", ContractError)
def assumption_broken(*, assumed: str, now: str = "") -> Text:
    """Say that a call breaks what the way it goes was captured for: a relation, as `n >= 2`."""
    return Text(
        headline=f"`{assumed}` does not hold{now and f': {now}'}",
        label="this line needs it",
        notes=("the program was captured for calls that satisfy it, and data led to this line",),
        helps=("ask for sizes before the condition on data: then calls are refused at once",),
    )
