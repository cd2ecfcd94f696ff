"""Pages: reports of just-in-time runs as HTML that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["page", "paragraph", "table"]

_whole_page = deferred("monograph.report.page:whole_page")


def page(title: str, parts: Sequence[str]) -> str:
    """A page of parts that are HTML already."""
    return _whole_page(title, "\n".join(parts))


def paragraph(text: str) -> str:
    """Prose."""
    return f"<p>{escape(text)}</p>"


def table(heading: str, title: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading with a table; without rows, a sentence."""
    if not rows:
        return f"<h2>{escape(heading)}</h2><p>none</p>"
    head = "".join(f"<th>{escape(each)}</th>" for each in title)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<h2>{escape(heading)}</h2>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
