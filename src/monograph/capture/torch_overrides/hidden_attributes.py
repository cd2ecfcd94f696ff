"""Hidden attributes: what abstract values have for a capture, and what they stand for has not.

Law: user code that asks a tensor or a number for an attribute by name is answered as in eager code.
The classes say which names are ours: those that the class of what they stand for does not have.
"""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.number_methods import STANDS_FOR
from monograph.abstract.tensor import AbstractTensor, StaticTensor, SymbolicTensor
from monograph.bytecode import MISSING
from monograph.capture.code_policy import is_library
from monograph.capture.torch_overrides.number_classes import class_of
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

_STANDS_FOR: Final[Mapping[type, type]] = {
    **STANDS_FOR,
    StaticTensor: torch.Tensor,
    SymbolicTensor: torch.Tensor,
}
_HIDDEN: Final = {
    kind: frozenset([*dir(kind), "node"]).difference(dir(shown))
    for kind, shown in _STANDS_FOR.items()
}
OF_TENSORS: Final = _HIDDEN[StaticTensor] | _HIDDEN[SymbolicTensor]
NAMES: Final = frozenset({"__class__"}).union(*_HIDDEN.values())
"""The names that are answered by `as_told`, of some object."""


_SETS: Final = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_ASKS: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def as_told(owner: Any, name: str, found: Any, file: str = "") -> Any:
    """What user code is told of one of `NAMES`, where Python found something.

    `file` is that of the code that asks.
    Raises: AttributeError (it is ours, and the code is no library's).
    """
    if name == "__class__":
        return class_of(owner) if isinstance(owner, AbstractTensor) else found
    if name in _HIDDEN.get(type(owner), ()) and not is_library(file):
        raise AttributeError(no_attribute(owner, name), name=name, obj=owner)
    return found


def check_own(name: str) -> None:
    """Code may set an attribute of this name on a tensor.

    Raises: capture-failed (a capture keeps something there).
    """
    if name in OF_TENSORS:
        raise problem("capture-failed", error=f"tensors have another `{name}` during a capture")


def no_attribute(owner: Any, name: str) -> str:
    """What Python says of an attribute that is not there."""
    shown = class_of(owner) if isinstance(owner, AbstractTensor) else _STANDS_FOR[type(owner)]
    return f"{shown.__name__!r} object has no attribute {name!r}"


def unseen_names(code: CodeType) -> list[str]:
    """Names of ours that code sets, or asks for where it may catch that they are not there."""
    if OF_TENSORS.isdisjoint(code.co_names):
        return []
    used = _SETS | _ASKS if code.co_exceptiontable else _SETS
    found = (each.argval for each in dis.get_instructions(code) if each.opname in used)
    return [name for name in found if name in OF_TENSORS]


def get_attribute(owner: Any, name: str, /, *default: Any) -> Any:
    """`getattr(owner, name)`, or with a default."""
    found = getattr(owner, name, *default)
    if name not in NAMES:
        return found
    try:
        return as_told(owner, name, found)
    except AttributeError:
        if default:
            return default[0]
        raise


def has_attribute(owner: Any, name: str, /) -> bool:
    """`hasattr(owner, name)`."""
    return get_attribute(owner, name, MISSING) is not MISSING


__all__ = ["NAMES", "as_told", "check_own", "get_attribute", "has_attribute", "unseen_names"]
