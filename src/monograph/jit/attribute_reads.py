"""Attribute reads: which of them fold, and the guards they need."""

from __future__ import annotations

import enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.jit import callables
from monograph.jit.callables import TENSOR_ATTRIBUTES
from monograph.jit.graphs.arrays import ARRAY_FACTS
from monograph.jit.graphs.expectations import expect_metadata
from monograph.jit.guard_code import ATOMS, container_of, is_constant, is_python_class
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = [
    "class_attribute",
    "getter_of",
    "is_of_torch",
    "note_absence",
    "note_grad",
    "note_module_read",
    "note_plain_read",
    "note_read",
]

_OF_ERRORS: Final = frozenset({"args", "__cause__", "__context__", "__suppress_context__"})
_MODULE_TABLES: Final = ("_parameters", "_buffers", "_modules")
_METHODS: Final = (
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    staticmethod,
    classmethod,
)


def class_attribute(segment: SegmentRecorder, kind: type, name: str, found: Any) -> None:
    """Guard what a class or one of its bases defines under a name."""
    if not kind.__flags__ & (1 << 9):
        return  # classes in C do not change
    for base in kind.__mro__:
        if (id(base), name) in segment.written:
            if base is kind:
                return
            raise NotRecordable(f"`{base.__qualname__}.{name}` is read after it was set")
    guards = segment.guards
    owner = guards.constant(kind)
    fixed = type(kind) is type and guards.tags.kind(kind)
    label = f"{kind.__qualname__}.{name}"
    if type(found) is FunctionType:
        guards.check(f"{owner}.{name} is not {guards.constant(found)}", label, found, fixed=fixed)
        guards.know(found, guards.constant(found), label)
    else:
        look = guards.constant(lookup)
        read = f"{look}({owner}, {name!r})"
        guards.check(f"{read} is not {guards.constant(found)}", label, found, read, fixed=fixed)


