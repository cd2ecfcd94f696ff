"""Restart of a recording: a region is recorded again, otherwise than before.

What a region needs is often known only when it has been run: which tensors it writes to, what a
loop carries, where its sides can be merged. Whoever finds out raises `Restart`; whoever began the
region takes the reason into account, and begins again (`restarted`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Reason = Literal[
    "copy",
    "carry",
    "track objects",
    "merge later",
    "one side",
    "no merge",
    "decide",
    "texts",
    "count",
    "one way",
    "plain",
]


class Restart(BaseException):  # no error: user code must not catch it
    """A region is to be recorded again.

    - "copy": it is about to write to a tensor from outside. `cause` is a `CopyNeeded`.
    - "carry": an iteration changed something that was not known to be carried, or asked for it.
      `cause` is the loop, if it is not the innermost one.
    - "track objects": it has to be known which objects a region made.
    - "merge later": two sides cannot be one state here, but perhaps at a later join point; `cause`
      is the refusal.
    - "one side": a side raises, so it is not recorded; `cause` are its answer and the exception.
    - "no merge": the sides end where nothing can be made of them.
    - "decide": the whole run, with comparisons of sizes that are bools.
    - "texts": the whole run, with texts of what only the run tells made at once.
    - "count": the whole run, with the ints that forward replaces as symbols; `cause` are their
      paths.
    - "one way": the whole run, going the example's way at branches on sizes.
    - "plain": the whole run, with plain numbers for C at `cause`, an instruction.
    """

    def __init__(self, reason: Reason, cause: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause


Recorded = TypeVar("Recorded")


def restarted(record: Callable[[], Recorded], prepare: Callable[[Restart], bool]) -> Recorded:
    """Record until nothing asks to record again.

    `prepare` takes the reason into account; where it is none of its business, it says False, and
    whoever records what is around takes it.
    """
    while True:
        try:
            return record()
        except Restart as restart:
            if not prepare(restart):
                raise


__all__ = ["Restart", "restarted"]
