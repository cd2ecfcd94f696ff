"""Def-use analysis of attribute writes: which objects some code sets attributes of.

What an argument or a global is, is known when the code begins, and what is read from it by name is
found without running anything. Any other object may be the class of one that the code comes to.
"""

from __future__ import annotations

import dis
import opcode
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch.nn import Module

from monograph.bytecode import MISSING
from monograph.capture.hidden_state.container_contents import attributes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from types import CodeType

WRITES: Final = frozenset(opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_BY_CALL: Final = frozenset({"setattr", "delattr"})
_BY_METHOD: Final = frozenset({"__setattr__", "__delattr__"})
_IN_LIBRARY: Final = frozenset({"__dict__", "vars", "update_wrapper", "wraps"})
WRITES_BY_NAME: Final = _IN_LIBRARY | _BY_CALL | _BY_METHOD
_LEADS_TO_CLASSES: Final = frozenset({"type", "__class__", "__mro__", "mro", "__bases__"})
_ASSIGNS: Final = ("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF")
_LOADS: Final = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")
_OF_OBJECTS: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_IS_CALLED: Final = 1
"""Of what is loaded from the globals: room is made for a call."""
_READ_PLAINLY: Final = (object, type, ModuleType, SimpleNamespace, Module)
"""Attributes of these are where they were put, also while `nn.Module` is watched."""
_TABLES: Final = ("_parameters", "_buffers", "_modules")

Way = tuple[str, ...]
"""A variable, and the names of attributes from there."""


class AttributeWrites(NamedTuple):
    """The objects that some code sets attributes of, but for variables that it is given."""

    ways: frozenset[Way]
    others: bool
    """Whether it may set them of anything else."""


def attribute_writes(code: CodeType, names: Collection[str]) -> AttributeWrites:
    """What code sets attributes of; `names` are all that it may look up.

    >>> def f(x, y):
    ...     x.a.b = y.c = 1
    >>> attribute_writes(f.__code__, f.__code__.co_names)
    AttributeWrites(ways=frozenset({('x', 'a')}), others=False)
    >>> def g(x):
    ...     h(x).a += 1
    >>> attribute_writes(g.__code__, g.__code__.co_names).others
    True
    """
    if not _BY_METHOD.isdisjoint(names) and not _LEADS_TO_CLASSES.isdisjoint(names):
        return AttributeWrites(frozenset(), others=True)
    shown = [each for each in dis.get_instructions(code) if each.opname != "PRECALL"]
    n_given = code.co_argcount + code.co_kwonlyargcount
    given = {*code.co_varnames[:n_given], *code.co_freevars}.difference(assigned(code))
    found = {_way(shown, i, given) for i, each in enumerate(shown) if each.opcode in WRITES}
    found.update(
        _way_of_call(shown[i : i + 3], given)
        for i, each in enumerate(shown)
        if each.opcode not in WRITES and each.argval in _BY_CALL
    )
    return AttributeWrites(
        frozenset(way for way in found if way is not None and len(way) > 1), None in found
    )


def assigned(code: CodeType) -> Iterator[str]:
    """The variables that code assigns to, or a function in it."""
    for each in dis.get_instructions(code):
        if each.opname.startswith(_ASSIGNS):
            yield from each.argval if isinstance(each.argval, tuple) else (each.argval,)
    for inner in code.co_consts:
        if isinstance(inner, type(code)):
            yield from set(assigned(inner)).intersection(inner.co_freevars)


def _way(shown: Sequence[dis.Instruction], i: int, given: Collection[str]) -> Way | None:
    """The way to what an instruction writes an attribute of, if it is a plain one."""
    at = i
    if shown[i - 1].opname == "SWAP":  # x.name += ...
        while at and not (shown[at - 1].opname == "COPY" and shown[at].argval == shown[i].argval):
            at -= 1
        at -= 1
    steps: list[str] = []
    while at > 0 and not shown[at].is_jump_target:
        at -= 1
        if shown[at].opname != "LOAD_ATTR":
            variable = _variable(shown[at], given)
            return None if variable is None else (variable, *reversed(steps))
        steps.append(shown[at].argval)
    return None


def _variable(load: dis.Instruction, given: Collection[str], which: int = -1) -> str | None:
    """The argument, global or variable of an enclosing function that is loaded."""
    if not load.opname.startswith(_LOADS):
        return None
    name = load.argval[which] if isinstance(load.argval, tuple) else load.argval
    return name if load.opname == "LOAD_GLOBAL" or name in given else None


def _way_of_call(shown: Sequence[dis.Instruction], given: Collection[str]) -> Way | None:
    """The way to `x`, where these three begin `setattr(x, ...)`."""
    function, owner, following = shown
    if not is_called(function) or is_called(owner):
        return None
    is_next = following.opname.startswith("LOAD_") and following.opname not in _OF_OBJECTS
    if not isinstance(owner.argval, tuple) and (following.is_jump_target or not is_next):
        return None
    variable = _variable(owner, given, 0)
    return None if variable is None else (variable,)


def is_called(load: dis.Instruction) -> bool:
    """Whether what is loaded from the globals is called next."""
    return load.opname == "LOAD_GLOBAL" and bool((load.arg or 0) & _IS_CALLED)


# --- what stands there --------------------------------------------------------------------------


def at_end(way: Way, variables: Mapping[str, Any], variables_of_module: Mapping[str, Any]) -> Any:
    """What a way leads to now; MISSING where only running code would tell."""
    name, *steps = way
    value = variables.get(name, variables_of_module.get(name, MISSING))
    for step in steps:
        if value is MISSING:
            break
        value = _held(value, step)
    return value


def _held(value: Any, name: str) -> Any:
    """An attribute, found without running code."""
    kind = type(value)
    if all(kind.__getattribute__ is not each.__getattribute__ for each in _READ_PLAINLY):
        return MISSING
    tables = [attributes_of(value)]
    if issubclass(kind, Module):
        tables += [tables[0][each] for each in _TABLES if each in tables[0]]
    for table in tables:
        if name in table:
            return table[name]
    for cls in (value if issubclass(kind, type) else kind).__mro__:
        if name in attributes_of(cls):
            found = attributes_of(cls)[name]
            is_itself = type(found) is FunctionType or not hasattr(type(found), "__get__")
            return found if is_itself else MISSING
    return MISSING


__all__ = [
    "WRITES",
    "WRITES_BY_NAME",
    "AttributeWrites",
    "Way",
    "assigned",
    "at_end",
    "attribute_writes",
    "is_called",
]
