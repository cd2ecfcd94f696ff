"""List operations: what C functions make of lists that grew in a loop.

Copies, sums, repetitions and extensions hold the same `Accumulated` items, so C makes them; their
results are such lists as well. An item is taken out at an end. Everything else is refused.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.symbols import to_python, to_sym
from monograph.capture.control_flow.loops.list_accumulation import (
    Accumulated,
    alias,
    find,
    item_of,
    last_of,
    require_an_iteration,
)
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.capture.recording.recorder import Recorder


def operate(recorder: Recorder, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a native call gives that takes such a list, NotImplemented of any other call.

    Raises: list-grown.
    """
    owner, name = getattr(callee, "__self__", None), getattr(callee, "__name__", "")
    is_method = type(owner) in (list, tuple)
    values: list[Any] = [owner, *args] if is_method else [*args]
    found = [find(recorder, each) is not None for each in (*values, *kwargs.values())]
    if not any(found):
        return NotImplemented
    if found[-1] and not any(found[:-1]) and _is_storing(name, args[0] if owner is None else owner):
        return NotImplemented
    fits = _OPERATIONS.get(name) if is_method or id(callee) in _KNOWN else None
    if fits is None or kwargs or not fits(values, found):
        raise problem("list-grown", use=f"{name or type(callee).__name__}()")
    if name == "pop":
        return _taken(values[0], values[1] if len(values) > 1 else -1)
    result = callee(*args)
    for made in (result, values[0]):
        if type(made) in (list, tuple) and any(isinstance(each, Accumulated) for each in made):
            recorder.accumulated[id(made)] = made
    return result


def _is_storing(name: str, owner: Any) -> bool:
    """Whether what is given last is held as it is."""
    return name in {"__setattr__", "setattr"} or (name == "__setitem__" and isinstance(owner, dict))


def _at_an_end(values: list[Any], _: list[bool]) -> bool:
    return type(values[0]) is list and all(type(at) is int and at in (0, -1) for at in values[1:])


def _number(values: list[Any], _: list[bool]) -> bool:
    return int in map(type, values)


def _any(_values: list[Any], _found: list[bool]) -> bool:
    return True


def _taken(items: list[Any], at: int) -> Any:
    """`items.pop(at)` of the first or the last one.

    Raises: list-grown (it is a view of another tensor), check-fails (there is none).
    """
    edge = items[at]
    if not isinstance(edge, Accumulated):
        return items.pop(at)
    if not edge.stacks:
        raise problem("list-grown", use="pop()")
    require_an_iteration(edge.count)
    count = to_sym(to_python(edge.count) - 1)
    begin, near = (1, 0) if at == 0 else (0, -1)
    stacks: list[Any] = [each.narrow(0, begin, count) for each in edge.stacks]
    alias(stacks)
    rest = Accumulated(to_python(count), stacks, None, edge.owners, edge.order)
    inner = range(1, edge.width) if at == 0 else range(edge.width - 1)
    others = [item_of(edge, n, near) for n in inner]
    value = item_of(edge, 0, 0) if at == 0 else last_of(edge)
    if at == 0:
        items[:1] = [*others, rest]
    else:
        items[-1:] = [rest, *others]
    return value


_OPERATIONS: Final[dict[str, Callable[[list[Any], list[bool]], bool]]] = {
    **dict.fromkeys(("add", "clear", "copy", "extend", "iadd", "list", "tuple"), _any),
    **dict.fromkeys(("imul", "mul"), _number),
    "append": lambda _, found: not found[1],
    "insert": lambda values, found: type(values[1]) is int and values[1] == 0 and not found[2],
    "pop": _at_an_end,
    "setitem": lambda _, found: not any(found[:2]),
}
"""What C does to such lists as to any, by name, and whether it does with these arguments."""
_KNOWN: Final = {
    id(each)
    for each in (
        *(list, tuple, list.append, list.clear, list.copy, list.extend, list.insert, list.pop),
        *(operator.add, operator.iadd, operator.imul, operator.mul, operator.setitem),
    )
}


__all__ = ["operate"]
