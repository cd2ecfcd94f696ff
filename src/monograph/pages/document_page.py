"""Pages of prose and tables, which are read from top to bottom: in the shell of all pages.

Tables are sorted by a click on a heading; a page with many rows has a field to search them.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from monograph.pages.whole_page import asset, whole_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]
    """A heading, the names of columns, and rows."""

SEARCH: Final = (
    '<p><input id="search" type="search" placeholder="search" aria-label="search the tables">'
    '<span id="count" role="status"></span></p>'
)
MANY: Final = 12
"""With more rows, a page has a search."""
MARKED: Final = {"equal": "good", "refused": "good", "different": "bad", "varies": "bad"}
"""What a cell is called that says one of these words alone."""


def document_page(title: str, body: str) -> str:
    """A page around HTML, with its title and the key for dark and light."""
    key = '<button type="button" id="theme" aria-label="dark or light">◐</button>'
    head = f"<header><h1>{escape(title)}</h1>{key}</header>"
    return whole_page(title, f"{head}\n{body}", script=asset("document.js"))


def tables_page(title: str, lead: Sequence[str], tables: Sequence[Table]) -> str:
    """A page of sentences and tables."""
    many = sum(len(rows) for _, _, rows in tables) > MANY
    return document_page(title, tables_body(lead, tables, before=SEARCH if many else ""))


def tables_body(lead: Sequence[str], tables: Sequence[Table], *, before: str = "") -> str:
    """The same without a page around it, as notebooks show it."""
    parts = [*[f"<p>{prose(each)}</p>" for each in lead], before]
    for heading, head, rows in tables:
        parts += [f"<h2>{escape(heading)}</h2>"] * bool(heading)
        parts.append(_table(head, rows) if rows else "<p>none</p>")
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """One table; cells are text."""
    names = "".join([f'<th><button type="button">{escape(each)}</button></th>' for each in head])
    body = "".join([f"<tr>{''.join([_cell(str(each)) for each in row])}</tr>" for row in rows])
    shown = f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table>{shown}</table></div>'


def _cell(text: str) -> str:
    marked = f' class="{MARKED[text]}"' if text in MARKED else ""
    return f"<td{marked}>{prose(text)}</td>"


def prose(text: str) -> str:
    """Text with what stands in backticks as code."""
    parts = text.split("`")
    return "".join(
        [
            f"<code>{escape(part)}</code>" if i % 2 and i < len(parts) - 1 else escape(part)
            for i, part in enumerate(parts)
        ]
    )


__all__ = ["SEARCH", "document_page", "prose", "tables_body", "tables_page"]
