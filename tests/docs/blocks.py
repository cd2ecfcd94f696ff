"""Runs the code blocks of a Markdown page, and writes down what they print.

A page is one program: its `python` blocks run in order, in one namespace and a folder of their own.
What a block prints stands in the `text` block below it, where `...` is anything. A block with
`title="model.py"` is written to that file instead of being run. A `console` block has commands
after `$`, and below each what it prints.

By hand: `python -W ignore -m tests.docs.blocks docs/guides/sizes.md` rewrites what is printed.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import os
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import torch
from typer.testing import CliRunner

from tests.repo.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')
INSTALLED = re.compile(r"/\S*(?=/site-packages/)|" + re.escape(f"{ROOT}/src") + "(?=/)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FOLDERS = ("errors", "exportdb", "decisions", "reference")
"""Generated pages, whose code is run by the tests of what they are generated from; and notes."""


@dataclass(slots=True)
class Block:
    """A fenced block: its language, the rest of its first line, its text, and where it stands."""

    language: str
    info: str
    body: str
    start: int
    end: int
    line: int
    shown: Block | None = None

    @property
    def file(self) -> str | None:
        """The file that it is written to."""
        found = TITLE.search(self.info)
        return found[1] if found else None


@dataclass(slots=True)
class Page:
    """A page with its blocks."""

    path: Path
    text: str = field(init=False)
    blocks: list[Block] = field(init=False)

    def __post_init__(self):
        """Read it."""
        self.text = self.path.read_text(encoding="utf-8")
        self.blocks = blocks(self.text)


def pages() -> list[Path]:
    """Every page that is written by hand and has code."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [each for each in found if each.parent.name not in FOLDERS]


def blocks(text: str) -> list[Block]:
    """The blocks of a page; a `text` block right below a `python` block belongs to it."""
    found: list[Block] = []
    for match in FENCE.finditer(text):
        language, _, info = match["info"].partition(" ")
        line = text.count("\n", 0, match.start()) + 1
        block = Block(language, info, match["body"], match.start(), match.end(), line)
        above = found[-1] if found else None
        if (
            language == "text"
            and above is not None
            and above.language == "python"
            and above.shown is None
            and not text[above.end : block.start].strip()
        ):
            above.shown = block
        found.append(block)
    return found


@contextlib.contextmanager
def surroundings() -> Iterator[Path]:
    """A folder to run in, which modules are imported from; both are left as they were."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        modules, settings = {*sys.modules}, {"NO_COLOR": "1", "COLUMNS": "100"}
        with (
            mock.patch.object(sys, "path", [folder, *sys.path]),
            mock.patch.dict(os.environ, settings),
        ):
            yield Path(folder)
        for name in {*sys.modules} - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                del sys.modules[name]


def run(page: Page) -> list[tuple[Block, str]]:
    """Each block that prints, or shows what is printed, with what it prints."""
    printed, namespace, n_lines = [], {"__name__": "page"}, 0
    name = f"{page.path.stem}.py"
    torch.manual_seed(0)
    python = [each for each in page.blocks if each.language == "python" and each.file is None]
    source = "".join(each.body for each in python)
    with surroundings() as folder:
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        for block in page.blocks:
            if block.file is not None:
                (folder / block.file).write_text(block.body, encoding="utf-8")
            elif block.language == "python":
                out = io.StringIO()
                code = compile("\n" * n_lines + block.body, name, "exec", dont_inherit=True)
                with contextlib.redirect_stdout(out):
                    exec(code, namespace)
                n_lines += block.body.count("\n")
                printed.append((block, clean(out.getvalue(), folder)))
            elif block.language == "console":
                printed.append((block, clean(session(block.body), folder)))
    return printed


def session(shown: str) -> str:
    """The commands of a `console` block, each with what it prints today."""
    from monograph.cli.commands import app  # noqa: PLC0415 - most pages have no commands

    parts = []
    for command in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        program, *arguments = shlex.split(command)
        assert program == "monograph", command
        output = CliRunner().invoke(app, arguments, catch_exceptions=False).output
        parts.append(f"$ {command}\n{output}")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def clean(text: str, folder: Path) -> str:
    """Without names of folders of this machine, and without spaces at the ends of lines."""
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    text = INSTALLED.sub("...", text.replace(f"{folder}{os.sep}", ""))
    text = text.replace(f"PyTorch {torch.__version__}", "PyTorch 2.13.0+cpu")
    return text.strip("\n") + "\n" if text.strip() else ""


def is_as_shown(block: Block, printed: str) -> bool:
    """Whether the page shows what is printed."""
    shown = block.body if block.language == "console" else block.shown.body if block.shown else ""
    return doctest.OutputChecker().check_output(shown, printed, FLAGS)


def accept(path: Path) -> None:
    """Write what is printed today into a page, where it differs."""
    page = Page(path)
    edits: list[tuple[int, int, str]] = []
    for block, printed in run(page):
        if is_as_shown(block, printed):
            continue
        if block.language == "console":
            edits.append((block.start, block.end, f"```console\n{printed}```"))
        elif block.shown is None:
            edits.append((block.end, block.end, f"\n\n```text\n{printed}```"))
        else:
            edits.append((block.shown.start, block.shown.end, f"```text\n{printed}```"))
    text = page.text
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        accept(Path(each))
