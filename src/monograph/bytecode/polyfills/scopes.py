"""C functions that look at the frame that calls them."""

from __future__ import annotations
import __future__

import builtins
import functools
import operator
import sys
import warnings
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import recursion_limit
from monograph.bytecode.evaluation.calling import call, call_native
from monograph.bytecode.evaluation.frame import MISSING, InterpreterFrame, cell_contents
from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.evaluation.tracebacks import handled
from monograph.bytecode.polyfills.registry import polyfill

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


@polyfill(super)
def super_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Make a proxy; without arguments, of the method's own class and its first argument."""
    frame = interpreter.current
    if args or kwargs or frame is None:
        return call_native(interpreter, super, args, kwargs)
    if not frame.code.co_argcount:
        raise RuntimeError("super(): no arguments")
    owner = frame.slots[0]
    if type(owner) is CellType and frame.body.slots[0] in frame.code.co_cellvars:
        owner = cell_contents(owner)
    if owner is MISSING:
        raise RuntimeError("super(): arg[0] deleted")
    if "__class__" not in frame.code.co_freevars:
        raise RuntimeError("super(): __class__ cell not found")
    cls = cell_contents(frame.slots[frame.body.slots.index("__class__")])
    if cls is MISSING:
        raise RuntimeError("super(): empty __class__ cell")
    return call_native(interpreter, super, [cls, owner], {})


@polyfill(locals)
def locals_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the variables of the frame."""
    frame = interpreter.current
    if args or kwargs or frame is None:
        return call_native(interpreter, locals, args, kwargs)
    return frame.f_locals


@polyfill(globals)
def globals_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the variables of the module."""
    frame = interpreter.current
    if args or kwargs or frame is None:
        return call_native(interpreter, globals, args, kwargs)
    return frame.globals


@polyfill(vars)
def vars_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the variables of an object, or of the frame."""
    frame = interpreter.current
    if args or kwargs or frame is None:
        return call_native(interpreter, vars, args, kwargs)
    return frame.f_locals


@polyfill(dir)
def dir_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the names of an object, or of the frame."""
    frame = interpreter.current
    if args or kwargs or frame is None:
        return call_native(interpreter, dir, args, kwargs)
    names = frame.f_locals
    return sorted(names if isinstance(names, dict) else call(interpreter, names.keys, [], {}))


@polyfill(eval)
def eval_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Evaluate an expression, by interpreting it."""
    return _executed(interpreter, eval, "eval", args, kwargs)


@polyfill(exec)
def exec_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Execute statements, by interpreting them."""
    _executed(interpreter, exec, "exec", args, kwargs)


def _executed(
    interpreter: ThreadState, function: Any, mode: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    frame = interpreter.current
    if frame is None or not args or len(args) > 3 or kwargs:
        return call_native(interpreter, function, args, kwargs)
    source, namespace, names = (*args, None, None)[:3]
    if namespace is None:
        namespace = frame.globals
        names = frame.f_locals if names is None else names
    elif type(namespace) is not dict:
        return call_native(interpreter, function, args, kwargs)
    names = namespace if names is None else names
    if not hasattr(type(names), "__getitem__"):
        return call_native(interpreter, function, args, kwargs)
    if isinstance(source, str | bytes):
        text = source.lstrip(" \t") if isinstance(source, str) and mode == "eval" else source
        source = _compiled(frame, text, "<string>", mode)
    if not isinstance(source, CodeType) or source.co_freevars:
        return call_native(interpreter, function, args, kwargs)
    scope = namespace.setdefault("__builtins__", frame.builtins)
    if type(scope) is not dict and scope is not builtins:
        return call_native(interpreter, function, args, kwargs)
    return run_code(interpreter, source, namespace, names)


def run_code(
    interpreter: ThreadState,
    code: CodeType,
    namespace: dict[str, Any],
    names: Any,
    closure: tuple[CellType, ...] | None = None,
) -> Any:
    """Interpret the code of a module, an expression or a class body in a scope."""
    function = FunctionType(code, namespace, code.co_name, None, closure)
    body = interpreter.body(code)
    frame = InterpreterFrame(interpreter, code, body, body.empty.copy(), function)
    if not code.co_flags & _OPTIMISED:
        frame.names = names
    run(frame)
    return frame.value


_OPTIMISED = 0x01
_FUTURE = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)


def _compiled(frame: InterpreterFrame, source: Any, file: str, mode: str) -> CodeType:
    """Compile as code of this frame would: with its `from __future__ import`, not with ours."""
    return compile(source, file, mode, frame.code.co_flags & _FUTURE, dont_inherit=True)


@polyfill(compile)
def compile_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Compile source as if the frame did."""
    frame = interpreter.current
    inherits = len(args) < 5 and not kwargs.get("dont_inherit")
    if frame is None or not inherits:
        return call_native(interpreter, compile, args, kwargs)
    flags = args[3] if len(args) > 3 else kwargs.get("flags", 0)
    if not isinstance(flags, int):
        return call_native(interpreter, compile, args, kwargs)
    kwargs = {**kwargs, "flags": flags | (frame.code.co_flags & _FUTURE), "dont_inherit": True}
    return call_native(interpreter, compile, args[:3], kwargs)


@polyfill(sys._getframe)
def frame_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the frame some levels out: interpreted ones first, then those that called us."""
    level = args[0] if args else 0
    frame: Any = interpreter.current
    if frame is None or kwargs or not isinstance(level, int):
        return call_native(interpreter, sys._getframe, args, kwargs)
    for _ in range(max(level, 0)):
        frame = frame.f_back
        if frame is None:
            raise ValueError("call stack is not deep enough")
    return frame


def module_of_frame(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the module of the function some levels out, as classes made in C's name ask for."""
    asked = [*args, *kwargs.values()][:1]
    try:
        frame = frame_of(interpreter, asked, {})
    except ValueError:
        return None
    return frame.f_globals.get("__name__")


MODULE_NAME: Any = getattr(sys, "_getframemodulename", None)  # since Python 3.12
if MODULE_NAME is not None:
    polyfill(MODULE_NAME)(module_of_frame)


@polyfill(sys.exc_info)
def error_info(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what is known of the exception being handled."""
    error = handled(interpreter)
    if args or kwargs or error is None:
        return call_native(interpreter, sys.exc_info, args, kwargs)
    return type(error), error, error.__traceback__


@polyfill(sys.exception)
def error_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the exception being handled."""
    error = handled(interpreter)
    if args or kwargs or error is None:
        return call_native(interpreter, sys.exception, args, kwargs)
    return error


@polyfill(sys.setrecursionlimit)
def limit_recursion(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Say how deep interpreted calls may go."""
    if len(args) != 1 or kwargs or type(args[0]) is not int or args[0] < 1:
        return call_native(interpreter, sys.setrecursionlimit, args, kwargs)
    recursion_limit.set_limit(args[0])
    return None


@polyfill(warnings.warn)
def warned(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Warn with the line of the interpreted frame that the level means."""
    names = ("message", "category", "stacklevel", "source")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    frame: Any = interpreter.current
    level = given.get("stacklevel", 1)
    if frame is None or given.keys() - set(names) or not isinstance(level, int) or not given:
        return call_native(interpreter, warnings.warn, args, kwargs)
    for _ in range(level - 1):
        if frame.f_back is None:
            break
        frame = frame.f_back
    message = given["message"]
    category = type(message) if isinstance(message, Warning) else given.get("category")
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    explicit = [
        message,
        UserWarning if category is None else category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__", "<string>"),
        registry,
        None,
        given.get("source"),
    ]
    return call_native(interpreter, warnings.warn_explicit, explicit, {})
