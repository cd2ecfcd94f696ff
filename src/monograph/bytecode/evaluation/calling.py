"""What a call does: which callee is interpreted, and which runs natively.

Interpreted: Python functions that the policy enters, reached as functions, bound methods, partials,
`__new__` and `__init__` of classes, `__call__` of objects and of metaclasses. C functions that call
back have polyfills, which hand them callbacks that are interpreted. All else is native.
"""

from __future__ import annotations

import functools
import inspect
import sys
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.binding import bind
from monograph.bytecode.evaluation.frame import MISSING, RETURN, InterpreterFrame
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.evaluation.special_methods import OURS, find_c_method, find_special, lookup
from monograph.bytecode.evaluation.tracebacks import handled
from monograph.bytecode.evaluation.tracing import call_debugger
from monograph.diagnostics import frame_filter, problem, user_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["call", "call_function", "call_native", "construct", "interpret_always"]

EMPTY: dict[str, Any] = {}

_GENERATOR = inspect.CO_GENERATOR
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_SUSPENDED = _GENERATOR | _ASYNC

_C_FUNCTIONS = frozenset(
    {
        BuiltinFunctionType,
        ClassMethodDescriptorType,
        MethodDescriptorType,
        MethodWrapperType,
        WrapperDescriptorType,
    }
)
_OURS = __name__.partition(".")[0] + "."
_TYPE_CALL = lookup(type, "__call__")


