"""Native operations: where an exception of the user's may be born in the machinery.

Law: what is raised by the interpreter's own files is a mistake of ours, unless the innermost frame
of its traceback is in here, in a handler (`opcodes/`) or in a polyfill (`polyfills/`), where the
operations of the user's program are carried out. `tracebacks.check_ours` holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FunctionType

__all__ = [
    "answering",
    "do",
    "fail",
    "invoke",
    "invoke_while_handling",
    "read",
    "read_plainly",
    "refuse_arguments",
    "remove",
    "write",
]

# Bound here, so that a program that replaces builtins does not replace ours.
_compile, _exec, _bool, _len, _iter, _next = compile, exec, bool, len, iter, next
_getattr, _setattr, _delattr = getattr, setattr, delattr
_plain_read, _type_read = object.__getattribute__, type.__getattribute__
_plain_write, _plain_remove = object.__setattr__, object.__delattr__
_type_write = type.__setattr__


def invoke(callee: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call natively."""
    if kwargs:
        return callee(*args, **kwargs)
    return callee(*args)


def invoke_while_handling(
    error: BaseException,
    callee: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call natively while CPython, too, knows of the exception that is being handled.

    So `sys.exc_info()` of native code sees it, and what native code raises has it as context.
    """
    context, traceback = error.__context__, error.__traceback__
    try:
        fail(error)
    except BaseException:  # noqa: BLE001  (any exception can be handled)
        error.__context__ = context
        error.__traceback__ = traceback
        return callee(*args, **kwargs)


def do(function: Callable[..., Any], *args: Any) -> Any:
    """Carry out an operation of the program."""
    return function(*args)


def fail(error: BaseException) -> None:
    """Raise what CPython raises here."""
    raise error


def raise_as_is(error: BaseException) -> None:
    """Go on raising an exception; neither its context nor its traceback change."""
    context, traceback = error.__context__, error.__traceback__
    try:
        fail(error)
    except BaseException:
        error.__context__ = context
        error.__traceback__ = traceback
        raise


def read(owner: Any, name: str) -> Any:
    """Get an attribute natively."""
    return _getattr(owner, name)


def read_plainly(owner: Any, name: str) -> Any:
    """Get an attribute as `object` does, without `__getattr__`."""
    return _plain_read(owner, name)


def read_of_class(cls: Any, name: str) -> Any:
    """Get an attribute of a class as `type` does, without a metaclass's `__getattr__`."""
    return _type_read(cls, name)


def write(owner: Any, name: str, value: Any) -> None:
    """Set an attribute natively."""
    _setattr(owner, name, value)


def write_plainly(owner: Any, name: str, value: Any) -> None:
    """Set an attribute as `object` does, without `__setattr__`."""
    _plain_write(owner, name, value)


def write_to_class(cls: Any, name: str, value: Any) -> None:
    """Set an attribute of a class as `type` does, without a metaclass's `__setattr__`."""
    _type_write(cls, name, value)


def remove_plainly(owner: Any, name: str) -> None:
    """Delete an attribute as `object` does, without `__delattr__`."""
    _plain_remove(owner, name)


def remove(owner: Any, name: str) -> None:
    """Delete an attribute natively."""
    _delattr(owner, name)


def truth(value: Any) -> bool:
    """Ask a value whether it is true, natively."""
    return _bool(value)


class NativeAnswer:
    """An object with a special method that returns a given value.

    Why: CPython checks what special methods return, and words its complaints; asking a builtin
    about an NativeAnswer makes it check a value that interpreted code returned.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def answer(self, *_args: Any) -> Any:
        """Return the value."""
        return self.value


_ANSWERS: dict[str, type[NativeAnswer]] = {}


def answering(name: str, value: Any) -> NativeAnswer:
    """Return an object whose special method of this name returns the value."""
    kind = _ANSWERS.get(name)
    if kind is None:
        kind = _ANSWERS[name] = type(
            "Answer", (NativeAnswer,), {name: NativeAnswer.answer, "__slots__": ()}
        )
    return kind(value)


def refuse_arguments(
    function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise the TypeError that CPython raises for arguments that do not fit.

    Why: it is worded by CPython itself, by calling an empty function with the same parameters.
    """
    scope: dict[str, Any] = {}
    _exec(_compile(_empty_source(function), "<arguments>", "exec"), scope)
    empty = scope["function"]
    empty.__defaults__ = function.__defaults__
    empty.__kwdefaults__ = function.__kwdefaults__
    empty.__name__ = function.__name__
    empty.__qualname__ = function.__qualname__
    empty(*args, **kwargs)


def _empty_source(function: FunctionType) -> str:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    words = list(positional)
    if code.co_posonlyargcount:
        words.insert(code.co_posonlyargcount, "/")
    end = code.co_argcount + code.co_kwonlyargcount
    keyword = code.co_varnames[code.co_argcount : end]
    if code.co_flags & 0x04:
        words.append(f"*{code.co_varnames[end]}")
        end += 1
    elif keyword:
        words.append("*")
    words += keyword
    if code.co_flags & 0x08:
        words.append(f"**{code.co_varnames[end]}")
    # A name such as `.0` cannot be spelt, and is never missing.
    return f"def function({', '.join(word.replace('.', 'implicit') for word in words)}): pass"


def length(answer: Any) -> int:
    """Check what a `__len__` in Python returned, as `len` does."""
    checked: Any = answering("__len__", answer)
    return _len(checked)


def iterate(value: Any) -> Any:
    """Ask for an iterator natively."""
    return _iter(value)


def advance(iterator: Any, default: Any) -> Any:
    """Ask for the next value natively."""
    return _next(iterator, default)


def get_item(owner: Any, key: Any) -> Any:
    """Get an item natively."""
    return owner[key]
