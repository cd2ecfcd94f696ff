"""Source locations in archives: which paths of the machine that writes a file are left in it.

Law: nothing but these paths changes, so a program that was read is the one that was written. By
default a file is named as Python finds it from its import path, `torch/nn/functional.py`, or from
the working folder; lines of source are found again by that name where the same package is.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

PathsKept = Literal["relative", "none", "all"]

UNNAMED: Final = "<source>"
_FRAME: Final = re.compile(r'(?<=File ")([^"\n]+)(?=", line )')


@dataclass(frozen=True, slots=True)
class SourcePaths:
    """How files are named, in one archive."""

    kept: PathsKept = "all"
    _names: dict[str, str] = field(default_factory=dict)

    def name(self, file: str) -> str:
        """A file's name; what lies in no file, as `<stdin>`, keeps its own."""
        found = self._names.get(file)
        if found is None:
            found = self._names[file] = self._named(file)
        return found

    def _named(self, file: str) -> str:
        if self.kept == "all" or not Path(file).is_absolute():
            return file
        return UNNAMED if self.kept == "none" else relative(file)

    def trace(self, text: str) -> str:
        """A traceback; "" where nothing is to be said of files, since it quotes their lines."""
        if self.kept == "none":
            return ""
        return _FRAME.sub(lambda found: self.name(found[1]), text)


def relative(file: str) -> str:
    """The path of a file from the nearest folder that Python imports from, or works in.

    A file outside of all of them is known by its name alone.
    """
    path, here = Path(file), Path.cwd()
    folders = {here, *(here / each for each in sys.path)}
    folders |= {each.resolve() for each in folders}
    inside = [each for each in path.parents[:-1] if each in folders]
    return path.relative_to(inside[0]).as_posix() if inside else path.name


def located(file: str) -> str:
    """Where a file of that name is that Python imports from, as absolute path; else the name."""
    return _located(file, tuple(sys.path))


@lru_cache(maxsize=4096)
def _located(file: str, folders: tuple[str, ...]) -> str:
    name = Path(file)
    if name.is_absolute() or ".." in name.parts or file.startswith("<"):
        return file
    candidates = (Path(folder).absolute() / name for folder in folders)
    # Path.is_file raises where a name is too long.
    return next((str(each) for each in candidates if os.path.isfile(each)), file)  # noqa: PTH113


__all__ = ["PathsKept", "SourcePaths", "located", "relative"]
