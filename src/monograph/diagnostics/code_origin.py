"""Code origin: is a file of the standard library, of an installed distribution, or the user's.

A file is of a distribution if `site-packages` or `dist-packages` is on its path, or if metadata
(`*.dist-info`, `*.egg-info`) says so: beside its package, as `pip install --target` and zipped
packages have it, or from afar, as an editable install has it. Where Python's own library lies is
asked of `sysconfig`; base interpreters keep their site-packages inside of it.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlparse

from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

# A third of what the command line needs to start is importing this.
_distributions = deferred("importlib.metadata:distributions")
_STANDARD: Final = tuple(
    {sysconfig.get_paths()[kind] + os.sep for kind in ("stdlib", "platstdlib")}
)
_SITES: Final = tuple({sysconfig.get_paths()[kind] + os.sep for kind in ("purelib", "platlib")})
_SITE_FOLDER: Final = re.compile(r"[\\/](?:site|dist)-packages[\\/]")


@functools.cache
def is_standard(file: str) -> bool:
    """Whether a file belongs to Python's own library."""
    return file.startswith(_STANDARD) and not _is_in_site(file)


@functools.cache
def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed distribution."""
    if _is_in_site(file):
        return True
    return not file.startswith("<") and not is_standard(file) and _is_distributed(file)


def standard_part(file: str) -> str | None:
    """The path inside of Python's own library, None for a file elsewhere."""
    if not is_standard(file):
        return None
    return next(file.removeprefix(root) for root in _STANDARD if file.startswith(root))


def _is_in_site(file: str) -> bool:
    return file.startswith(_SITES) or _SITE_FOLDER.search(file) is not None


def _is_distributed(file: str) -> bool:
    """Whether metadata claims the package that holds this file."""
    folders = [each for each in sys.path if each and file.startswith(each.rstrip(os.sep) + os.sep)]
    if not folders:
        return False
    folder = max(folders, key=len)
    inside = file[len(folder.rstrip(os.sep)) + 1 :]
    package = inside.partition(os.sep)[0].removesuffix(".py")
    return package in _packages_beside(folder) or package in _packages_editable_in(folder)


@functools.cache
def _packages_beside(folder: str) -> frozenset[str]:
    """What is installed into a folder, or an archive, that is on the path."""
    found: set[str] = set()
    for each in _distributions(path=[folder]):
        found.update(_packages_of(each))
    return frozenset(found)


@functools.cache
def _packages_editable_in(folder: str) -> frozenset[str]:
    """The packages of a folder whose distribution is installed so that its sources stay there."""
    for each in _distributions():
        root = _editable_root(each)
        if root is not None and (folder + os.sep).startswith(root + os.sep):
            named = set((each.read_text("top_level.txt") or "").split())
            return frozenset(named or _package_folders(folder))
    return frozenset()


def _editable_root(distribution: Distribution) -> str | None:
    """Where the sources of an editable install lie (PEP 610), None for any other."""
    text = distribution.read_text("direct_url.json")
    if not text:
        return None
    url = json.loads(text)
    if not url.get("dir_info", {}).get("editable"):
        return None
    return unquote(urlparse(url["url"]).path).rstrip(os.sep)


def _packages_of(distribution: Distribution) -> Iterator[str]:
    named = distribution.read_text("top_level.txt")
    if named is not None:
        yield from named.split()
    elif distribution.read_text("RECORD") is not None:
        yield from (file.parts[0].removesuffix(".py") for file in distribution.files or ())


def _package_folders(folder: str) -> set[str]:
    return {each.name for each in Path(folder).iterdir() if (each / "__init__.py").exists()}


__all__ = ["is_installed", "is_standard", "standard_part"]
