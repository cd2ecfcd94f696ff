"""How values are put into sentences: the same way in every message."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Advice",
    "as_advice",
    "counted",
    "dim_source",
    "interval",
    "is_code",
    "listed",
    "named",
    "offer",
    "paste",
    "quoted",
]


def quoted(value: object) -> str:
    """Return the value as a sentence shows it: numbers bare, everything else in backticks.

    >>> quoted(3), quoted("batch")
    ('3', '`batch`')
    """
    text = str(value)
    return text if text.removeprefix("-").isdigit() else f"`{text}`"


def named(source: str) -> str:
    """Return what a value is called: code in backticks, words as they are.

    >>> named("x.sum()"), named("the number of nonzero elements")
    ('`x.sum()`', 'the number of nonzero elements')
    """
    return f"`{source}`" if is_code(source) else source


def is_code(source: str) -> bool:
    """Tell whether this is an expression of Python, not words that name a value."""
    try:
        ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def listed(values: Iterable[object], last: str = "and") -> str:
    """Return the values quoted, with commas and a last word.

    >>> listed(["x", "y", "z"])
    '`x`, `y` and `z`'
    """
    texts = [quoted(value) for value in values]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "dimension"), counted(3, "dimension")
    ('1 dimension', '3 dimensions')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def dim_source(name: object, ends: str = "") -> str:
    """Return a Dim as it is written; an anonymous size, named by where it comes from, becomes `n`.

    >>> dim_source("batch", "min=1"), dim_source("x.shape[0]")
    ('Dim("batch", min=1)', 'Dim("n")')
    """
    text = str(name) if str(name).isidentifier() else "n"
    return f'Dim("{text}", {ends})' if ends else f'Dim("{text}")'


def interval(lower: object, upper: object) -> str:
    """Return a range of sizes; an upper end of None is open.

    >>> interval(1, 8), interval(2, None)
    ('1 … 8', '2 and more')
    """
    return f"{lower} and more" if upper is None else f"{lower} … {upper}"


class Advice(str):
    """A help that offers code, which parses: a text that knows what of it is `code`.

    Where something is to be filled in, the code has `...`.
    """

    __slots__ = ("code",)
    code: str


def offer(prose: str, code: str) -> Advice:
    """Return a help that ends with code on its line.

    >>> offer("declare it", 'Dim("n")'), offer("declare it", 'Dim("n")').code
    ('declare it: Dim("n")', 'Dim("n")')
    """
    advice = Advice(f"{prose}: {code}")
    advice.code = code
    return advice


def as_advice(text: str) -> str:
    """Return a help of which what follows a colon is offered, if that is code.

    >>> as_advice("draw it with PyTorch: torch.rand(())").code
    'torch.rand(())'
    """
    for match in re.finditer(": ", text):
        prose, code = text[: match.start()], text[match.end() :]
        if _has_code(code):
            return offer(prose, code)
    return text


def _has_code(text: str) -> bool:
    """Tell whether these are statements of Python that do more than name things."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(each, ast.Call | ast.Assign) for each in ast.walk(tree))


def paste(prose: str, *code: str) -> Advice:
    """Return a help whose edit is lines of code: the prose, then the lines below it.

    >>> print(paste("say so", "torch._check(n > 0)"))
    say so:
    torch._check(n > 0)
    """
    advice = Advice("\n".join([f"{prose}:", *code]))
    advice.code = "\n".join(code)
    return advice
