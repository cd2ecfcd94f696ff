"""Calls: whether one is interpreted, an operator of the graph, folded, or a graph break."""

from __future__ import annotations

import functools
import inspect
import operator
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodType,
)
from typing import TYPE_CHECKING, Any, Final
from weakref import ReferenceType

import torch

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.bytecode.polyfills import POLYFILLS
from monograph.jit import callables
from monograph.jit.attribute_reads import (
    class_attribute,
    note_module_read,
)
from monograph.jit.calling.c_functions import (
    C_KINDS,
    called,
    check_c_function,
    check_held,
    check_made_container,
    is_generator,
    is_of_sizes,
)
from monograph.jit.effects.autocast import check_autocast
from monograph.jit.effects.guarded_queries import (
    filters_warnings,
    is_asked_again,
)
from monograph.jit.effects.shared_results import check_cached, check_signature, gives_shared
from monograph.jit.graphs.data_numbers import eager_leaf, takes_number
from monograph.jit.graphs.sizes import ChosenTensor, holds_sizes, plain
from monograph.jit.guard_code import (
    CONTAINERS,
    LRU_CACHE,
    NotGuardable,
    container_of,
)
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = [
    "Leaf",
    "arguments_of",
    "callee_of",
    "check_call",
    "find_leaf",
    "open_function",
    "takes_sizes",
]

Leaf = tuple[str, Any]


_GENERATORS: Final = 0x20 | 0x80 | 0x200


def callee_of(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, list[Any], Any]:
    """What a call ends at, without what binds arguments: methods, partials, `__call__`."""
    while True:
        kind = type(callee)
        if kind is MethodType:
            callee, args = callee.__func__, [callee.__self__, *args]
        elif kind is functools.partial:
            kwargs = {**callee.keywords, **kwargs}
            callee, args = callee.func, [*callee.args, *args]
        elif isinstance(callee, type) or kind in C_KINDS or kind is FunctionType:
            return callee, args, kwargs
        else:
            special = lookup(kind, "__call__")
            if type(special) is not FunctionType:
                return callee, args, kwargs
            callee, args = special, [callee, *args]


def _open(segment: SegmentRecorder, callee: Any) -> None:
    """Guard what binds the arguments of a callee that comes from outside."""
    guards = segment.guards
    kind = type(callee)
    if kind is MethodType:
        _open(segment, callee.__func__)
    elif kind is functools.partial:
        if guards.is_known(callee):
            name, label = guards.names[id(callee)], guards.label(callee)
            for part in ("func", "args", "keywords"):
                guards.meet(getattr(callee, part), f"{name}.{part}", f"{label}.{part}")
            segment.touch(callee.args)
            segment.touch(callee.keywords)
        _open(segment, callee.func)
    elif kind not in C_KINDS and kind is not FunctionType and not isinstance(callee, type):
        special = lookup(kind, "__call__")
        if special is not MISSING:
            class_attribute(segment, kind, "__call__", special)


def check_call(
    segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: dict[str, Any]
) -> None:
    """Guard what a call depends on. Raises: NotRecordable, where it is a graph break."""
    _open(segment, callee)
    callee, args, kwargs = callee_of(callee, args, kwargs)
    leaf = find_leaf(callee, args, kwargs)
    if leaf is not None:
        segment.argument(arguments_of(leaf, callee, args))
        segment.argument(kwargs)
        if called(callee).endswith("tensor_split`") and _any_tensor([*args[1:], *kwargs.values()]):
            raise NotRecordable("`tensor_split` at what a tensor says")
        return
    if check_autocast(segment, callee, args, kwargs) or _is_of_eager(segment, callee, args, kwargs):
        return
    if type(callee) is ReferenceType and segment.guards.is_known(callee):
        name, label = segment.guards.names[id(callee)], segment.guards.label(callee)
        segment.guards.meet(callee(), f"{name}()", f"{label}()")
    elif type(callee) is LRU_CACHE:
        check_cached(segment, callee, [*args, *kwargs.values()])
    elif type(callee) is FunctionType:
        _check_function(segment, callee, args, kwargs)
    elif isinstance(callee, type):
        _check_class(segment, callee, args, kwargs)
    elif type(callee) in C_KINDS:
        check_c_function(segment, callee, args, kwargs)
    else:
        raise NotRecordable(f"a call of {called(callee)}")


