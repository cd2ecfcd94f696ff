"""Calls of functions and methods in C: what a guard says of them, and which are graph breaks.

C asks its arguments for what they are without the interpreter: whatever it may ask must be plain.
"""

from __future__ import annotations

import collections.abc
import functools
import itertools
import math
import operator
from collections import OrderedDict, deque
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.evaluation.special_methods import find_special, lookup
from monograph.bytecode.polyfills import POLYFILLS
from monograph.jit import callables
from monograph.jit.attribute_reads import (
    class_attribute,
    note_absence,
    note_plain_read,
    note_read,
)
from monograph.jit.effects.attributes import check_write
from monograph.jit.effects.containers import change_of, check_change
from monograph.jit.effects.guarded_queries import (
    tells_no_tracing,
)
from monograph.jit.effects.output import check_print
from monograph.jit.effects.plain_data import DICT_VIEWS, check_index, is_plain_data
from monograph.jit.graphs.sizes import SYMBOLIC, plain, symbolic
from monograph.jit.guard_code import (
    ATOMS,
    CONTAINERS,
    container_of,
    is_constant,
    is_python_class,
)
from monograph.jit.recording import NotRecordable
from monograph.jit.state_recipes import ITERATORS

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState
    from monograph.jit.recording import SegmentRecorder

C_KINDS: Final = (
    *(BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType),
)


def check_made_container(segment: SegmentRecorder, cls: type, base: Any, values: Any) -> None:
    """A container is filled by C, which asks nothing of Python. Raises: NotRecordable."""
    if lookup(cls, "__setitem__") is not lookup(base, "__setitem__"):
        raise NotRecordable(f"a `{cls.__qualname__}` is filled by C")
    for value in values:
        check_held(segment, base, value)


def check_c_function(
    segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: dict[str, Any]
) -> None:
    """Guard what a call of C depends on. Raises: NotRecordable, where it is a graph break."""
    changed = change_of(callee, args)
    if changed is not None and segment.guards.is_known(changed[0]):
        check_change(segment, *changed, kwargs)
    elif callee is print:
        check_print(segment, args, kwargs, is_plain_data)
    elif not tells_no_tracing(segment, callee) and not (
        callee is next and is_generator(segment, args)
    ):  # what that does is interpreted
        _check_unchanging(segment, callee, [*args, *kwargs.values()])


def _check_unchanging(segment: SegmentRecorder, callee: Any, values: list[Any]) -> None:
    key = id(callee)
    if key in callables.MODE_QUESTIONS:
        for value in values:
            if isinstance(value, torch.Tensor) and key not in callables.CLASS_QUESTIONS:
                segment.metadata(value, callee.__name__)
    elif callee in (getattr, hasattr, vars):
        _check_asked(segment, callee, values)
    elif callee is setattr and len(values) == 3 and type(values[1]) is str:
        check_write(segment, *values)
    elif key in callables.HOLDING:
        _check_class_of(segment, callee, values)
        for value in values:
            check_held(segment, callee, value)
    elif key in callables.COMPUTING:
        _check_class_of(segment, callee, values)
        _check_computed(segment, callee, values)
    else:
        owner = getattr(callee, "__self__", None)
        if type(callee) in (MethodDescriptorType, WrapperDescriptorType) and values:
            owner, values = values[0], values[1:]
        _check_method(segment, callee, owner, values)


def _check_class_of(segment: SegmentRecorder, callee: Any, values: list[Any]) -> None:
    """Guard what a question about a class depends on, if that can change."""
    kind = type(values[0]) if values else type
    if callee is callable:
        class_attribute(segment, kind, "__call__", lookup(kind, "__call__"))
    elif callee is bool:
        for name in ("__bool__", "__len__"):
            class_attribute(segment, kind, name, lookup(kind, name))
    elif callee in (isinstance, issubclass) and len(values) == 2:
        _check_subclass(segment, values[0] if callee is issubclass else kind, values[1])


_ABC: Final = type(collections.abc.Sized)


def _check_subclass(segment: SegmentRecorder, kind: Any, cls: Any) -> None:
    """Guard what a class derives from, or is registered as, if that can change."""
    if isinstance(cls, tuple | UnionType):
        for each in cls if isinstance(cls, tuple) else cls.__args__:
            _check_subclass(segment, kind, each)
        return
    is_abstract = isinstance(cls, _ABC)
    if type(cls) is not type and not is_abstract:
        return  # what it answers is interpreted
    if not isinstance(kind, type) or not (is_abstract or kind.__flags__ & (1 << 9)):
        return
    guards = segment.guards
    fixed = type(cls) is type and type(kind) is type and guards.tags.kind(kind)
    ask, one, two = (guards.constant(each) for each in (issubclass, kind, cls))
    found = issubclass(kind, cls)
    about = f"whether {kind.__qualname__} is a {cls.__qualname__}"
    guards.check(f"{ask}({one}, {two}) is not {found}", about, found, fixed=fixed)


