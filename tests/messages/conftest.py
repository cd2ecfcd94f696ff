"""Golden messages: each `<name>.md` is a program, the problem found in it, and the exact message.

`<name>.<more>.md` is another program with a problem of that name.

A file holds one fence `python program`, compiled under the name `model.py`, and pairs of a fence
`python problem` (an expression that makes the exception) with the fence `text` it renders to. In
the expression `at("left + right")` is the place of that source text; several texts are a chain of
calls, innermost first. `pytest tests/messages --accept` rewrites the `text` fences.

A fence `python export` instead is run with the program: what it raises is the problem.

Law: what a help offers as code parses, and a help without code has none in its prose. Where there
is an export, each edit is applied to the program as it stands, and then it exports.
"""

from __future__ import annotations

import ast
import linecache
import re
from typing import TYPE_CHECKING

import pytest

from monograph import diagnostics
from tests.goldens import compared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = re.compile(r"```python program\n(.*?)```", re.DOTALL)
PAIR = re.compile(r"```python (problem|export)\n(.*?)```\n\n```text\n(.*?)\n?```", re.DOTALL)
CODE = re.compile(r"\w\(|\w\[|[^=]=[^=]|\w\.[a-z_]+\(|^\.|[\"@]")
"""What is no prose; names such as `torch.where` are."""
FILE = "model.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--accept`."""
    parser.addoption("--accept", action="store_true", help="rewrite golden files")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect every golden message."""
    if file_path.suffix == ".md":
        return Golden.from_parent(parent, path=file_path)
    return None


class Golden(pytest.File):
    """One golden file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the file as one test named as the message."""
        yield Message.from_parent(self, name=self.path.stem)


class Message(pytest.Item):
    """The message of one golden file is exactly the text it shows."""

    def runtest(self) -> None:
        """Render each problem; compare, or rewrite when accepting."""
        text = self.path.read_text(encoding="utf-8")
        program = found[1] if (found := PROGRAM.search(text)) else ""
        assert PAIR.search(text), f"{self.path} shows no problem"
        expected = PAIR.sub(lambda pair: self._shown(program, pair[1], pair[2]), text)
        if self.config.getoption("--accept", default=False):
            self.path.write_text(expected, encoding="utf-8")
        assert compared(self.path.read_text(encoding="utf-8")) == compared(expected)

    def _shown(self, program: str, kind: str, expression: str) -> str:
        message = self._rendered(program, kind, expression)
        return f"```python {kind}\n{expression}```\n\n```text\n{message}\n```"

    def _rendered(self, program: str, kind: str, expression: str) -> str:
        if kind == "export":
            error = _raised(program, expression)
            for edit in error.diagnostic.edits:
                assert edit.shown() in error.diagnostic.helps
                after = _raised(edit.applied(program), expression)
                assert after is None, f"after {edit.shown()}\n{after}"
            _remember(program)
        else:
            names = {name: getattr(diagnostics, name) for name in diagnostics.__all__}
            names["at"] = lambda *texts: tuple(_place(program, text) for text in texts)
            _remember(program)
            error = eval(expression.strip(), names)
        assert error.diagnostic.name == self.name.partition(".")[0]
        for each in error.problems:
            check_helps(each.diagnostic.helps)
        shown = str(error)
        lines = shown.split("\n")
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 100
        return shown


def check_helps(helps: tuple[str, ...]) -> None:
    """Code that is offered parses, and prose is free of it."""
    for each in helps:
        code = getattr(each, "code", None)
        if code is None and not each.startswith("pip install"):
            prose = re.sub(r"`[^`]*`", "", each)
            assert not CODE.search(prose), f"code in prose: {each}"
        elif code is not None:
            ast.parse(f"{code}\n    pass" if code.endswith(":") else code)


def _raised(program: str, expression: str) -> diagnostics.MonographError | None:
    """What the export of a program raises."""
    _remember(program)
    names: dict[str, object] = {"__name__": "model"}
    exec(compile(program, FILE, "exec"), names)
    try:
        eval(expression.strip(), names)
    except diagnostics.MonographError as error:
        return error
    return None


def _remember(program: str) -> None:
    linecache.cache[FILE] = (len(program), None, program.splitlines(keepends=True), FILE)


def _place(program: str, text: str) -> diagnostics.Place:
    """Find the first span of this source text, and the function around it."""
    assert text in program, f"{text!r} is not in the program"
    before = program[: program.index(text)]
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n") - 1
    function = ".".join(_enclosing(ast.parse(program), line)) or "<module>"
    return diagnostics.Place(FILE, line, line, column, column + len(text), function)


def _enclosing(node: ast.AST, line: int) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        is_scope = isinstance(child, ast.ClassDef | ast.FunctionDef)
        if is_scope and child.lineno <= line <= (child.end_lineno or line):
            yield child.name
            yield from _enclosing(child, line)
