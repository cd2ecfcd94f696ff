"""The page behind every name: what happened, why it is refused, an example, and it repaired.

Pages are Markdown files in `pages/`, one per name, shipped with the package; no other copy exists.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, overload

from monograph.diagnostics.spelling import nearest
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable

__all__ = ["explain", "page_names"]


_explain_call = deferred("monograph.jit.reporting:explain_call")


@overload
def explain(subject: str, /) -> str: ...


@overload
def explain(subject: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...


def explain(subject: str | Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return the page of a message name; of a function, call it and say what became of it.

    The function is called once with the other arguments, just in time: see `monograph.optimize`.
    What is returned has the graphs, the graph breaks with their lines, and the guards; `str` of it
    is for people, `to_json()` for tools.

    Raises: KeyError for an unknown name; it suggests the nearest known one.

    >>> print(explain("sizes-disagree").splitlines()[0])
    # sizes-disagree
    """
    if not isinstance(subject, str):
        return _explain_call(subject, *args, **kwargs)
    return _page(subject)


def _page(name: str) -> str:
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
