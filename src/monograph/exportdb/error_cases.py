"""ExportDB cases of error names: the two programs on a name's page, run from there.

The first is refused under the name, and the repaired one works. Both are whole, so that what no
model alone shows is a case, too: a declaration, a call, a file.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import tempfile
from dataclasses import dataclass
from typing import Any, Final, Literal

from monograph.diagnostics import explain

_PROGRAMS: Final = re.compile(
    r"^```python (fails|repaired)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE
)
_TAGS: Final = re.compile(r"^Tags: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """A program that is refused under the case's name, and it repaired; `source` and `rewrite`.

    Both are "" where no program is known to be refused so. What is about files, calls or tools has
    no tags.
    """

    name: str
    text: str
    tags: tuple[str, ...]
    source: str
    rewrite: str
    support: Literal["refused"] = "refused"

    @property
    def error(self) -> str:
        """What it is refused under."""
        return self.name

    @property
    def page(self) -> str:
        """Where the documentation shows it."""
        return f"docs/errors/{self.name}.md"

    def export(self, *, rewritten: bool = False) -> Any:
        """Run the program, or it repaired, in a folder of its own; give what its last line does.

        Raises: the error of its name, unless repaired; ValueError, where no program is known.
        """
        source = self.rewrite if rewritten else self.source
        if not source:
            raise ValueError(f"no program is known that is refused as {self.name}")
        file = f"{self.name}.py"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        *body, last = ast.parse(source, file).body
        names: dict[str, Any] = {"__name__": self.name}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            exec(compile(ast.Module(body, []), file, "exec"), names)  # noqa: S102  (our own page)
            if isinstance(last, ast.Expr):
                return eval(compile(ast.Expression(last.value), file, "eval"), names)  # noqa: S307
            return exec(compile(ast.Module([last], []), file, "exec"), names)  # noqa: S102


def error_case(name: str) -> ErrorCase:
    """Read the page of an error name."""
    page = explain(name)
    what = " ".join(page.partition("## What happened")[2].partition("\n## ")[0].split())
    programs: dict[str, str] = dict(_PROGRAMS.findall(page))
    tags = _TAGS.search(page)
    return ErrorCase(
        name,
        re.split(r"(?<=\.) (?=[A-Z`])", what)[0],
        tuple(tags[1].split(", ")) if tags else (),
        programs.get("fails", ""),
        programs.get("repaired", ""),
    )


__all__ = ["ErrorCase", "error_case"]
