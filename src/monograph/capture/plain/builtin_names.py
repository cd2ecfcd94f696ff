"""Shadowed builtins: what plain user code calls when it calls `type` and `isinstance`.

C answers both without asking the object. So while a capture lasts, the files of user code that
names them have polyfills among their globals, which come before builtins. One count serves all
captures that run at once; where nothing is captured, they are the builtins.
"""

from __future__ import annotations

import builtins
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from monograph.capture.installation import listening
from monograph.capture.torch_overrides.number_classes import is_instance, type_of

if TYPE_CHECKING:
    from types import CodeType

_LOCK: Final = Lock()
_USERS: Final[dict[tuple[int, str], int]] = {}
"""How many captures need a name in a file, by the identity of its globals."""


class _TypeOfTypes(type):
    """The class of the stand-in: it is called as `type` is, and compares as it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Type:
            return super().__call__(*args, **kwargs)
        if len(args) != 1 or kwargs:
            return builtins.type(*args, **kwargs)
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

_SHADOWS: Final[dict[str, Any]] = {"type": Type, "isinstance": is_instance}
SHADOWED: Final = frozenset(_SHADOWS)


class Shadows:
    """The names that one capture put among the globals of user code."""

    def __init__(self) -> None:
        self._made: list[tuple[dict[str, Any], str]] = []

    def enter(self, code: CodeType, variables: dict[str, Any]) -> None:
        """Code is about to run for the first time, with these globals."""
        for name in SHADOWED.intersection(code.co_names):
            with _LOCK:
                key = id(variables), name
                if key not in _USERS:
                    if name in variables:
                        continue  # the user's own
                    variables[name] = _SHADOWS[name]
                if any(each is variables and known == name for each, known in self._made):
                    continue
                _USERS[key] = _USERS.get(key, 0) + 1
                self._made.append((variables, name))

    def close(self) -> None:
        """The capture ends."""
        while self._made:
            variables, name = self._made.pop()
            with _LOCK:
                _USERS[id(variables), name] -= 1
                if not _USERS[id(variables), name]:
                    del _USERS[id(variables), name]
                    if variables.get(name) is _SHADOWS[name]:
                        del variables[name]


__all__ = ["SHADOWED", "Shadows"]