def call(interpreter: ThreadState, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call anything."""
    kind = type(callee)
    if kind is FunctionType:
        return call_function(interpreter, callee, args, kwargs)
    if kind is MethodType and type(callee.__self__) not in OURS:
        return call(interpreter, callee.__func__, [callee.__self__, *args], kwargs)
    if kind is BuiltinFunctionType and type(callee.__self__) in OURS:
        return call_native(interpreter, callee, args, kwargs)
    ask = interpreter.replacement
    if ask is not None:
        other = ask(callee, args, kwargs, interpreter.current)
        if other is not None:
            return call_native(interpreter, other, args, kwargs)
    if kind in _C_FUNCTIONS:
        return _call_c_function(interpreter, callee, args, kwargs)
    if issubclass(kind, type):
        return _call_class(interpreter, callee, args, kwargs)
    if kind is functools.partial:
        return call(interpreter, callee.func, [*callee.args, *args], {**callee.keywords, **kwargs})
    special = find_special(interpreter, kind, "__call__")
    if special is not None:
        return call_function(interpreter, special, [callee, *args], kwargs)
    return call_native(interpreter, callee, args, kwargs)


def call_function(
    interpreter: ThreadState, function: FunctionType, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Call a Python function: interpret it, unless the hooks have other plans."""
    ask = interpreter.replacement
    if ask is not None:
        other = ask(function, args, kwargs, interpreter.current)
        if other is not None:
            return call_native(interpreter, other, args, kwargs)
    if (
        interpreter.stays_outside(function, "a function that the policy does not enter")
        or interpreter.body(function.__code__).is_native
    ):
        if function.__name__ == "set_trace" and interpreter.current is not None:
            return call_debugger(interpreter.current, function, args, kwargs)
        return call_native(interpreter, function, args, kwargs)
    return interpret_always(interpreter, function, args, kwargs)


def interpret_always(
    interpreter: ThreadState,
    function: FunctionType,
    args: list[Any],
    kwargs: dict[str, Any] = EMPTY,
) -> Any:
    """Interpret a Python function, whatever the hooks say of it."""
    code = function.__code__
    body = interpreter.body(code)
    frame = InterpreterFrame(interpreter, code, body, bind(function, body, args, kwargs), function)
    if code.co_flags & _SUSPENDED:
        return _suspended(frame)
    signal = interpreter.run(frame)
    assert signal is RETURN, "only generators yield"
    return frame.value


def call_native(
    interpreter: ThreadState,
    callee: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> Any:
    """Call natively, as the hooks want it."""
    ask = interpreter.natively
    if ask is not None:
        around = ask(callee, args, kwargs)
        if around is not None:
            with around:
                return _call_natively(interpreter, callee, args, kwargs)
    return _call_natively(interpreter, callee, args, kwargs)


def _call_natively(
    interpreter: ThreadState,
    callee: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> Any:
    """Call natively; what is being handled is known to the callee."""
    if interpreter.strange:
        answer = interpreter.strange_call(callee, args, kwargs)
        if answer is not NotImplemented:
            return answer
    handling = interpreter.handling
    if handling.error is None and handling.previous is None:
        made = native_calls.invoke(callee, args, kwargs)
        return _of_users_module(interpreter, made) if issubclass(type(made), type) else made
    error = handled(interpreter)
    if error is None:
        return native_calls.invoke(callee, args, kwargs)
    told = interpreter.told
    interpreter.told = error
    try:
        return native_calls.invoke_while_handling(error, callee, args, kwargs)
    finally:
        interpreter.told = told


def _of_users_module(interpreter: ThreadState, cls: type) -> type:
    """A class; one that C just made (`type`, `namedtuple`) says that the code here made it."""
    module, frame = cls.__dict__.get("__module__"), interpreter.current
    if not isinstance(module, str) or not module.startswith(_OURS) or frame is None:
        return cls
    if vars(sys.modules[module]).get(cls.__name__) is not cls:
        type.__setattr__(cls, "__module__", frame.globals.get("__name__", module))
    return cls


def _suspended(frame: InterpreterFrame) -> InterpretedGenerator:
    if frame.code.co_flags & _ASYNC:
        raise problem("asynchronous-code", at=_places(frame), name=frame.code.co_qualname)
    return InterpretedGenerator(frame)


def _places(frame: InterpreterFrame) -> tuple[Any, ...]:
    """Return the user's line that calls for this frame."""
    back = frame.interpreter.current
    if back is None:
        return user_frames()
    return (frame_filter().frame(back.code, back.lasti),)


def _call_c_function(
    interpreter: ThreadState, callee: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    polyfills = interpreter.polyfills
    found = polyfills.get(id(callee))
    if found is not None:
        return found(interpreter, args, kwargs)
    if callee.__name__ in interpreter.polyfilled_methods:
        owner = getattr(callee, "__self__", None)
        if owner is not None and type(callee) is not MethodDescriptorType:
            holder = getattr(callee, "__objclass__", type(owner))
            found = polyfills.get(id(find_c_method(holder, callee.__name__)))
            if found is not None:
                return found(interpreter, [owner, *args], kwargs)
    return call_native(interpreter, callee, args, kwargs)


def _call_class(
    interpreter: ThreadState, cls: type, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    found = interpreter.polyfills.get(id(cls))
    if found is not None:
        return found(interpreter, args, kwargs)
    meta = type(cls)
    if meta is not type:
        special = lookup(meta, "__call__")
        if type(special) is FunctionType:
            return call_function(interpreter, special, [cls, *args], kwargs)
        if special is not _TYPE_CALL:
            return call_native(interpreter, cls, args, kwargs)
    return construct(interpreter, cls, args, kwargs)


def construct(interpreter: ThreadState, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Make an object as `type.__call__` does: `__new__`, then `__init__` if it is an instance."""
    new = lookup(cls, "__new__")
    # A static method, which a `__new__` in Python is unless somebody made it something else.
    function = new.__func__ if type(new) is staticmethod else new
    if type(function) is FunctionType:
        made = call_function(interpreter, function, [cls, *args], kwargs)
    elif type(new) is classmethod:
        made = call(interpreter, cls.__new__, [cls, *args], kwargs)
    elif new is not MISSING and type(lookup(cls, "__init__")) is not FunctionType:
        if lookup(type(cls), "__call__") is _TYPE_CALL:
            return call_native(interpreter, cls, args, kwargs)
        return call_native(interpreter, type.__call__, [cls, *args], kwargs)
    else:
        made = call_native(interpreter, cls.__new__, [cls, *args], kwargs)
    if cls not in type(made).__mro__:  # whatever its `__class__` or a metaclass says
        return made
    init = lookup(type(made), "__init__")
    if type(init) is FunctionType:
        result = call_function(interpreter, init, [made, *args], kwargs)
        if result is not None:
            kind = type(result).__name__
            native_calls.fail(TypeError(f"__init__() should return None, not '{kind}'"))
    else:
        call_native(interpreter, type(made).__init__, [made, *args], kwargs)
    return made
