"""Shadowed builtins: what plain user code calls when it calls `type` and `isinstance`.

C answers both without asking the object. So while a capture lasts, the files of user code that
names them have polyfills among their globals, which come before builtins. One count serves all
captures that run at once; where nothing is captured, they are the builtins.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode import MISSING
from monograph.capture.installation import listening
from monograph.capture.torch_overrides.hidden_attributes import get_attribute, has_attribute
from monograph.capture.torch_overrides.number_classes import is_instance, type_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

_LOCK: Final = Lock()


class _TypeOfTypes(type):
    """The class of the stand-in: it is called as `type` is, and compares as it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Type:
            return super().__call__(*args, **kwargs)
        if len(args) != 1 or kwargs:
            return type_of(*args, **kwargs)
        kind = builtins.type(args[0]) if listening() is None else type_of(args[0])
        return Type if kind is builtins.type else kind

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, builtins.type if cls is Type else cls)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, builtins.type if cls is Type else cls)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is Type and other is builtins.type)

    def __hash__(cls) -> int:
        return hash(builtins.type) if cls is Type else super().__hash__()


class Type(type, metaclass=_TypeOfTypes):
    """Stands for `type`."""


Type.__name__ = Type.__qualname__ = "type"
Type.__module__ = "builtins"

_SHADOWS: Final[dict[str, Any]] = {
    "type": Type,
    "isinstance": is_instance,
    "getattr": get_attribute,
    "hasattr": has_attribute,
}
_BUILTINS: Final = {id(getattr(builtins, name)): name for name in _SHADOWS}


@dataclass(slots=True)
class _Shadowed:
    """What a name stood for before, and how many captures need it otherwise."""

    before: Any
    shadow: Any
    count: int = 0


_NAMES: Final[dict[tuple[int, str], _Shadowed]] = {}
"""By the identity of the globals, and the name."""


class Shadows:
    """The names that one capture put among the globals of user code."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], dict[str, Any]] = {}

    def enter(self, code: CodeType, variables: dict[str, Any]) -> None:
        """Code is about to run for the first time, with these globals."""
        owner = id(variables)
        for name in code.co_names:
            key = owner, name
            if key in self._made:
                continue
            with _LOCK:
                held = variables.get(name, MISSING)
                builtin = name if held is MISSING else _BUILTINS.get(id(held))
                if key not in _NAMES and builtin in _SHADOWS:
                    _NAMES[key] = _Shadowed(held, _SHADOWS[builtin])
                    variables[name] = _SHADOWS[builtin]
                if key in _NAMES:
                    _NAMES[key].count += 1
                    self._made[key] = variables

    def close(self) -> None:
        """The capture ends."""
        for key, variables in self._made.items():
            with _LOCK:
                found = _NAMES[key]
                found.count -= 1
                if found.count:
                    continue
                del _NAMES[key]
                if variables.get(key[1]) is not found.shadow:
                    continue  # the user's code has bound it meanwhile
                if found.before is MISSING:
                    del variables[key[1]]
                else:
                    variables[key[1]] = found.before
        self._made.clear()


def out_of_sight(frame: FrameType) -> str:
    """Which of them a function that begins has otherwise, as a default or by its module; or ""."""
    names = frame.f_code.co_names
    if "builtins" in names:
        return next((each for each in _SHADOWS if each in names), "")
    held = (_BUILTINS.get(id(each)) for each in frame.f_locals.values())
    return next(filter(None, held), "")


__all__ = ["Shadows", "out_of_sight"]
