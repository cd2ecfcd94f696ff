"""Reading, writing and deleting items."""

from __future__ import annotations

import operator
from collections import deque
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call_function, call_native
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import ATOMIC, OURS, SIMPLE, find_special
from monograph.bytecode.semantics.operators import tell_contents

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["delete_item", "get_item", "set_item", "tell_item"]


def get_item(interpreter: ThreadState, owner: Any, key: Any) -> Any:
    """Return `owner[key]`."""
    kind = type(owner)
    if interpreter.strange and id(owner) in interpreter.strange:
        answer = interpreter.strange_item(owner, key)
        if answer is not NotImplemented:
            return answer
    if kind in SIMPLE and type(key) in ATOMIC:
        return native_calls.get_item(owner, key)
    if type(key) in OURS and kind not in OURS:
        answer = interpreter.chosen_item(owner, key)
        if answer is not NotImplemented:
            return answer
    special = find_special(interpreter, kind, "__getitem__")
    if special is not None:
        return call_function(interpreter, special, [owner, key], {})
    if issubclass(kind, dict):
        special = find_special(interpreter, kind, "__missing__")
        if special is not None and not call_native(
            interpreter, dict.__contains__, [owner, key], {}
        ):
            return call_function(interpreter, special, [owner, key], {})
    return call_native(interpreter, operator.getitem, [owner, key], {})


def set_item(interpreter: ThreadState, owner: Any, key: Any, value: Any) -> None:
    """Do `owner[key] = value`."""
    special = find_special(interpreter, type(owner), "__setitem__")
    if special is not None:
        call_function(interpreter, special, [owner, key, value], {})
        return
    tell_item(interpreter, owner, key)
    call_native(interpreter, operator.setitem, [owner, key, value], {})


def delete_item(interpreter: ThreadState, owner: Any, key: Any) -> None:
    """Do `del owner[key]`."""
    special = find_special(interpreter, type(owner), "__delitem__")
    if special is not None:
        call_function(interpreter, special, [owner, key], {})
        return
    if issubclass(type(owner), dict):
        tell_item(interpreter, owner, key)
    else:
        tell_contents(interpreter, owner)
    call_native(interpreter, operator.delitem, [owner, key], {})


def tell_item(interpreter: ThreadState, owner: Any, key: Any) -> None:
    """Tell the hooks that one item of a builtin container is about to change."""
    hook = interpreter.written
    if hook is None:
        return
    kind = type(owner)
    if issubclass(kind, dict):
        old = call_native(interpreter, dict.get, [owner, key, MISSING], {})
        hook("item", owner, key, old, interpreter.current)
    elif issubclass(kind, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
        hook("item", owner, key, list.__getitem__(owner, key), interpreter.current)
    elif issubclass(kind, list | bytearray | deque):
        hook("contents", owner, None, MISSING, interpreter.current)
