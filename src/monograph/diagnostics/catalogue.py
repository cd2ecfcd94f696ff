"""The names a message can have, and the function that words each of them.

A message is one decorated function in a family file; the decorator refuses a name in use, a name
that is not kebab-case, and facts that are not keyword-only. Facts are values: strings already
worded, or objects with a `str`. A template that takes `here` receives the source text under the
caret ("" if unknown) unless the caller gives one; one that takes `where`, the innermost place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from monograph.diagnostics.diagnostic import Text

if TYPE_CHECKING:
    from types import CodeType

    from monograph.diagnostics.errors import MonographError

__all__ = ["Entry", "entries", "find_entry", "message"]

Template = TypeVar("Template", bound=Callable[..., Text])

KEBAB_CASE = re.compile(r"[a-z]+(-[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One name: its exception, the function that words it, and the facts that function takes."""

    name: str
    error: type[MonographError]
    template: Callable[..., Text]
    facts: tuple[str, ...]


_ENTRIES: dict[str, Entry] = {}


def message(name: str, error: type[MonographError]) -> Callable[[Template], Template]:
    """Enter the function below into the catalogue under `name`."""

    def enter(template: Template) -> Template:
        code = template.__code__
        if not KEBAB_CASE.fullmatch(name):
            raise ValueError(f"the message name {name!r} is not kebab-case")
        known = _ENTRIES.get(name)
        if known is not None and not _same_source(known.template.__code__, code):
            raise ValueError(f"there are two messages named {name!r}")
        if code.co_argcount:
            raise ValueError(f"the facts of {name!r} must be keyword-only")
        facts = code.co_varnames[: code.co_kwonlyargcount]
        _ENTRIES[name] = Entry(name, error, template, facts)
        return template

    return enter


def _same_source(one: CodeType, other: CodeType) -> bool:
    """Tell whether a template is entered again because its file was imported again."""
    origin = (one.co_filename, one.co_firstlineno)
    return origin == (other.co_filename, other.co_firstlineno)


def find_entry(name: str) -> Entry | None:
    """Return the entry of this name, or None."""
    return _ENTRIES.get(name)


def entries() -> tuple[Entry, ...]:
    """Return every entry, sorted by name."""
    return tuple(_ENTRIES[name] for name in sorted(_ENTRIES))
