"""The page behind every name: what happened, why it is refused, an example, and it repaired.

Pages are Markdown files in `pages/`, one per name, shipped with the package; no other copy exists.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from monograph.diagnostics.spelling import nearest

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["explain", "page_names"]


def explain(name: str) -> str:
    """Return the page of this message name.

    Raises: KeyError for an unknown name; it suggests the nearest known one.

    >>> print(explain("sizes-disagree").splitlines()[0])
    # sizes-disagree
    """
    page = _folder() / f"{name}.md"
    if name in page_names():
        return page.read_text(encoding="utf-8")
    meant = nearest(name, page_names())
    hint = f"; did you mean {meant!r}?" if meant else ""
    raise KeyError(f"there is no message named {name!r}{hint}")


def page_names() -> tuple[str, ...]:
    """Return the names that have a page, sorted."""
    pages = (page.name for page in _folder().iterdir())
    return tuple(sorted(page.removesuffix(".md") for page in pages if page.endswith(".md")))


def _folder() -> Traversable:
    return files("monograph.diagnostics") / "pages"
