"""A pretty printer: Python source broken into lines as the usual formatters break it.

Text is given as a tree: a piece that cannot be broken, or brackets with what stands between them.
A line that is too long is opened at its outermost brackets: first with everything inside on one
line, then one argument a line, with a comma after the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 88
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Bracketed:
    """`before(inside, ...)after`; a tuple of one gets its comma."""

    before: str
    inside: tuple[Text, ...]
    brackets: str = "()"
    after: str = ""
    is_tuple: bool = False


Text = str | Bracketed


def one_line(text: Text) -> str:
    """The text without a break."""
    if isinstance(text, str):
        return text
    inside = ", ".join([one_line(each) for each in text.inside])
    comma = "," if text.is_tuple and len(text.inside) == 1 else ""
    left, right = text.brackets
    return f"{text.before}{left}{inside}{comma}{right}{text.after}"


def statement(head: str, text: Text, indent: str, comment: str = "") -> list[str]:
    """The lines of `head text`, which stand at an indentation; the comment where it fits.

    >>> statement("y = ", Bracketed("f", ("x", "2")), "", "f32[4]")
    ['y = f(x, 2)  # f32[4]']
    """
    note = f"  # {comment}" if comment else ""
    flat = f"{indent}{head}{one_line(text)}"
    if len(flat) + len(note) <= WIDTH:
        return [flat + note]
    if isinstance(text, str) or not text.inside:
        return [flat]
    if len(flat) <= WIDTH:
        return [flat]
    lines = broken(head, text, indent)
    if note and len(lines[-1]) + len(note) <= WIDTH:
        lines[-1] += note
    return lines


def broken(head: str, text: Bracketed, indent: str, ending: str = "") -> list[str]:
    """The lines of a text opened at its brackets."""
    left, right = text.brackets
    first, last = f"{indent}{head}{text.before}{left}", f"{indent}{right}{text.after}{ending}"
    deeper = indent + INDENT
    inside = ", ".join([one_line(each) for each in text.inside])
    if len(deeper) + len(inside) <= WIDTH and not text.is_tuple and left == "(":
        return [first, f"{deeper}{inside}", last]
    lines = [first]
    for each in text.inside:
        flat = f"{deeper}{one_line(each)},"
        if len(flat) <= WIDTH or isinstance(each, str) or not each.inside:
            lines.append(flat)
        else:
            lines += broken("", each, deeper, ",")
    return [*lines, last]


def name_list(names: Sequence[str]) -> str:
    """Names on the left of an assignment."""
    return f"{names[0]}," if len(names) == 1 else ", ".join(names)


__all__ = ["INDENT", "WIDTH", "Bracketed", "Text", "name_list", "one_line", "statement"]