def is_generator(segment: SegmentRecorder, values: list[Any]) -> bool:
    """Whether the first value is a generator that this call made, whose code is interpreted."""
    return type(values[0]) is InterpretedGenerator and not segment.guards.is_known(values[0])


def _check_asked(segment: SegmentRecorder, callee: Any, values: list[Any]) -> None:
    if callee is vars and len(values) == 1 and segment.guards.is_known(values[0]):
        note_read(segment, values[0], "__dict__", vars(values[0]))
        return
    if len(values) < 2 or type(values[1]) is not str:
        raise NotRecordable("an attribute whose name is no text")
    if len(values) == 3 or callee is hasattr:
        note_absence(segment, values[0], values[1])


def check_held(segment: SegmentRecorder, callee: Any, value: Any) -> None:
    """Note what C keeps of a value. Raises: NotRecordable, where it may ask it for anything."""
    if isinstance(value, torch.Tensor) and callee in (list, tuple, iter, zip, enumerate, map):
        segment.metadata(value)
        if callee in (iter, map) or not value.dim():
            raise NotRecordable("a tensor is iterated by C")
    if callee is map or callee is filter:
        segment.touch(value)
    elif callee not in (isinstance, type, callable, issubclass, super):
        segment.touch(value)
        _check_plain(value)
        if callee in (dict, OrderedDict) and lookup(type(value), "keys") is not MISSING:
            _check_known_items(value)


def _check_known_items(value: Any) -> None:
    """Raises: NotRecordable, of a mapping whose items C asks code of Python for."""
    if type(value) not in CONTAINERS:
        raise NotRecordable(f"the items of an object of type `{type(value).__name__}`")


_ASKED_BY_C: Final = (
    *("__len__", "__iter__", "__next__", "__getitem__", "__bool__", "__index__", "__int__"),
    *("__float__", "__abs__", "__round__"),
)


def _check_plain(value: Any) -> None:
    """Raises: NotRecordable, of what C may do anything with."""
    kind = type(value)
    if kind in ATOMS or kind in CONTAINERS or kind in ITERATORS or isinstance(value, torch.Tensor):
        return
    if is_constant(value) or kind in (FunctionType, MethodType, functools.partial):
        return
    if kind in _OPEN_KINDS or isinstance(value, tuple) or kind is InterpretedGenerator:
        return
    if is_python_class(kind) or container_of(kind) is not None:
        for name in _ASKED_BY_C:
            special = lookup(kind, name)
            if type(special) is FunctionType and not callables.enters(special):
                raise NotRecordable(f"`{kind.__qualname__}.{name}` is called by C")
        return
    raise NotRecordable(f"an object of type `{kind.__name__}` is handed to C")


OF_ITERTOOLS: Final = (
    *(each for each in vars(itertools).values() if isinstance(each, type)),
    *(type(next(itertools.groupby("a"))[1]), operator.itemgetter),
)
"""What holds what it was given, and is asked for in C; what it calls is interpreted."""


_OPEN_KINDS: Final = (
    *(*DICT_VIEWS, map, filter, reversed, CodeType, *OF_ITERTOOLS),
    *C_KINDS,
)


def _has_plain_text(segment: SegmentRecorder, value: Any) -> bool:
    """Whether a value is an exception whose text is that of plain values."""
    if not isinstance(value, BaseException):
        return False
    kind, names, guards = type(value), ("__str__", "__repr__"), segment.guards
    is_as_any = all(lookup(kind, name) is lookup(BaseException, name) for name in names)
    if is_as_any and guards.is_known(value):
        read, label = f"{guards.names[id(value)]}.args", f"{guards.label(value)}.args"
        guards.meet(value.args, read, label)
        segment.touch(value.args)
    return is_as_any and is_plain_data(list(value.args))


def _has_name(value: Any) -> bool:
    """Whether a value is a class whose text is made by C."""
    meta = type(value)
    is_class = isinstance(value, type)
    return is_class and (meta.__repr__, meta.__str__) == (type.__repr__, object.__str__)


_LOOKING_THROUGH: Final = (sorted, min, max, sum)
"""What is interpreted, and may find tensors among what it looks through."""


def _is_told(segment: SegmentRecorder, callee: Any, value: Any) -> bool:
    """Whether a guard says what the text or length of one value is."""
    if callee is len:
        if isinstance(value, torch.Tensor) and not is_of_sizes(segment, callee, [value]):
            segment.metadata(value, "len")
        return isinstance(value, torch.Tensor) or id(value) in segment.guards.shared
    if callee not in (str, repr):
        return False
    if not _has_name(value):
        return _has_plain_text(segment, value)
    guards, text = segment.guards, str(value)
    call = f"{guards.constant(callee)}({guards.constant(value)})"
    guards.check(f"{call} != {text!r}", f"the text of {text}", text, call)
    return True


