"""Rendering: the look of a message, and that it always fits the page."""

from __future__ import annotations

import linecache
import os
import re

import pytest

from monograph.diagnostics import Cause, Diagnostic, Place, render, render_all
from monograph.diagnostics.rendering import snippet

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def source():
    """Give linecache the lines of a file that is not there."""
    files = []

    def write(text: str, file: str = "model.py") -> str:
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        files.append(file)
        return file

    yield write
    for file in files:
        linecache.cache.pop(file, None)


STYLE = """\
error[sizes-disagree]: dimension 0 of `left + right` is `batch` on one side and 2 on the other
   --> model.py:19 in Model.forward
    |
 19 | return (left + right)
    |         ^^^^^^^^^^^^ here
because:
   --> model.py:17 in Model.forward
    |
 17 | left = x.view('batch', 4)
    |        ------------------ left operand: [batch, 4]
   --> model.py:18 in Model.forward
    |
 18 | right = y.view(2, 4)
    |         ------------ right operand: [2, 4]
note: `batch` was declared in `dynamic_shapes["x"][0]` with range 1 … 1024
help: if `batch` is always 2, declare it fixed: dynamic_shapes={"x": None}
help: otherwise make the right operand follow `x`: y.expand(x.shape[0], 4)"""


def test_the_look_of_the_style_guide(source) -> None:
    """A message with every part looks as the style guide shows it."""
    lines = ["left = x.view('batch', 4)", "right = y.view(2, 4)", "return (left + right)"]
    file = source("\n" * 16 + "\n".join(f"        {line}" for line in lines) + "\n")
    where = "Model.forward"
    message = Diagnostic(
        name="sizes-disagree",
        headline="dimension 0 of `left + right` is `batch` on one side and 2 on the other",
        at=(Place(file, 19, 19, 16, 28, where),),
        label="here",
        causes=(
            Cause((Place(file, 17, 17, 15, 33, where),), "left operand: [batch, 4]"),
            Cause((Place(file, 18, 18, 16, 28, where),), "right operand: [2, 4]"),
        ),
        notes=('`batch` was declared in `dynamic_shapes["x"][0]` with range 1 … 1024',),
        helps=(
            'if `batch` is always 2, declare it fixed: dynamic_shapes={"x": None}',
            "otherwise make the right operand follow `x`: y.expand(x.shape[0], 4)",
        ),
    )
    assert render(message) == STYLE
    assert ANSI.sub("", render(message, color=True)) == STYLE
    assert render(message, color=True) != STYLE


def test_without_source_only_the_place() -> None:
    """A file that is gone is named; nothing is drawn."""
    here = Place("gone.py", 3, 3, 0, 4, "f")
    assert render(Diagnostic("x", "y", at=(here,))) == "error[x]: y\n  --> gone.py:3 in f"
    labelled = render(Diagnostic("x", "y", at=(here,), label="here"))
    assert labelled == "error[x]: y\n  --> gone.py:3 in f\n   | here"


def test_without_columns_no_caret(source) -> None:
    """A line without columns is shown without marks; its label stays."""
    here = Place(source("a = 1\n"), 1, 1, None, None, "<module>")
    head = "error[x]: y\n  --> model.py:1\n   |\n 1 | a = 1"
    assert render(Diagnostic("x", "y", at=(here,))) == head
    assert render(Diagnostic("x", "y", at=(here,), label="here")) == f"{head}\n   | here"


def test_span_of_several_lines_is_marked_on_its_first(source) -> None:
    """Of an expression over lines the first is marked to its end."""
    here = Place(source("a = f(\n    1,\n)\n"), 1, 3, 4, 1, "<module>")
    assert render(Diagnostic("x", "y", at=(here,))).endswith(" 1 | a = f(\n   |     ^^")


@pytest.mark.parametrize("start", [0, 30, 150, 300])
def test_long_lines_are_trimmed_around_the_caret(source, start: int) -> None:
    """Whatever the column, the marked text is in sight and above its carets."""
    text = "x" * start + "MARK" + "y" * 200
    here = Place(source(f"    {text}\n"), 1, 1, start + 4, start + 8, "f")
    *_, shown, carets = render(Diagnostic("x", "y", at=(here,), label="here")).split("\n")
    assert len(shown) <= 100
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "MARK"
    assert carets.endswith("^^^^ here")


def test_a_span_longer_than_the_page_is_cut(source) -> None:
    """A span that does not fit is marked as far as it goes, and the label moves below."""
    here = Place(source(f"    a = {'x' * 300}\n"), 1, 1, 8, 308, "f")
    *_, shown, carets, label = render(Diagnostic("x", "y", at=(here,), label="here")).split("\n")
    assert max(len(shown), len(carets)) <= 100
    assert label == "   | here"


