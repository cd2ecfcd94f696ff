"""A diagnostic as lines: what, where, why, note, help; at most 25 lines, 100 columns.

Colour changes no character. What does not fit is dropped, the least needed first: callers, then
causes, then notes.
"""

from __future__ import annotations

import linecache
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from monograph.diagnostics.frames import Place, place
from monograph.diagnostics.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monograph.diagnostics.diagnostic import Cause, Diagnostic, Spot

__all__ = ["render", "render_all", "snippet"]

LINES = 25
SHORT_LINES = 12
WIDTH = 100
SNIPPET = 60
ELLIPSIS = "…"

RED, BLUE, GREEN, BOLD, PLAIN = "\x1b[1;31m", "\x1b[34m", "\x1b[32m", "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class _Budget:
    """How many callers, causes and notes one rendering shows."""

    callers: int
    causes: int
    notes: int


BUDGETS = (
    _Budget(3, 99, 99),
    _Budget(1, 99, 99),
    _Budget(1, 3, 99),
    _Budget(0, 2, 3),
    _Budget(0, 1, 1),
    _Budget(0, 0, 0),
)


@dataclass(frozen=True, slots=True)
class _Style:
    """Where lines are drawn: the width of line numbers and of the page, and whether with colour."""

    gutter: int
    width: int
    color: bool

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}{PLAIN}" if self.color and text else text

    @property
    def bar(self) -> str:
        return self.paint(f"{' ' * (self.gutter + 2)}|", BLUE)

    @property
    def arrow(self) -> str:
        return self.paint(f"{' ' * (self.gutter + 1)}-->", BLUE)


def render(
    diagnostic: Diagnostic, *, color: bool = False, width: int = WIDTH, lines: int = LINES
) -> str:
    """Return the message as text, without a final line break."""
    at = tuple(place(spot) for spot in diagnostic.at)
    causes = tuple(tuple(place(spot) for spot in cause.at[:1]) for cause in diagnostic.causes)
    shown = [*at[:1], *(spot for cause in causes for spot in cause)]
    gutter = max((len(str(spot.line)) for spot in shown), default=1)
    style = _Style(gutter, width, color)
    drawn: list[str] = []
    for budget in BUDGETS:
        drawn = _draw(diagnostic, at, causes, style, budget)
        if len(drawn) <= lines:
            return "\n".join(drawn)
    kept = drawn[: lines - 1]
    return "\n".join([*kept, f"{ELLIPSIS} {counted(len(drawn) - len(kept), 'more line')}"])


def render_all(
    diagnostics: Sequence[Diagnostic], *, color: bool = False, width: int = WIDTH
) -> str:
    """Return several messages below a headline that counts them; many are each shown short."""
    lines = LINES if len(diagnostics) <= 3 else SHORT_LINES
    head = _Style(1, width, color).paint(
        f"error: {counted(len(diagnostics), 'problem')} found", RED
    )
    return "\n\n".join(
        [head, *(render(each, color=color, width=width, lines=lines) for each in diagnostics)]
    )


def snippet(spots: Iterable[Spot]) -> str:
    """Return the source under the caret of the first spot, "" if unknown, long or broken."""
    for spot in spots:
        where = place(spot)
        if where.column is None or where.end_line != where.line:
            return ""
        text = _source(where)[where.column : where.end_column]
        return text if len(text) <= SNIPPET else ""
    return ""


def _draw(
    diagnostic: Diagnostic,
    at: tuple[Place, ...],
    causes: tuple[tuple[Place, ...], ...],
    style: _Style,
    budget: _Budget,
) -> list[str]:
    title = f"error[{diagnostic.name}]"
    lines = _wrapped(f"{title}: ", diagnostic.headline, style, "  ")
    lines[0] = style.paint(title, RED) + style.paint(lines[0][len(title) :], BOLD)
    if at:
        lines += _excerpt(at[0], diagnostic.label, style, "^")
        lines += _callers(at[1:], style, budget.callers)
    lines += _because(diagnostic.causes, causes, style, budget.causes)
    notes = diagnostic.notes[: budget.notes]
    if diagnostic.times > 1:
        notes = (*notes, f"this line is refused {diagnostic.times} times in one call of the model")
    for note in notes:
        lines += _section("note", note, style)
    for help_ in diagnostic.helps[:3]:
        lines += _section("help", help_, style)
    return lines