def _check_computed(segment: SegmentRecorder, callee: Any, values: list[Any]) -> None:
    if len(values) == 1 and _is_told(segment, callee, values[0]):
        return
    if callee in (str, repr, format, hash, set, frozenset, bytes):
        is_set = callee in (set, frozenset)
        if not all(is_plain_data(value, compared=is_set) for value in values):
            raise NotRecordable(f"{called(callee)} of an object")
    is_of_c = callee.__module__ == "_operator" or (callee in (int, round) and len(values) > 1)
    if is_of_c and not is_plain_data(values, compared=True):
        raise NotRecordable(f"{called(callee)} of an object")
    for value in values:
        segment.touch(value)
        _check_plain(value)
        is_looked_through = callee in _LOOKING_THROUGH and not isinstance(value, torch.Tensor)
        if segment.has_tensors(value) and callee is not len and not is_looked_through:
            raise NotRecordable(f"{called(callee)} of a tensor")
        kind = type(value)
        if kind in ATOMS or kind in CONTAINERS or id(callee) in POLYFILLS:
            continue
        if not is_constant(value) and kind not in ITERATORS and callee is not len:
            raise NotRecordable(f"{called(callee)} of an object of type `{kind.__name__}`")


def _check_method(segment: SegmentRecorder, callee: Any, owner: Any, values: list[Any]) -> None:
    name = callee.__name__
    kind = type(owner)
    if isinstance(owner, torch.Tensor):
        if name not in callables.METADATA_METHODS:
            raise NotRecordable(f"`Tensor.{name}`")
        if not is_size(segment, name, owner, values):
            segment.metadata(owner, name)
        return
    if getattr(callee, "__objclass__", None) is object and name == "__getattribute__" and values:
        note_plain_read(segment, owner, values[0])
        return
    for value in values:
        _check_plain(value)
    if segment.guards.is_known(owner):
        _check_method_outside(segment, name, owner, values)
        return
    if name == "__next__" and kind in ITERATORS:
        segment.touch(owner)
        return
    if _is_of_base(segment, name, owner, values):
        return
    is_of_object = _is_of_object(callee, owner)
    if not is_of_object and kind not in (*CONTAINERS, *ATOMS, *_OPEN_KINDS):
        raise NotRecordable(f"`{kind.__name__}.{name}`")
    segment.touch([owner, *values])
    _check_compared(name, owner, values)


def _is_of_base(segment: SegmentRecorder, name: str, owner: Any, values: list[Any]) -> bool:
    """Whether a method is of the container that a class derives from. Raises: NotRecordable."""
    kind = type(owner)
    base = container_of(kind)
    if base is not None and name == "__init__":
        check_made_container(segment, kind, base, values)
        return True
    if base is None or name not in _OF_SUBCLASSES[base]:
        return False
    segment.touch([owner, *values])
    _check_compared(name, base(), values)
    return True


_OF_DICTS: Final = frozenset(
    {
        *("get", "keys", "items", "values", "__len__", "__contains__", "__getitem__", "__iter__"),
        *("__setitem__", "__delitem__"),
    }
)


_OF_SUBCLASSES: Final[dict[Any, frozenset[str]]] = {
    dict: _OF_DICTS | {"pop", "setdefault", "clear"},
    OrderedDict: _OF_DICTS,
    list: frozenset({"append", "extend", "insert", "pop", "__len__", "__getitem__", "__iter__"}),
}
"""Methods in C of a container that ask for nothing that a class deriving from it defines."""


def _is_of_object(callee: Any, owner: Any) -> bool:
    """Whether a method of a class of Python is that of `object`, or sets `args` of an exception."""
    made_by = getattr(callee, "__objclass__", None)
    if made_by is object:
        return bool(type(owner).__flags__ & (1 << 9)) and not isinstance(owner, ModuleType)
    is_class = isinstance(made_by, type)
    return is_class and callee.__name__ == "__init__" and isinstance(owner, BaseException)


_COMPARING: Final = frozenset({"index", "count", "remove", "sort", "__contains__", "__eq__"})


_INDEXING: Final = frozenset(
    {"pop", "insert", "rotate", "__getitem__", "__setitem__", "__delitem__", "__mul__", "__imul__"}
)


def _check_compared(name: str, owner: Any, values: list[Any]) -> None:
    """Raises: NotRecordable, where a method compares or shows what has an identity."""
    kind = type(owner)
    seen = [owner, *values] if name in _COMPARING or kind in (set, frozenset) else values[:1]
    if kind in (list, tuple, deque) and name not in _COMPARING:
        check_index(owner, *(values[:1] if name in _INDEXING else ()))
        return
    if not is_plain_data(values if kind in ATOMS else seen, compared=kind not in ATOMS):
        raise NotRecordable(f"`{kind.__name__}.{name}` of an object")


