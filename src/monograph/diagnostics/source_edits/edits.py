"""An edit of the user's source that mends a refusal: lines to put in the place of others.

Law: what is offered as an edit was derived from the source itself, and applying it as it stands is
enough to get past the refusal.
"""

from __future__ import annotations

from dataclasses import dataclass

from monograph.diagnostics.wording import paste

__all__ = ["Edit"]


@dataclass(frozen=True, slots=True)
class Edit:
    r"""Lines `first` to `last` of a file, from 1, are replaced; none if `last` is before `first`.

    `title` says when to make it: "if it always holds, say so"; `answer` is the answer to the
    question that it states, if it does.

    >>> Edit("say so", "model.py", 2, 1, ("    check()",)).applied("def f():\n    return 1\n")
    'def f():\n    check()\n    return 1\n'
    """

    title: str
    file: str
    first: int
    last: int
    lines: tuple[str, ...]
    answer: bool | None = None

    def applied(self, source: str) -> str:
        """The source of the file with the edit made."""
        lines = source.splitlines(keepends=True)
        new = [f"{line}\n" for line in self.lines]
        return "".join([*lines[: self.first - 1], *new, *lines[max(self.last, self.first - 1) :]])

    def shown(self) -> str:
        """The edit as a help: its title, then the lines without their common indentation."""
        indent = min((len(x) - len(x.lstrip()) for x in self.lines if x.strip()), default=0)
        return paste(self.title, *[line[indent:] for line in self.lines])
