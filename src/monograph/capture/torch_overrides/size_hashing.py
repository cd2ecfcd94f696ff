"""Sizes as keys: what `hash(n)` answers, which torch refuses for a symbolic number.

A table looked up by a size has one answer for the example, so the size is fixed, with a guard and
the line. Installed packages are told what torch tells them: einops catches the TypeError, and goes
on without its cache.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

import monograph.bytecode
from monograph.abstract.symbols import SymbolNode
from monograph.capture.code_policy import PACKAGES
from monograph.capture.torch_overrides.tensor_literals import current_recorder

if TYPE_CHECKING:
    from collections.abc import Generator

_REAL: Final = torch.SymInt.__hash__
_OURS: Final = f"{Path(__file__).parents[1]}/"
_INTERPRETER: Final = f"{Path(monograph.bytecode.__file__).parent}/"


def _hash(number: torch.SymInt) -> int:
    recorder = current_recorder()
    if recorder is None or not isinstance(number.node, SymbolNode):
        return _REAL(number)
    file = sys._getframe(1).f_code.co_filename
    if file.startswith(_OURS) and not file.startswith(_INTERPRETER):
        return _REAL(number)
    if recorder.scopes.filter.asker(sys._getframe(1)).startswith(PACKAGES):
        return _REAL(number)
    return hash(number.node.guard_int("", 0))


@contextmanager
def hashing() -> Generator[None]:
    """Let user code look sizes up."""
    setattr(torch.SymInt, "__hash__", _hash)  # noqa: B010 - a type checker sees a method there
    try:
        yield
    finally:
        setattr(torch.SymInt, "__hash__", _REAL)  # noqa: B010
