"""A repair is what a declaration of sizes should be: as a value, as fixes, and as source.

Only `dims` knows what the value is; here it is carried, and printed at the end of a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.diagnostics.rendering import ELLIPSIS, WIDTH
from monograph.diagnostics.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Repair"]

_MOST = 12
"""Lines that one part of a repair takes; the value has all of it."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The repaired declaration, what changed in it by name, and the lines that write it."""

    value: object
    suggestions: Mapping[str, str]
    source: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        r"""The end of a message.

        >>> print("\n".join(Repair(None, {"d1": "4"}, ('dynamic_shapes={"x": (4,)}',)).lines()))
        suggested fixes:
          d1 = 4
        with them, the declaration is (`.suggested_dynamic_shapes` of this error):
          dynamic_shapes={"x": (4,)}
        """
        fixes = [f"  {name} = {text}" for name, text in self.suggestions.items()]
        title = "with them, the declaration is (`.suggested_dynamic_shapes` of this error):"
        source = [f"  {line}" for line in self.source]
        return ["suggested fixes:", *_short(fixes), *([title, *_short(source)] if source else [])]


def _short(lines: list[str]) -> list[str]:
    cut = [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}{ELLIPSIS}" for line in lines]
    if len(cut) <= _MOST:
        return cut
    return [*cut[: _MOST - 1], f"  {ELLIPSIS} {counted(len(cut) - _MOST + 1, 'more line')}"]
