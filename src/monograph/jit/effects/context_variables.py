"""Context variables (`contextvars`): what `get` gives is guarded, `set` and `reset` are writes."""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import BuiltinFunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any, Final

from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from monograph.bytecode import InterpreterFrame
    from monograph.jit.recording import SegmentRecorder

__all__ = ["check_variable", "set_variable", "variable_of"]

_UNSET: Final = object()


def variable_of(callee: Any, args: list[Any]) -> tuple[str, Any, list[Any]] | None:
    """The method, context variable and arguments of a call, if it is of one."""
    owner = getattr(callee, "__self__", None)
    if type(callee) is MethodDescriptorType and args:
        owner, args = args[0], args[1:]
    if type(owner) is not ContextVar or type(callee) not in _METHODS:
        return None
    return callee.__name__, owner, args


_METHODS: Final = (BuiltinFunctionType, MethodDescriptorType)


def check_variable(
    segment: SegmentRecorder,
    frame: InterpreterFrame | None,
    name: str,
    variable: Any,
    args: list[Any],
) -> None:
    """Guard what a method of a context variable depends on. Raises: NotRecordable."""
    guards = segment.guards
    if not guards.is_known(variable) or name not in ("get", "set", "reset"):
        raise NotRecordable(f"`ContextVar.{name}`")
    if name == "get":
        _check_read(segment, variable, args)
    elif name == "reset" and id(args[0]) not in segment.tokens:
        _check_token(segment, frame, variable, args[0])


def _check_read(segment: SegmentRecorder, variable: Any, args: list[Any]) -> None:
    if (id(variable), "get") in segment.written:
        return
    guards = segment.guards
    name, label = guards.constant(variable), f"{variable.name}.get()"
    if args:
        nothing = guards.constant(_UNSET)
        is_unset = variable.get(_UNSET) is _UNSET
        fails = f"({name}.get({nothing}) is {nothing}) is not {is_unset}"
        guards.check(fails, f"whether {variable.name} is set", not is_unset)
        if is_unset:
            return
    try:
        value = variable.get()
    except LookupError:
        raise NotRecordable("a context variable without a value is read") from None
    guards.meet(value, f"{name}.get()", label)


def _check_token(
    segment: SegmentRecorder, frame: InterpreterFrame | None, variable: Any, token: Any
) -> None:
    """A token of an earlier segment: what it puts back is guarded; where it raises, nobody catches.

    Raises: NotRecordable.
    """
    guards = segment.guards
    if type(token) is not Token or not guards.is_known(token):
        raise NotRecordable("a token of a context variable of unknown origin")
    while frame is not None:
        if frame.body.handlers[frame.ip - 1] is not None:
            raise NotRecordable("a context variable is reset within `try`")
        frame = frame.back
    name, label = guards.names[id(token)], guards.label(token)
    guards.check(f"{name}.var is not {guards.constant(variable)}", f"{label}.var", variable)
    if token.old_value is Token.MISSING:
        missing = guards.constant(Token.MISSING)
        guards.check(f"{name}.old_value is not {missing}", f"{label}.old_value", "missing")
    else:
        guards.meet(token.old_value, f"{name}.old_value", f"{label}.old_value")


def set_variable(segment: SegmentRecorder, method: str, variable: Any, /, *args: Any) -> Any:
    """Set or reset a context variable, now and in each replay.

    Raises: what the method raises.
    """
    result = getattr(variable, method)(*args)
    is_first = (id(variable), "get") not in segment.written
    segment.written.add((id(variable), "get"))
    if method == "set":
        name = f"t{len(segment.tokens)}"
        segment.tokens[id(result)] = name, is_first
        segment.keep(result)
        segment.write(variable, f"{name} = {{0}}.set({{1}})", *args)
    else:
        name, puts_back = segment.tokens.get(id(args[0]), ("", False))
        if puts_back:  # what it was at the entry
            segment.written.discard((id(variable), "get"))
        segment.write(variable, f"{{0}}.reset({name or '{1}'})", *(() if name else args))
    return result
