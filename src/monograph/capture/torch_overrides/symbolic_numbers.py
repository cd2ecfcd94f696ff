"""Function overrides of symbolic numbers: hashes, and comparisons that decide at once.

What does not depend on who asks is a table: `abstract/number_methods.py`.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import SymbolNode, to_python
from monograph.capture.code_policy import INTERPRETER, OURS
from monograph.capture.installation import OVERRIDES, Overrides, listening
from monograph.capture.restart import Restart
from monograph.diagnostics import problem
from monograph.diagnostics.code_origin import is_installed

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import Frame


# --- keys --------------------------------------------------------------------------------------


@OVERRIDES.override(torch.SymInt, "__hash__")
def _hash(original: Any) -> Any:
    """`hash(n)`, which torch refuses for a symbolic number.

    A table looked up by a size has one answer for the example, so the size is fixed, with a guard
    and the line. Installed packages are told what torch tells them: einops catches the TypeError,
    and goes on without its cache.
    """

    def hash_of(number: torch.SymInt) -> int:
        if not isinstance(number.node, SymbolNode):
            return original(number)
        recorder, frame = listening(), sys._getframe(1)
        file = frame.f_code.co_filename
        if file.startswith(OURS) and not file.startswith(INTERPRETER):
            return _settled_hash(original, number)
        if recorder is None:
            return original(number)
        if is_installed(recorder.scopes.filter.asker(frame)):
            return original(number)
        return hash(number.node.guard_int("", 0))

    return hash_of


def _settled_hash(original: Any, number: torch.SymInt) -> int:
    """What is a key already was fixed when it became one."""
    value = to_python(number)
    return hash(value) if isinstance(value, int) else original(number)


# --- conditions --------------------------------------------------------------------------------

_DECIDING: Final = Overrides()


def wants_bool(error: Exception) -> bool:
    """Whether C++ was given a condition where it takes a bool.

    `keepdim=x.shape[0] > 2`, `is_causal=n > 1`: a comparison of sizes gives a `torch.SymBool`,
    which Python decides when it branches; C++ takes none for a bool, and says so with an error that
    no hook comes before. A run that ends so is made again with comparisons `deciding`.

    >>> wants_bool(TypeError("amax(): argument 'keepdim' must be bool, not SymBool"))
    True
    """
    return isinstance(error, TypeError | RuntimeError) and "SymBool" in str(error)


def check_truth(recorder: Recorder, error: Exception, at: tuple[Frame, ...]) -> None:
    """Begin the run anew, with comparisons that decide, before user code catches what C++ says.

    Raises: Restart, data-dependent-branch (they decide, and this one cannot).
    """
    if wants_bool(error):
        decided = recorder.options.decided
        raise (problem("data-dependent-branch", at=at) if decided else Restart("decide"))


def deciding(*, at_once: bool) -> AbstractContextManager[None]:
    """Comparisons of sizes give bools, if `at_once` says so: with a guard and the user's line.

    Conditions on values that depend on data stay open: `torch._check` is for them.
    """
    return _DECIDING.installed() if at_once else nullcontext()


_COMPARISONS: Final = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


@_DECIDING.override(torch.SymInt, *_COMPARISONS)
@_DECIDING.override(torch.SymFloat, *_COMPARISONS)
@_DECIDING.override(torch.SymBool, "__and__", "__or__", "__rand__", "__ror__")
def _decided(method: Any) -> Any:
    def compare(self: Any, other: Any) -> Any:
        condition = method(self, other)
        recorder = listening()
        if recorder is None or not isinstance(condition, torch.SymBool):
            return condition
        node = condition.node
        is_open = isinstance(node, SymbolNode) and not node.has_hint()
        return condition if is_open or not recorder.options.decided else bool(condition)

    return compare


__all__ = ["check_truth", "deciding", "wants_bool"]
