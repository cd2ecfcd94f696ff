"""Names of write targets, as code calls them: the global `SEEN`, the argument `xs`."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from monograph.abstract.tensor import AbstractTensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monograph.bytecode import InterpreterFrame
    from monograph.capture.side_effects.tracking import WriteTarget


class Called(NamedTuple):
    """A kind of place, as the message write-outlives-call takes it, and its name."""

    kind: str
    name: str


def called(
    place: WriteTarget, arguments: Iterable[tuple[str, Any]], classes: Iterable[type]
) -> Called:
    """The name of a place; `arguments` are (path, container) of what the caller passed in."""
    owner = place.owner
    if place.kind == "global":
        return Called("global", place.name)
    if place.kind == "cell":
        return Called("closure", place.name)
    if place.kind == "context":
        return Called("context", place.name)
    if place.kind == "attribute":
        if isinstance(owner, type):
            return Called("class", f"{owner.__name__}.{place.name}")
        found = next(_names(place, arguments, classes), None)
        name = found.name if found is not None else _type_name(owner)
        return Called("object", f"{name}.{place.name}")
    return next(_names(place, arguments, classes), Called("object", _type_name(owner)))


def _type_name(owner: Any) -> str:
    if isinstance(owner, FunctionType):
        return owner.__name__
    if isinstance(owner, AbstractTensor):
        recorder: Any = owner.recorder
        subject = recorder.answers_noted.owner(owner)
        return "a tensor" if subject is None else subject.path
    return type(owner).__name__


def _names(
    place: WriteTarget, arguments: Iterable[tuple[str, Any]], classes: Iterable[type]
) -> Iterator[Called]:
    """The names under which an object is known, the closest to the call first."""
    of_classes = (
        (f"{cls.__name__}.{name}", value) for cls in classes for name, value in vars(cls).items()
    )
    function: Any = place.function
    for kind, named in (
        ("argument", arguments),
        ("default", default_values(function)),
        ("closure", enclosed_variables(function)),
        ("global", () if function is None else function.__globals__.items()),
        ("class", of_classes),
    ):
        for name, value in named:
            if value is place.owner:
                yield Called(kind, name)


def default_values(function: FunctionType | None) -> Iterator[tuple[str, Any]]:
    """The parameters that have default values, with these."""
    if function is None:
        return
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    # A wrapper may have those of what it wraps, and fewer parameters: no code comes to them.
    yield from zip(reversed(names), reversed(defaults), strict=False)
    yield from (function.__kwdefaults__ or {}).items()


def enclosed_variables(function: FunctionType | None) -> Iterator[tuple[str, Any]]:
    """The variables of enclosing functions that have a value, with these."""
    if function is None:
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue


def containers(forward: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    """(path, container) of the arguments as they are given to forward, and of what they hold."""
    try:
        waiting: list[tuple[str, Any]] = [
            *inspect.signature(forward).bind(*args, **kwargs).arguments.items()
        ]
    except TypeError:
        return
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, dict):
            waiting += [(f"{path}[{key!r}]", each) for key, each in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{path}[{i}]", each) for i, each in enumerate(value)]
        else:
            continue
        yield path, value


def is_running(frame: InterpreterFrame, name: str) -> bool:
    """Whether the variable belongs to a call in progress, not to one that ended before."""
    outer: InterpreterFrame | None = frame
    while outer is not None:
        if name in outer.code.co_cellvars:
            return True
        outer = outer.back
    return False