def _is_of_eager(segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: Any) -> bool:
    """Whether a call is a node that only Python runs, or folds. Raises: NotRecordable."""
    leaf = eager_leaf(segment, callee, args, kwargs)
    if leaf is not None:
        segment.argument(arguments_of(leaf[:2], callee, args)[leaf[2] :])
        segment.argument(kwargs)
        _check_number(segment, callee, args)
        return True
    if type(callee) is operator.itemgetter and not segment.guards.is_known(callee):
        check_held(segment, tuple, args[0])
        if type(args[0]) not in CONTAINERS:
            raise NotRecordable(f"{called(callee)} of an object")
        return True
    is_computed = takes_number(callee, args)
    if is_computed and segment.has_irrevocable:
        raise NotRecordable(f"{called(callee)} of a number that depends on data")
    return is_computed


def _check_number(segment: SegmentRecorder, callee: Any, args: list[Any]) -> None:
    """Guard which function is called, and what kind of number a tensor holds."""
    guards = segment.guards
    name = guards.names.get(id(callee))
    if name is not None and name not in guards.constants:
        fails = f"{name} is not {guards.constant(callee)}"
        guards.check(fails, guards.label(callee), callee, name)
    owner = getattr(callee, "__self__", None)
    for value in (owner, *args):
        if isinstance(value, torch.Tensor):
            segment.node_of(value)
            segment.metadata(value, "dtype")


