"""Messages of `run_decompositions`: what cannot be said without writing in place.

write-through-view   views: Sequence[str], reason     UnsupportedError
not-functional       op, reason                       UnsupportedError
state-shares-memory  names: Sequence[str], replaced=False  UnsupportedError
formula-fails        op, formula, reason              UnsupportedError
lowering-loses       what                             UnsupportedError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import UnsupportedError
from monograph.diagnostics.wording import listed, offer, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


@message("write-through-view", UnsupportedError)
def write_through_view(*, views: Sequence[str], reason: object) -> Text:
    """Say that a write reaches memory in a way that no operator without writes can follow."""
    return Text(
        headline=f"this writes through a view that cannot be undone: {reason}",
        notes=(f"the view is made by {listed(views)}",),
        helps=("write to a copy, made by Tensor.clone, and put that where it belongs",),
    )


@message("not-functional", UnsupportedError)
def not_functional(*, op: object, reason: object) -> Text:
    """Say that an operator's effect has no form without writes."""
    return Text(
        headline=f"`{op}` cannot be replaced by operators that do not write: {reason}",
        helps=("use the program as it is: its graph keeps operators that write",),
    )


@message("state-shares-memory", UnsupportedError)
def state_shares_memory(*, names: Sequence[str], replaced: bool = False) -> Text:
    """Say that the program writes to state whose memory other state shares.

    `replaced`: forward gives it another tensor, which the program writes there.
    """
    first, *rest = names
    note = "without in-place operators, the write would not be seen there"
    if replaced:
        note = "forward replaces it: eager code leaves that memory as it is, a program writes there"
    return Text(
        headline=f"the program writes to {quoted(first)}, whose memory {listed(rest)} shares",
        notes=(note,),
        helps=(offer("give each its own memory", "self.register_buffer(..., tensor.clone())"),),
    )


@message("lowering-loses", UnsupportedError)
def lowering_loses(*, what: object) -> Text:
    """Say that the lowered program would differ in something else than values."""
    return Text(
        headline=f"the lowered program would not be this one: {what}",
        notes=("values would be the same; what callers can see of them beside that would not",),
        helps=("use the program as it is: its graph keeps all of this",),
    )


@message("formula-fails", UnsupportedError)
def formula_fails(*, op: object, formula: object, reason: object) -> Text:
    """Say that a user's formula does not stand for its operator; `formula` says where it is."""
    return Text(
        headline=f"your formula for `{op}` cannot take its place: {reason}",
        notes=(f"the formula is {formula}",),
        helps=(
            "return NotImplemented from it where it does not apply: the operator is kept there",
            offer("or take it out of the table", "table.pop(...)"),
        ),
    )
