"""Whether a container contains a value."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call_function, call_native
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import ATOMIC, find_special, lookup
from monograph.bytecode.semantics.iteration import END, advance, get_iterator
from monograph.bytecode.semantics.operators import compare, truth

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["contains"]

_BY_HASH = frozenset({bytes, dict, frozenset, range, set, str})
"""Exact types that look for a value of an atomic type without asking what they hold."""


def contains(interpreter: ThreadState, container: Any, value: Any) -> bool:
    """Tell whether `value in container`."""
    kind = type(container)
    if kind in _BY_HASH and type(value) in ATOMIC:
        return native_calls.do(operator.contains, container, value)
    special = find_special(interpreter, kind, "__contains__")
    if special is not None:
        return truth(interpreter, call_function(interpreter, special, [container, value], {}))
    if lookup(kind, "__contains__") is MISSING and (
        find_special(interpreter, kind, "__iter__") is not None
        or find_special(interpreter, kind, "__getitem__") is not None
    ):
        return _is_among(interpreter, get_iterator(interpreter, container), value)
    return call_native(interpreter, operator.contains, [container, value], {})


def _is_among(interpreter: ThreadState, iterator: Any, value: Any) -> bool:
    while (found := advance(interpreter, iterator)) is not END:
        if found is value or truth(interpreter, compare(interpreter, "==", found, value)):
            return True
    return False
