"""Operator documentation: an operator's schema, our rule's law for it, and PyTorch's own words."""

from __future__ import annotations

import inspect
import re
from functools import lru_cache
from typing import Any, Final

import torch

from monograph.host.operator_types import OpOverload
from monograph.rules.registry import RULES

_PLACES: Final[tuple[Any, ...]] = (
    torch,
    torch.nn.functional,
    torch.Tensor,
    torch.special,
    torch.linalg,
)
_ROLE: Final = re.compile(r":\w+(?::\w+)?:`~?([^`<]*?)(?: <[^`]*)?`")
"""A reference in reStructuredText, of which its text is kept."""
LONGEST: Final = 600
"""So many characters of PyTorch's documentation, up to the end of a paragraph."""


@lru_cache(maxsize=4096)
def documentation(target: Any) -> dict[str, str]:
    """`schema`, `law` and `text` of what a node calls; "" where there is none."""
    if not isinstance(target, OpOverload):
        return {"name": _name(target), "schema": "", "law": "", "text": _words(target)}
    rule = RULES.find(target)
    name = target._schema.name.partition("::")[2].removesuffix("_")
    words = (_words(getattr(place, name, None)) for place in _PLACES)
    return {
        "name": str(target),
        "schema": str(target._schema),
        "law": "" if rule is None else (inspect.getdoc(rule) or "").partition("\n")[0],
        "text": next(filter(None, words), ""),
    }


def _name(target: Any) -> str:
    """A function by its name; a higher-order operator by what it is called."""
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def _words(target: Any) -> str:
    """The first paragraphs of a docstring, without the line that repeats the signature."""
    if target is None or isinstance(target, str):
        return ""
    lines = (inspect.getdoc(target) or "").strip().split("\n")
    if "->" in lines[0] or lines[0].endswith(")"):
        lines = lines[1:]
    text = ""
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        if paragraph.lstrip().startswith(".. "):  # formulas and boxes are no prose
            continue
        joined = _ROLE.sub(r"\1", " ".join(paragraph.split())).replace("``", "`")
        if text and len(text) + len(joined) > LONGEST:
            break
        text += f"\n\n{joined}" if text else joined
    return text[: 2 * LONGEST]


__all__ = ["documentation"]