def _because(
    causes: tuple[Cause, ...], places: tuple[tuple[Place, ...], ...], style: _Style, most: int
) -> list[str]:
    if not causes or not most:
        return []
    lines = [style.paint("because:", BOLD)]
    for cause, where in list(zip(causes, places, strict=True))[:most]:
        if where:
            lines += _excerpt(where[0], cause.label, style, "-")
        else:
            lines += _wrapped("  ", cause.label, style, "    ")
    if len(causes) > most:
        lines.append(f"  {ELLIPSIS} and {len(causes) - most} more")
    return lines


def _callers(callers: tuple[Place, ...], style: _Style, most: int) -> list[str]:
    """Draw the calls that led here: the nearest ones, and always the outermost."""
    if len(callers) > most:
        callers = (*callers[: most - 1], callers[-1]) if most else ()
    indent = " " * (style.gutter + 1)
    return [f"{indent}called from {_location(caller)}" for caller in callers]


def _section(title: str, text: str, style: _Style) -> list[str]:
    """Draw a note or a help: its first line is prose and wrapped, those below are code and kept."""
    first, *code = text.split("\n")
    indent = " " * (len(title) + 2)
    lines = _wrapped(f"{title}: ", first, style, indent)
    lines[0] = style.paint(f"{title}:", GREEN) + lines[0][len(title) + 1 :]
    return [*lines, *(f"{indent}{line}".rstrip() for line in code)]


def _wrapped(start: str, text: str, style: _Style, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        style.width,
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [start.rstrip()]


def _location(where: Place) -> str:
    function = "" if where.function == "<module>" else f" in {where.function}"
    return f"{_shown_file(where.file)}:{where.line}{function}"


def _shown_file(file: str) -> str:
    """Return the file as seen from the current folder; a folder that is gone hides nothing."""
    try:
        return file.removeprefix(f"{Path.cwd()}{os.sep}")
    except OSError:
        return file


def _source(where: Place) -> str:
    linecache.checkcache(where.file)
    return linecache.getline(where.file, where.line).rstrip()


def _excerpt(where: Place, label: str, style: _Style, mark: str) -> list[str]:
    """Draw one place: where, the line, and a mark below its span with the label."""
    lines = [f"{style.arrow} {_location(where)}"]
    raw = _source(where)
    if not raw:
        return [*lines, f"{style.bar} {label}"] if label else lines
    start, end = _span(where, raw)
    text, start, end = _trimmed(raw, start, end, style.width - style.gutter - 4)
    number = style.paint(f" {where.line:>{style.gutter}} |", BLUE)
    lines += [style.bar, f"{number} {text}"]
    margin = " " * _cells(text[:start])
    marks = mark * _cells(text[start:end])
    below = f"{margin}{marks} {label}".rstrip() if marks else label
    if not below:
        return lines
    if marks and label and style.gutter + 4 + _cells(below) > style.width:
        return [*lines, f"{style.bar} {margin}{style.paint(marks, RED)}", f"{style.bar} {label}"]
    painted = below.replace(marks, style.paint(marks, RED), 1) if marks else below
    return [*lines, f"{style.bar} {painted}"]


def _span(where: Place, raw: str) -> tuple[int, int]:
    """Return the columns to mark on the first line of the span; none if Python kept no columns."""
    if where.column is None:
        return 0, 0
    end = len(raw)
    if where.end_line == where.line and where.end_column is not None:
        end = min(where.end_column, end)
    return min(where.column, end), end


def _trimmed(raw: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """Drop the indentation, and of a long line all but a window around the marked span."""
    indent = len(raw) - len(raw.lstrip())
    text = raw[indent:].replace("\t", " ")
    start, end = max(start - indent, 0), max(end - indent, 0)
    if len(text) <= room:
        return text, start, end
    first = 0 if end < room else max(min(start - 8, len(text) - room + 1), 0)
    last = first + room - (2 if first else 1)
    window = text[first:last]
    tail = ELLIPSIS if last < len(text) else ""
    head = ELLIPSIS if first else ""
    shift = first - len(head)
    end = min(end - shift, len(head) + len(window))
    return f"{head}{window}{tail}", start - shift, end


def _cells(text: str) -> int:
    """Return how many terminal columns the text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