def find_leaf(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Leaf | None:
    """The kind and target of the node that a call becomes, if it is an operator."""
    leaf = callables.leaf_name(callee)
    if leaf is not None:
        return leaf
    if id(callee) in callables.LEAF_BUILTINS and _any_tensor([*args, *kwargs.values()]):
        return "call_function", callee
    return ("call_method", "type") if _is_cast(callee, args) else None


def _is_cast(callee: Any, args: list[Any]) -> bool:
    """Whether a call is of `Tensor.type` with a dtype, without which it gives a text."""
    owner = getattr(callee, "__self__", None)
    is_bound = isinstance(owner, torch.Tensor) and callee.__name__ == "type"
    is_method = is_bound or callee is torch.Tensor.type
    return is_method and bool(args) and type(args[-1]) is torch.dtype


def _any_tensor(values: list[Any]) -> bool:
    for value in values:
        if isinstance(value, torch.Tensor):
            return True
        if type(value) in (list, tuple) and any(isinstance(each, torch.Tensor) for each in value):
            return True
    return False


def arguments_of(leaf: Leaf, callee: Any, args: list[Any]) -> list[Any]:
    """The arguments of the node, whose first one is what a bound method is bound to."""
    if leaf[0] == "call_method" and type(callee) is BuiltinFunctionType:
        return [callee.__self__, *args]
    return args


_GETATTR: Final[Any] = torch.nn.Module.__getattr__


# --- functions ------------------------------------------------------------------------------------


def _check_function(
    segment: SegmentRecorder, function: FunctionType, args: list[Any], kwargs: Any
) -> None:
    if id(function) in callables.MODE_QUESTIONS:
        return
    if function.__name__ in {"send", "throw", "close"} and args and is_generator(segment, args):
        return  # what a generator does is interpreted
    if is_asked_again(segment, function, args):
        return
    if filters_warnings(function, args, kwargs):
        return
    if function is _GETATTR and len(args) == 2 and type(args[1]) is str:
        note_module_read(segment, *args)
        return
    if gives_shared(segment, function, args, kwargs):
        inner = callee_of(args[0], [], {})[0]
        _open(segment, args[0])
        open_function(segment, inner, [])
        check_signature(segment, inner)
        return
    if not callables.enters(function):
        raise NotRecordable(f"a call of `{function.__module__}.{function.__qualname__}`")
    if function.__code__.co_flags & _GENERATORS & ~0x20:
        raise NotRecordable("asynchronous code")
    open_function(segment, function, args)


def open_function(segment: SegmentRecorder, function: FunctionType, args: list[Any]) -> None:
    """Guard what calling a function reads of it: code, defaults, cells.

    Raises: NotRecordable, of a function of unknown origin.
    """
    guards = segment.guards
    if id(function) in segment.made_functions:
        return
    if not guards.is_known(function):
        _find_special(segment, function, args)
    name, label = guards.names[id(function)], function.__qualname__
    key = f"{name}.__code__ is not {guards.constant(function.__code__)}"
    fixed = name in guards.constants and guards.tags.function(function)
    guards.check(key, f"{label}.__code__", function.__code__, fixed=fixed)
    if name not in guards.constants:
        globals_ = guards.constant(function.__globals__)
        guards.check(f"{name}.__globals__ is not {globals_}", f"{label}.__globals__", None)
    try:
        guards.meet_parts(function, name, label)
    except NotGuardable as reason:
        raise NotRecordable(str(reason)) from None


def _find_special(segment: SegmentRecorder, function: FunctionType, args: list[Any]) -> None:
    """A special method that the interpreter looked up on the class of its first argument."""
    kind = type(args[0]) if args else None
    if (
        isinstance(args[0] if args else None, type)
        and lookup(args[0], function.__name__) is not MISSING
    ):
        kind = args[0]
    found = MISSING if kind is None else lookup(kind, function.__name__)
    inner = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    if isinstance(found, property):
        inner = function if function in (found.fget, found.fset, found.fdel) else None
    if kind is None or inner is not function:
        raise NotRecordable(f"a call of `{function.__qualname__}`, from where is not known")
    class_attribute(segment, kind, function.__name__, found)
    segment.guards.know(function, segment.guards.constant(function), function.__qualname__)


# --- classes --------------------------------------------------------------------------------------


def _check_class(
    segment: SegmentRecorder, cls: type, args: list[Any], kwargs: dict[str, Any]
) -> None:
    if id(cls) in callables.HOLDING or id(cls) in callables.COMPUTING:
        check_c_function(segment, cls, args, kwargs)
        return
    if id(cls) in POLYFILLS and cls.__module__ == "itertools":
        for value in (*args, *kwargs.values()):
            check_held(segment, iter, value)
        return
    if cls.__flags__ & (1 << 9):
        _check_python_class(segment, cls, args, kwargs)
    elif issubclass(cls, BaseException):
        segment.touch(args)
    else:
        raise NotRecordable(f"a call of {called(cls)}")


def _check_python_class(
    segment: SegmentRecorder, cls: type, args: list[Any], kwargs: dict[str, Any]
) -> None:
    if lookup(type(cls), "__call__") is not lookup(type, "__call__"):
        raise NotRecordable(f"a call of {called(cls)}")
    init, new = lookup(cls, "__init__"), lookup(cls, "__new__")
    is_error = issubclass(cls, BaseException) and type(cls.__new__) is BuiltinFunctionType
    if issubclass(cls, torch.nn.Module):
        if gives_shared(segment, cls, args, kwargs):
            class_attribute(segment, cls, "__init__", init)
            return
        raise NotRecordable(f"a module is made: `{cls.__qualname__}`")
    for special in (init, new.__func__ if isinstance(new, staticmethod) else new):
        if type(special) is FunctionType:
            _check_function(segment, special, [cls, *args], {})
    if lookup(cls, "__del__") is not MISSING:
        raise NotRecordable(f"an object with a `__del__` is made: `{cls.__qualname__}`")
    if is_error:
        segment.touch(args)
    elif cls.__new__ is object.__new__ or type(new) in (staticmethod, FunctionType):
        segment.guards.know(cls, segment.guards.constant(cls), cls.__qualname__)
    else:
        _check_derived(segment, cls, [*args, *kwargs.values()])


def _check_derived(segment: SegmentRecorder, cls: type, values: list[Any]) -> None:
    """A class that derives from a container is called. Raises: NotRecordable, of any other."""
    base = container_of(cls)
    if base is None or cls.__new__ is not base.__new__:
        raise NotRecordable(f"a call of {called(cls)}")
    segment.guards.know(cls, segment.guards.constant(cls), cls.__qualname__)
    if type(lookup(cls, "__init__")) is not FunctionType:
        check_made_container(segment, cls, base, values)


def takes_sizes(
    segment: SegmentRecorder, callee: Any, args: list[Any], named: dict[str, Any]
) -> bool:
    """Whether a call may be given sizes: of an operator, or of a function that is interpreted."""
    callee, args, kwargs = callee_of(callee, args, {})
    if find_leaf(callee, args, kwargs) is not None:
        return True
    if not args and not named and isinstance(getattr(callee, "__self__", None), torch.Tensor):
        return True  # it is given none
    if callee is print and not named:
        return not any(type(each) is ChosenTensor for each in args)
    if callee is len and len(args) == 1 and holds_sizes(args[0]):
        return True
    if is_of_sizes(segment, callee, args) and not named:
        return True
    if takes_number(callee, args) or eager_leaf(segment, callee, args, kwargs) is not None:
        return True
    if type(callee) is not FunctionType or id(callee) in callables.MODE_QUESTIONS:
        return False
    flags = callee.__code__.co_flags
    if flags & inspect.CO_VARKEYWORDS:
        code = callee.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(plain(each) is not each for key, each in named.items() if key not in known):
            return False
    return callables.enters(callee) and not flags & _GENERATORS