def test_wide_letters_keep_the_carets_below(source) -> None:
    """Letters that take two columns move the carets by two."""
    here = Place(source('a = "数", f()\n'), 1, 1, 9, 12, "<module>")
    assert render(Diagnostic("x", "y", at=(here,))).endswith("   |           ^^^")


def test_tabs_count_as_one_column(source) -> None:
    """A tab inside a line is drawn as one space."""
    here = Place(source("\ta\t= f()\n"), 1, 1, 5, 8, "<module>")
    assert render(Diagnostic("x", "y", at=(here,))).endswith(" 1 | a = f()\n   |     ^^^")


def chain(file: str, count: int) -> tuple[Place, ...]:
    """Return a chain of calls."""
    return tuple(Place(file, 1, 1, 0, 1, f"f{i}") for i in range(count))


@pytest.mark.parametrize("callers", [0, 1, 5])
@pytest.mark.parametrize("causes", [0, 1, 4, 40])
@pytest.mark.parametrize("notes", [0, 3, 40])
def test_never_more_than_25_lines(source, callers: int, causes: int, notes: int) -> None:
    """Whatever there is to say, it is said on 25 lines, and the helps stay."""
    file = source("a = 1\n")
    message = Diagnostic(
        "x",
        "y",
        at=chain(file, 1 + callers),
        causes=tuple(Cause(chain(file, 1), f"cause {i}") for i in range(causes)),
        notes=tuple(f"note {i}" for i in range(notes)),
        helps=("one", "two", "three", "four"),
    )
    lines = render(message).split("\n")
    assert len(lines) <= 25
    assert lines[-3:] == ["help: one", "help: two", "help: three"]


def test_a_long_help_is_cut_last() -> None:
    """Code of more lines than the page is cut, and the cut is said."""
    lines = render(Diagnostic("x", "y", helps=("\n".join(["write:"] * 40),))).split("\n")
    assert len(lines) == 25
    assert lines[-1] == "… 17 more lines"


def test_callers_are_the_nearest_and_the_outermost(source) -> None:
    """Of a long chain of calls the two nearest and the first are shown."""
    shown = render(Diagnostic("x", "y", at=chain(source("a = 1\n"), 9))).split("\n")
    assert [line.split()[-1] for line in shown if "called from" in line] == ["f1", "f2", "f8"]


def test_prose_is_wrapped_and_code_is_not() -> None:
    """The first line of a help wraps; the code below it is kept as it is."""
    code = "f(" + ", ".join(["argument"] * 12) + ")"
    lines = render(Diagnostic("x", "y", helps=("word " * 30 + "\n" + code,))).split("\n")
    assert lines[-1] == f"      {code}"
    assert max(map(len, lines[:-1])) <= 100


def test_files_are_seen_from_the_current_folder(source, monkeypatch, tmp_path) -> None:
    """A file below the current folder is shown without it; a folder that is gone does no harm."""
    monkeypatch.chdir(tmp_path)
    inside = Diagnostic("x", "y", at=(Place(str(tmp_path / "a" / "m.py"), 3, 3, 0, 1, "f"),))
    assert render(inside).endswith(f"--> a{os.sep}m.py:3 in f")
    monkeypatch.setattr("pathlib.Path.cwd", lambda: (_ for _ in ()).throw(FileNotFoundError))
    assert str(tmp_path) in render(inside)


def test_a_group_counts_its_messages() -> None:
    """Several messages follow a headline that counts them."""
    text = render_all([Diagnostic("a", "b"), Diagnostic("c", "d")])
    assert text == "error: 2 problems found\n\nerror[a]: b\n\nerror[c]: d"


def test_a_large_group_shows_each_short(source) -> None:
    """Of more than three messages each takes twelve lines at most."""
    file = source("a = 1\n")
    causes = tuple(Cause(chain(file, 1), "cause") for _ in range(9))
    long = Diagnostic("a", "b", at=chain(file, 2), causes=causes)
    parts = render_all([long] * 4).split("\n\n")
    assert [len(part.split("\n")) <= 12 for part in parts] == [True] * 5


def test_snippet_is_short_source_on_one_line(source) -> None:
    """The text under the caret is quoted where it is known, short, and on one line."""
    file = source("left + right\n" + "x" * 90 + "\n")
    assert snippet([Place(file, 1, 1, 0, 12, "f")]) == "left + right"
    assert snippet([Place(file, 2, 2, 0, 90, "f")]) == ""
    assert snippet([Place(file, 1, 2, 0, 3, "f")]) == ""
    assert snippet([Place(file, 1, 1, None, None, "f")]) == ""
    assert snippet([Place("gone.py", 1, 1, 0, 3, "f")]) == ""
    assert snippet([]) == ""