def _check_method_outside(
    segment: SegmentRecorder, name: str, owner: Any, values: list[Any]
) -> None:
    kind = type(owner)
    if id(owner) in segment.guards.shared and kind is MappingProxyType:
        segment.touch(values)
        return
    if callables.is_reading(owner, name) or kind in ATOMS:
        segment.touch([owner, *values])
        _check_compared(name, owner, values)
        return
    if name == "get" and container_of(kind) in (dict, OrderedDict) and type(values[0]) is str:
        _check_item(segment, owner, values[0])
        return
    if container_of(kind) is not None and name in ("keys", "items", "values", "__len__"):
        segment.touch(owner)
        return
    if kind is ModuleType:
        raise NotRecordable(f"a call of `{owner.__name__}.{name}`")
    raise NotRecordable(f"`{kind.__name__}.{name}` of `{segment.guards.label(owner)}`")


def _check_item(segment: SegmentRecorder, owner: Any, key: str) -> None:
    """Guard one item of an object whose class derives from a dict, or that it is not there."""
    guards, base = segment.guards, container_of(type(owner))
    found = base.__contains__(owner, key)
    call = f"{guards.constant(base.__contains__)}({guards.names[id(owner)]}, {key!r})"
    guards.check(f"{call} is not {found}", f"{key!r} in {guards.label(owner)}", found, call)
    if found:
        guards.item(owner, base, key)


def check_special(interpreter: ThreadState, value: Any, *names: str) -> None:
    """Raises: NotRecordable, where an operator is C of an unknown class."""
    kind = type(value)
    if kind in ATOMS or kind in CONTAINERS or is_constant(value):
        return
    methods = [find_special(interpreter, kind, name) for name in names]
    if container_of(kind) is not None:
        return
    if is_python_class(kind) and any(method is not None for method in methods):
        return
    if isinstance(value, tuple) or kind in DICT_VIEWS:
        return
    raise NotRecordable(f"`{names[0]}` of an object of type `{kind.__name__}`")


def is_size(segment: SegmentRecorder, name: str, owner: Any, values: list[Any]) -> bool:
    """Whether a call asks for a size that is a value of the graph."""
    if name != "size" or not isinstance(owner, torch.Tensor):
        return False
    if not segment.has_sizes(owner):
        return False
    if not values:
        return True
    return len(values) == 1 and type(values[0]) is int and -owner.dim() <= values[0] < owner.dim()


_OF_SIZES: Final = (int, float, abs, math.ceil, math.floor)


def is_of_sizes(segment: SegmentRecorder, callee: Any, args: list[Any]) -> bool:
    """Whether a function says something of sizes that is a value of the graph, or a relation."""
    if callee is len and len(args) == 1 and isinstance(args[0], torch.Tensor):
        return segment.has_sizes(args[0]) and args[0].dim() > 0
    sizes = [each for each in args if type(each) in SYMBOLIC]
    if not sizes:
        return False
    if callee is isinstance:
        return len(args) == 2 and type(args[0]) in SYMBOLIC
    if callee in (max, min):
        return len(args) > 1 and all(type(each) in (*SYMBOLIC, int) for each in args)
    return callee in _OF_SIZES and len(args) == 1 and not sizes[0].is_data


def of_sizes(segment: SegmentRecorder, function: Any, /, *args: Any) -> Any:
    """What a function says of sizes, or `len` of a tensor. Raises: NotRecordable."""
    if function is len:
        return segment.size(args[0], 0)
    if function is isinstance:
        return isinstance(plain(args[0]), args[1])
    if function in (max, min):
        best, symbol = args[0], ">" if function is max else "<"
        for each in args[1:]:
            is_plain_pair = type(best) not in SYMBOLIC and type(each) not in SYMBOLIC
            is_better = function(best, each) is not best if is_plain_pair else None
            if is_better is None:
                is_better = segment.decide(symbol, each, best)
            best = each if is_better else best
        return best
    (given,) = args
    guards = segment.guards
    read = guards.computed(f"{guards.constant(function)}({given.read})")
    node = segment.graph.call_function(function, (segment.argument(given),))
    return symbolic(function(plain(given)), node, read if given.read else "")


def called(callee: Any) -> str:
    """The callee as messages name it."""
    module = getattr(callee, "__module__", None)
    name = getattr(callee, "__qualname__", None) or getattr(callee, "__name__", None)
    if name is None:
        return f"an object of type `{type(callee).__name__}`"
    return f"`{name}`" if module in (None, "builtins") else f"`{module}.{name}`"
