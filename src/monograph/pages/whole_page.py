"""The HTML shell of every page: one file with its style sheet and scripts, that loads nothing.

The page's policy forbids it to load anything, so that it can be mailed and kept.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Final

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@lru_cache
def asset(name: str) -> str:
    """The text of a file of `pages/assets`."""
    return files("monograph.pages").joinpath("assets", name).read_text(encoding="utf-8")


def whole_page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """A page around a body of HTML: the common style sheet first, then what is this page's own."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>{escape(title)}</title><style>{asset('page.css')}{style}</style></head><body>",
            body,
            f"<script>{script}</script></body></html>",
            "",
        ]
    )


__all__ = ["POLICY", "asset", "whole_page"]
