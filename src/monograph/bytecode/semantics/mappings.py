"""Lending mappings that are written in Python to C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.bytecode.semantics.items import get_item
from monograph.bytecode.semantics.iteration import END, advance, get_iterator

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["lend_mapping"]


def lend_mapping(interpreter: ThreadState, mapping: Any) -> Any:
    """Return a dict with the same items; the same object where C reads them without Python."""
    kind = type(mapping)
    if kind is dict:
        return mapping
    if issubclass(kind, dict) and lookup(kind, "__iter__") is lookup(dict, "__iter__"):
        return mapping
    made: dict[Any, Any] = {}
    keys = get_iterator(interpreter, call(interpreter, mapping.keys, [], {}))
    while (key := advance(interpreter, keys)) is not END:
        made[key] = get_item(interpreter, mapping, key)
    return made
