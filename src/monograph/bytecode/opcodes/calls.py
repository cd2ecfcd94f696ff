"""Instructions that call, and that make functions and classes."""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import NULL
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.items import get_item, set_item
from monograph.bytecode.semantics.iteration import lend_iterable
from monograph.bytecode.semantics.mappings import lend_mapping

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame

_DEFAULTS, _KWDEFAULTS, _ANNOTATIONS, _CLOSURE, _ANNOTATE = 1, 2, 4, 8, 16


@opcode
def CALL(frame: InterpreterFrame, argument: tuple[int, tuple[str, ...]]) -> None:
    """Call with n arguments, the last of which have names."""
    n, names = argument
    stack = frame.stack
    base = len(stack) - n
    args = stack[base:]
    first, second = stack[base - 2], stack[base - 1]
    del stack[base - 2 :]
    if first is NULL:
        callee = second
    elif second is NULL:
        callee = first
    else:
        callee = first
        args.insert(0, second)
    if names:
        split = len(args) - len(names)
        kwargs = dict(zip(names, args[split:], strict=True))
        del args[split:]
        stack.append(call(frame.interpreter, callee, args, kwargs))
    else:
        stack.append(call(frame.interpreter, callee, args, {}))


@opcode
def CALL_KW(frame: InterpreterFrame, n: int) -> None:
    """Call with n arguments; the names of the last ones are on top."""
    CALL(frame, (n, frame.stack.pop()))


@opcode
def CALL_FUNCTION_EX(frame: InterpreterFrame, has_kwargs: bool) -> None:  # noqa: FBT001  (an argument)
    """Call with a sequence of arguments, and perhaps a mapping."""
    stack = frame.stack
    kwargs = stack.pop() if has_kwargs else {}
    args = stack.pop()
    second, first = stack.pop(), stack.pop()
    callee = second if first is NULL else first
    interpreter = frame.interpreter
    if not isinstance(kwargs, dict):
        kwargs = lend_mapping(interpreter, kwargs)
    for key in kwargs:
        if not isinstance(key, str):
            raise TypeError("keywords must be strings")
    if type(args) is not tuple:
        if not isinstance(args, list) and not hasattr(type(args), "__iter__"):
            name = f"{getattr(callee, '__module__', '')}.{getattr(callee, '__qualname__', callee)}"
            kind = type(args).__name__
            raise TypeError(f"{name}() argument after * must be an iterable, not {kind}")
        if interpreter.strange:
            interpreter.strange_use(args, "*")
        args = lend_iterable(interpreter, args)
    stack.append(call(interpreter, callee, list(args), dict(kwargs)))


@opcode
def MAKE_FUNCTION(frame: InterpreterFrame, flags: int) -> None:
    """Make a function of a code object and what the flags say is below it."""
    stack = frame.stack
    code: CodeType = stack.pop()
    closure = stack.pop() if flags & _CLOSURE else None
    function = FunctionType(code, frame.globals, code.co_name, None, closure)
    if flags & _ANNOTATE:
        cast("Any", function).__annotate__ = stack.pop()
    if flags & _ANNOTATIONS:
        _annotate(function, stack.pop())
    if flags & _KWDEFAULTS:
        function.__kwdefaults__ = stack.pop()
    if flags & _DEFAULTS:
        function.__defaults__ = stack.pop()
    stack.append(function)


def _annotate(function: FunctionType, value: Any) -> None:
    """Set annotations, which come as a dict or as a tuple of names and values."""
    if isinstance(value, tuple):
        value = dict(zip(value[::2], value[1::2], strict=True))
    function.__annotations__ = value


@opcode
def LOAD_BUILD_CLASS(frame: InterpreterFrame, _: None) -> None:
    """Push what makes classes."""
    if "__build_class__" not in frame.builtins:
        raise NameError("__build_class__ not found")
    frame.stack.append(frame.builtins["__build_class__"])


@opcode
def SETUP_ANNOTATIONS(frame: InterpreterFrame, _: None) -> None:
    """Give a class body or module its annotations."""
    names = frame.names
    assert names is not None, "annotations belong to bodies of classes and modules"
    interpreter = frame.interpreter
    try:
        get_item(interpreter, names, "__annotations__")
    except KeyError:
        set_item(interpreter, names, "__annotations__", {})


@opcode
def PRINT_EXPR(frame: InterpreterFrame, _: None) -> None:
    """Show a value as the interactive interpreter does."""
    hook = getattr(sys, "displayhook", None)
    if hook is None:
        raise RuntimeError("lost sys.displayhook")
    call(frame.interpreter, hook, [frame.stack.pop()], {})
