"""Our own builtins: a program that replaces `builtins.len` does not replace ours.

Python looks a name up in the module before it looks in the builtins, so each of our modules is
given the builtins as its own names once all of them are imported.
"""

from __future__ import annotations

import builtins
import sys

__all__ = ["keep_builtins"]


def keep_builtins(package: str) -> None:
    """Give every module of a package the builtins of now as names of its own."""
    kept = {name: value for name, value in vars(builtins).items() if not name.startswith("_")}
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for word, value in kept.items():
                vars(module).setdefault(word, value)