def note_read(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> None:
    """Guard an attribute that was read. Raises: NotRecordable."""
    if isinstance(owner, torch.Tensor):
        _of_tensor(segment, owner, name)
    elif segment.is_array(owner):
        _of_array(segment, owner, name)
    elif isinstance(owner, ModuleType):
        namespace = segment.guards.constant(owner.__dict__)
        if name not in owner.__dict__:
            raise NotRecordable(f"attribute `{name}` of a module of Python")
        if (id(owner.__dict__), name) not in segment.written:
            read = f"{namespace}[{name!r}]"
            fixed = is_of_torch(owner.__dict__) and segment.guards.tags.table(owner.__dict__)
            segment.guards.meet(value, read, f"{owner.__name__}.{name}", fixed=fixed)
    elif isinstance(owner, type):
        _of_class(segment, owner, name, value)
    elif isinstance(owner, super):
        _of_super(segment, owner, name, value)
    elif type(owner) in (FunctionType, MethodType):
        _of_function(segment, owner, name, value)
    elif getter_of(type(owner)) is not None:  # what it read is guarded, as it was interpreted
        getter = lookup(type(owner), "__getattribute__")
        class_attribute(segment, type(owner), "__getattribute__", getter)
    else:
        _of_instance(segment, owner, name, value)


def getter_of(kind: type) -> FunctionType | None:
    """The `__getattribute__` of a class that is written in Python."""
    found = lookup(kind, "__getattribute__")
    return found if type(found) is FunctionType else None


def _variables_of(owner: Any) -> dict[str, Any]:
    if not type(owner).__dictoffset__:
        return {}
    return object.__getattribute__(owner, "__dict__")


def note_variables(segment: SegmentRecorder, owner: Any) -> None:
    """Python reads the `__dict__` of an object from outside. Raises: NotRecordable."""
    guards = segment.guards
    is_module = issubclass(type(owner), torch.nn.Module)
    if is_module and any(key == id(owner) for key, _ in segment.written):
        raise NotRecordable("a `__dict__` is read after an attribute was set")
    table = object.__getattribute__(owner, "__dict__")
    guards.meet(table, _read_of_variables(segment, owner), f"{guards.label(owner)}.__dict__")
    segment.variables[id(table)] = owner


def _read_of_variables(segment: SegmentRecorder, owner: Any) -> str:
    """The expression of a `__dict__`, which asks no code of the class."""
    own = segment.guards.names[id(owner)]
    if getter_of(type(owner)) is None:
        return f"{own}.__dict__"
    return f"{segment.guards.constant(object.__getattribute__)}({own}, '__dict__')"


def note_plain_read(segment: SegmentRecorder, owner: Any, name: Any) -> None:
    """`object.__getattribute__` is called of what has one of its own. Raises: NotRecordable."""
    kind = type(owner)
    if getter_of(kind) is None or type(name) is not str or not is_python_class(kind):
        raise NotRecordable(f"`object.__getattribute__` of a `{kind.__name__}`")
    found = lookup(kind, name)
    if isinstance(found, property) and not _is_seen(found.fget):
        raise NotRecordable(f"property `{kind.__qualname__}.{name}`")
    if found is MISSING and name not in _variables_of(owner):
        _note_absence(segment, owner, name)
        return
    is_code = isinstance(found, property) or type(lookup(type(found), "__get__")) is FunctionType
    _of_instance(segment, owner, name, None if is_code else object.__getattribute__(owner, name))


def note_grad(segment: SegmentRecorder, tensor: torch.Tensor) -> None:
    """Python reads the gradient of a tensor: no operator of a graph sets one.

    Raises: NotRecordable, of one that is made here.
    """
    guards = segment.guards
    if not guards.is_known(tensor) or not tensor.is_leaf:
        raise NotRecordable("`Tensor.grad`")
    if (id(tensor), "grad") not in segment.written:
        name, label = guards.names[id(tensor)], f"{guards.label(tensor)}.grad"
        guards.check(f"not {name}.is_leaf", f"{guards.label(tensor)}.is_leaf", True)
        guards.meet(tensor.grad, f"{name}.grad", label)


def note_absence(segment: SegmentRecorder, owner: Any, name: str) -> None:
    """Guard that an object has no attribute of a name, if so. Raises: NotRecordable."""
    is_class = isinstance(owner, type)
    found = lookup(type(owner), name)
    if found is MISSING and is_class:
        found = lookup(owner, name)
    if found is MISSING and (is_class or getter_of(type(owner)) is None):
        _note_absence(segment, owner, name)


def _note_absence(segment: SegmentRecorder, owner: Any, name: str) -> None:
    kind = type(owner)
    guards = segment.guards
    is_tensor, is_class = isinstance(owner, torch.Tensor), isinstance(owner, type)
    is_seen = guards.is_known(owner) or id(owner) in segment.nodes or is_class
    if (is_tensor or is_class) and (lookup(kind, "__getattr__") is not MISSING or not is_seen):
        raise NotRecordable(f"whether a `{kind.__name__}` has an attribute `{name}`")
    if is_class:
        class_attribute(segment, owner, name, MISSING)
        class_attribute(segment, kind, name, MISSING)
        return
    variables = _variables_of(owner)
    if name in variables or (id(owner), name) in segment.written:
        return
    class_attribute(segment, kind, name, MISSING)
    if not guards.is_known(owner):
        return
    about = f"{guards.label(owner)}.{name}"
    if kind.__dictoffset__:
        _check_not_own(segment, owner, name, about, "nothing")
    is_module = issubclass(type(owner), torch.nn.Module)
    if is_module and not any(name in variables[table] for table in _MODULE_TABLES):
        _note_no_part(segment, owner, name)


def _note_no_part(segment: SegmentRecorder, owner: torch.nn.Module, name: str) -> None:
    guards, about = segment.guards, f"{segment.guards.label(owner)}.{name}"
    for table in _MODULE_TABLES:
        place, fixed = _variables(segment, owner)
        fixed = fixed and guards.tags.table(owner.__dict__[table])
        guards.check(f"{name!r} in {place}[{table!r}]", about, "nothing", fixed=fixed)


def note_module_read(segment: SegmentRecorder, owner: Any, name: str) -> None:
    """`Module.__getattr__` is called, which looks for parameters, buffers and modules.

    Raises: NotRecordable.
    """
    if not segment.guards.is_known(owner) or not issubclass(type(owner), torch.nn.Module):
        raise NotRecordable("`Module.__getattr__` of an object of unknown origin")
    for table in _MODULE_TABLES:
        if name in owner.__dict__[table]:
            _of_module(segment, owner, name, owner.__dict__[table][name])
            return
    _note_no_part(segment, owner, name)


def _variables(segment: SegmentRecorder, owner: Any) -> tuple[str, bool]:
    """The expression of the `__dict__` of an object from outside, and whether that is watched."""
    guards = segment.guards
    own = guards.names[id(owner)]
    if getter_of(type(owner)) is not None:
        return _read_of_variables(segment, owner), False
    if not is_constant(owner):
        return f"{own}.__dict__", False
    table = guards.constant(owner.__dict__)
    fixed = guards.tags.instance(owner)
    about = f"{guards.label(owner)}.__dict__"
    guards.check(f"{own}.__dict__ is not {table}", about, "as it was", fixed=fixed)
    return table, fixed and guards.tags.table(owner.__dict__)


def _check_not_own(
    segment: SegmentRecorder, owner: Any, name: str, about: str, expected: str
) -> None:
    """Guard that an object has no attribute of its own of a name."""
    table, fixed = _variables(segment, owner)
    segment.guards.check(f"{name!r} in {table}", about, expected, fixed=fixed)


def is_of_torch(namespace: dict[str, Any]) -> bool:
    """Whether globals are those of a module of PyTorch, which are seldom written to."""
    return str(namespace.get("__name__")).startswith("torch.")


def _of_tensor(segment: SegmentRecorder, owner: torch.Tensor, name: str) -> None:
    if name in TENSOR_ATTRIBUTES:
        segment.metadata(owner, name)
    elif name == "grad":
        return  # `note_grad` has guarded it
    elif not isinstance(lookup(type(owner), name), _METHODS) or name in owner.__dict__:
        raise NotRecordable(f"`Tensor.{name}`")


def _of_array(segment: SegmentRecorder, owner: Any, name: str) -> None:
    """What an array from outside is, is guarded; the dtype of one that is made, expected."""
    node = segment.node_of(owner)
    if isinstance(lookup(type(owner), name), MethodDescriptorType):
        return
    if name not in ARRAY_FACTS or (name != "dtype" and not segment.guards.is_known(owner)):
        raise NotRecordable(f"`{name}` of an array")
    if not segment.guards.is_known(owner):
        segment.expect(node, expect_metadata, "dtype", owner.dtype)


def _of_class(segment: SegmentRecorder, owner: type, name: str, value: Any) -> None:
    found = lookup(owner, name)
    if found is MISSING or type(found) in (GetSetDescriptorType, property):
        if name in {"__name__", "__qualname__", "__module__", "__dict__", "__mro__", "__doc__"}:
            segment.keep(value)
            return
        raise NotRecordable(f"attribute `{name}` of a class")
    class_attribute(segment, owner, name, found)
    if owner.__flags__ & (1 << 9):
        _constant_of_class(segment, owner, name, found, value)


def _constant_of_class(
    segment: SegmentRecorder, owner: type, name: str, found: Any, value: Any
) -> None:
    """The value comes from a class attribute, which is guarded by its identity."""
    guards = segment.guards
    inner = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    for each in (inner, value if value is inner else None):
        if each is not None and type(each) not in ATOMS and not guards.is_known(each):
            guards.know(each, guards.constant(each), f"{owner.__qualname__}.{name}")


def _of_super(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> None:
    """What the classes behind one define, in the order of the object's class."""
    kind = owner.__self_class__
    order = kind.__mro__
    guards = segment.guards
    fixed = type(kind) is type and guards.tags.kind(kind)
    fails = f"{guards.constant(kind)}.__mro__ is not {guards.constant(order)}"
    guards.check(fails, f"{kind.__qualname__}.__mro__", order, fixed=fixed)
    for base in order[order.index(owner.__thisclass__) + 1 :]:
        class_attribute(segment, base, name, lookup(base, name))
        found = base.__dict__.get(name, MISSING)
        inner = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        if type(inner) is FunctionType:
            guards.know(inner, guards.constant(inner), f"{base.__qualname__}.{name}")
            return
        if found is not MISSING and type(value) in _OF_C:
            return
    raise NotRecordable(f"`super().{name}`")


_OF_C: Final = (
    *(BuiltinFunctionType, MethodWrapperType, MethodDescriptorType, WrapperDescriptorType),
)


def _of_function(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> None:
    guards = segment.guards
    if type(owner) is MethodType or not guards.is_known(owner):
        if name in {"__name__", "__qualname__", "__self__", "__func__", "__call__"}:
            return
        raise NotRecordable(f"attribute `{name}` of a function")
    guards.attribute(owner, name, value, f"{guards.names[id(owner)]}.{name}")


def _of_instance(segment: SegmentRecorder, owner: Any, name: str, value: Any) -> None:
    kind = type(owner)
    is_known = segment.guards.is_known(owner)
    found = lookup(kind, name)
    variables = _variables_of(owner)
    if name == "__class__":
        return
    if found is not MISSING and (name not in variables or isinstance(found, property)):
        _from_class(segment, owner, name, found, value)
        return
    if not is_known or (id(owner), name) in segment.written:
        return
    guards = segment.guards
    if name in variables:
        class_attribute(segment, kind, name, found)  # where that is a property, it is asked first
        if type(found).__flags__ & (1 << 9) and found is not MISSING:
            _check_descriptor(segment, type(found), f"{kind.__qualname__}.{name}")
        table, fixed = _variables(segment, owner)
        guards.attribute(owner, name, value, f"{table}[{name!r}]", fixed=fixed)
        return
    if issubclass(type(owner), torch.nn.Module):
        _of_module(segment, owner, name, value)
        return
    if not _is_seen(lookup(kind, "__getattr__")):
        raise NotRecordable(f"attribute `{name}` of an object of type `{kind.__name__}`")
    # `__getattr__` has answered: what it read is guarded, as it was interpreted.
    if kind.__dictoffset__:
        _check_not_own(segment, owner, name, f"{guards.label(owner)}.{name}", "nothing")


def _is_seen(function: Any) -> bool:
    """Whether what calling a special method does is interpreted."""
    return type(function) is FunctionType and callables.enters(function)


def _of_module(segment: SegmentRecorder, owner: torch.nn.Module, name: str, value: Any) -> None:
    guards = segment.guards
    variables = owner.__dict__
    for table in _MODULE_TABLES:
        held = variables[table]
        if name in held:
            tables = guards.constant(held)
            namespace, fixed = _variables(segment, owner)
            moved = f"{namespace}[{table!r}] is not {tables}"
            guards.check(moved, f"{guards.label(owner)}.{table}", "as it was", fixed=fixed)
            fixed = fixed and guards.tags.table(held)
            guards.attribute(owner, name, value, f"{tables}[{name!r}]", fixed=fixed)
            return
    raise NotRecordable(f"attribute `{name}` of a module")


def _from_class(segment: SegmentRecorder, owner: Any, name: str, found: Any, value: Any) -> None:
    kind = type(owner)
    guards = segment.guards
    if kind.__flags__ & (1 << 9):
        class_attribute(segment, kind, name, found)
    if isinstance(found, property):
        return  # what it read is guarded, as it was interpreted
    if isinstance(owner, tuple) and hasattr(kind, "_fields"):
        segment.touch(owner)
        return
    if isinstance(found, MemberDescriptorType | GetSetDescriptorType):
        _of_c_descriptor(segment, owner, name, found, value)
        return
    if type(found).__flags__ & (1 << 9):
        _check_descriptor(segment, type(found), f"{kind.__qualname__}.{name}")
    if guards.is_known(owner) and kind.__dictoffset__ and not isinstance(found, property):
        about = f"{guards.label(owner)}.{name}"
        _check_not_own(segment, owner, name, about, f"{kind.__qualname__}.{name}")
    if kind.__flags__ & (1 << 9):
        _constant_of_class(segment, kind, name, found, value)


def _check_descriptor(segment: SegmentRecorder, kind: type, label: str) -> None:
    """Guard what makes objects of a class descriptors. Raises: NotRecordable."""
    get = lookup(kind, "__get__")
    if type(get) is FunctionType and not _is_seen(get) and kind is not enum.property:
        raise NotRecordable(f"`{label}` is a descriptor")
    for name in ("__get__", "__set__", "__delete__"):
        class_attribute(segment, kind, name, lookup(kind, name))


def _of_c_descriptor(
    segment: SegmentRecorder, owner: Any, name: str, found: Any, value: Any
) -> None:
    guards = segment.guards
    if isinstance(found, MemberDescriptorType):
        if guards.is_known(owner) and (id(owner), name) not in segment.written:
            guards.attribute(owner, name, value, f"{guards.names[id(owner)]}.{name}")
        return
    if not guards.is_known(owner) and (
        name == "__dict__" or (name in _OF_ERRORS and isinstance(owner, BaseException))
    ):
        return
    if type(value) in ATOMS and is_constant(owner):
        return
    if type(owner) in (torch.finfo, torch.iinfo):
        if guards.is_known(owner):
            guards.attribute(owner, name, value, f"{guards.names[id(owner)]}.{name}")
        return
    if type(owner) is CodeType and name.startswith("co_"):
        return
    if name == "__dict__" and (is_python_class(type(owner)) or container_of(type(owner))):
        note_variables(segment, owner)
        return
    raise NotRecordable(f"attribute `{name}` of an object of type `{type(owner).__name__}`")
