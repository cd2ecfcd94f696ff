"""Versions that were verified, and the self-check of private names of PyTorch on others.

Every private name that is leant on stands in a file of this folder, so the files are the list:
the check reads them, and looks up each import and each path below `torch` that they write.
"""

from __future__ import annotations

import ast
import importlib
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

VERIFIED: Final = ("2.13", "2.14", "2.15")
"""Tests were run on each: all on 2.13, most on 2.14 (decision 0039), some on 2.15 (0040)."""


def is_free_threaded() -> bool:
    """Whether this Python was built to run without the global interpreter lock."""
    return "free-threading" in sys.version


def version() -> str:
    """The major and minor version of PyTorch, as `2.13`."""
    return ".".join(torch.__version__.split(".")[:2])


def assigned_numbers_fill() -> bool:
    """Whether `t[:] = 1` fills; before 2.15 it copies, which is refused to shared elements."""
    return tuple(map(int, version().split("."))) >= (2, 15)


def unresolved() -> list[str]:
    """The names of torch's, public or private, that files of this folder use and that are gone."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    names = {name for file in files for name in _names(ast.parse(file.read_text("utf-8")))}
    return sorted(f"{module}.{path}" for module, path in names if not _is_there(module, path))


def warn_if_unverified() -> None:
    """Say once, in a version that was not verified, so and which names it lacks."""
    if is_free_threaded():
        text = (
            "monograph was not verified on a free-threaded build of Python: nothing is known of "
            "captures beside other threads. `monograph doctor` tries a program in one."
        )
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    if version() in VERIFIED:
        return
    gone = unresolved()
    lacks = f"; it lacks {', '.join(gone)}" if gone else "; every name that it uses is there"
    text = (
        f"monograph was verified on PyTorch {' and '.join(VERIFIED)}, not on {torch.__version__}"
        f"{lacks}. `monograph doctor` tries more."
    )
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each import from torch, and each path of attributes that begins with what was imported."""
    known = {"torch": ("torch", "")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for each in node.names:
                known[each.asname or each.name] = name = (node.module or "", each.name)
                yield name
    for node in ast.walk(tree):
        path = _path(node)
        if path and path[0] in known:
            module, name = known[path[0]]
            yield module, ".".join(filter(None, (name, *path[1:])))


def _path(node: ast.AST) -> list[str]:
    """The names of `a.b.c`; empty where it does not begin with a name."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    return [node.id, *reversed(path)] if isinstance(node, ast.Name) and path else []


def _is_there(module: str, path: str) -> bool:
    """Whether a path of attributes of a module leads to something, or to a module below it."""
    try:
        value: Any = importlib.import_module(module)
        for each in path.split("."):
            if isinstance(value, ModuleType) and not hasattr(value, each):
                value = importlib.import_module(f"{value.__name__}.{each}")
            else:
                value = getattr(value, each)
    except (AttributeError, ImportError):
        return False
    return True


__all__ = ["VERIFIED", "is_free_threaded", "unresolved", "version", "warn_if_unverified"]
