"""An edit of the user's source that mends a refusal: lines to put in the place of others.

Law: what is offered as an edit was derived from the source itself, and applying it as it stands is
enough to get past the refusal.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Final

from monograph.diagnostics.wording import paste

__all__ = ["Edit"]

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


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
        """The source of the file with the edit made; its line ends stay as they are."""
        lines = io.StringIO(source, newline="").readlines()  # where Python's tokenizer ends them
        before, after = lines[: self.first - 1], lines[max(self.last, self.first - 1) :]
        ends = [found[0] for line in (*before, *after) if (found := _LINE_END.search(line))]
        end = ends[max(len(before) - 1, 0)] if len(ends) > len(before) else (*ends, "\n")[0]
        if before and not _LINE_END.search(before[-1]):
            before[-1] += end
        text = "".join([*before, *[f"{line}{end}" for line in self.lines], *after])
        is_whole = not source or after or _LINE_END.search(source[-1])
        return text if is_whole else text.removesuffix(end)

    @property
    def narrows(self) -> bool:
        """Whether it states something of all inputs, that others then do not fulfil."""
        return self.answer is not None or self.title.startswith("if ")

    def shown(self) -> str:
        """The edit as a help: its title, then the lines without their common indentation."""
        indent = min((len(x) - len(x.lstrip()) for x in self.lines if x.strip()), default=0)
        lines = [line[indent:] for line in self.lines]
        while lines and not lines[0]:
            lines.pop(0)
        return paste(self.title, *lines)
