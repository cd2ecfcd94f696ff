"""Reading, writing and deleting attributes, as `object`, `type`, modules and `super` do it.

Whatever of the protocol is written in Python is interpreted: `__getattribute__`, `__getattr__`,
`__setattr__`, `__delattr__`, properties, and descriptors. The rest is one native call.
"""

from __future__ import annotations

from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call, call_function
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import (
    OURS,
    SIMPLE,
    find_special,
    lookup,
    own_attributes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["bound_special", "delete_attribute", "get_attribute", "get_method", "set_attribute"]

_OBJECT_GET = object.__getattribute__
_PLAIN_KINDS = SIMPLE | {FunctionType, MethodType}


def get_attribute(interpreter: ThreadState, owner: Any, name: str) -> Any:
    """Return `owner.name`, as the hooks let it be seen."""
    if type(owner) in OURS:
        value = native_calls.read(owner, name)
    else:
        try:
            value = _read(interpreter, owner, name)
        except AttributeError as error:
            if error.name is None and error.obj is None:
                error.name, error.obj = name, owner
            raise
    hook = interpreter.read_attribute
    if hook is not None:
        return hook(interpreter.current, owner, name, value)
    return value


def get_method(owner: Any, name: str) -> FunctionType | None:
    """Return the function that calling `owner.name(...)` calls with `owner` first, if that is so.

    None where an instance attribute, a descriptor or a hook of the class may answer instead.
    """
    kind = type(owner)
    if kind in _PLAIN_KINDS or kind in OURS or issubclass(kind, type | ModuleType | super):
        return None
    if kind.__getattribute__ is not _OBJECT_GET:
        return None
    found = lookup(kind, name)
    if type(found) is not FunctionType or name in own_attributes(owner):
        return None
    return found


def _read(interpreter: ThreadState, owner: Any, name: str) -> Any:
    kind = type(owner)
    if kind in _PLAIN_KINDS:
        return native_calls.read(owner, name)
    if issubclass(kind, ModuleType):
        return _read_module(interpreter, owner, kind, name)
    if kind is super:
        return _read_super(interpreter, owner, name)
    if issubclass(kind, type):
        return _read_class(interpreter, owner, name)
    getter = kind.__getattribute__
    if getter is not _OBJECT_GET:
        special = find_special(interpreter, kind, "__getattribute__")
        if special is not None:
            return _or_getattr(interpreter, owner, name, special)
        if type(getter) is FunctionType:
            return native_calls.read(owner, name)
    return _read_object(interpreter, owner, kind, name)


def _read_object(interpreter: ThreadState, owner: Any, kind: type, name: str) -> Any:
    found = lookup(kind, name)
    if found is MISSING:
        special = find_special(interpreter, kind, "__getattr__")
        if special is None:
            return native_calls.read(owner, name)
        value = own_attributes(owner).get(name, MISSING)
        if value is not MISSING:
            return value
        return call_function(interpreter, special, [owner, name], {})
    if type(found) is FunctionType:
        value = own_attributes(owner).get(name, MISSING)
        return MethodType(found, owner) if value is MISSING else value
    getter = _python_getter(interpreter, found, owner, name)
    if getter is None:
        return _read_natively(interpreter, owner, kind, name)
    special = find_special(interpreter, kind, "__getattr__")
    if special is None:
        return call(interpreter, getter[0], getter[1], {})
    try:
        return call(interpreter, getter[0], getter[1], {})
    except AttributeError:
        pass
    return call_function(interpreter, special, [owner, name], {})


def _read_natively(interpreter: ThreadState, owner: Any, kind: type, name: str) -> Any:
    """Read what has no Python in it, except that `__getattr__` may answer when it fails."""
    special = find_special(interpreter, kind, "__getattr__")
    if special is None:
        return native_calls.read(owner, name)
    try:
        return native_calls.read_plainly(owner, name)
    except AttributeError:
        pass
    return call_function(interpreter, special, [owner, name], {})


def _or_getattr(interpreter: ThreadState, owner: Any, name: str, special: FunctionType) -> Any:
    try:
        return call_function(interpreter, special, [owner, name], {})
    except AttributeError:
        other = lookup(type(owner), "__getattr__")
        if other is MISSING:
            raise
    return call(interpreter, other, [owner, name], {})


def _python_getter(
    interpreter: ThreadState, found: Any, owner: Any, name: str
) -> tuple[Any, list[Any]] | None:
    """Return what to call, with what, if a class attribute computes its value in Python."""
    kind = type(found)
    if kind in SIMPLE:
        return None
    if isinstance(found, property) and kind.__get__ is property.__get__:
        getter = found.fget
        return (getter, [owner]) if type(getter) in (FunctionType, MethodType) else None
    special = find_special(interpreter, kind, "__get__")
    if special is None:
        return None
    is_data = lookup(kind, "__set__") is not MISSING or lookup(kind, "__delete__") is not MISSING
    if not is_data and name in own_attributes(owner):
        return None
    return special, [found, owner, type(owner)]


def _read_class(interpreter: ThreadState, cls: type, name: str) -> Any:
    meta = type(cls)
    if meta.__getattribute__ is not type.__getattribute__:
        special = find_special(interpreter, meta, "__getattribute__")
        if special is not None:
            return _or_getattr(interpreter, cls, name, special)
        return native_calls.read(cls, name)
    special = None if meta is type else find_special(interpreter, meta, "__getattr__")
    if special is None:
        return _read_class_plainly(interpreter, cls, meta, name, native_calls.read)
    try:
        return _read_class_plainly(interpreter, cls, meta, name, native_calls.read_of_class)
    except AttributeError:
        pass
    return call_function(interpreter, special, [cls, name], {})


def _read_class_plainly(
    interpreter: ThreadState, cls: type, meta: type, name: str, read: Callable[[Any, str], Any]
) -> Any:
    """Do what `type.__getattribute__` does: the metaclass's data, the class's own, its others."""
    above = MISSING if meta is type else lookup(meta, name)
    getter = None
    if above is not MISSING:
        getter = _python_getter(interpreter, above, cls, name)
        if getter is not None and lookup(type(above), "__set__") is not MISSING:
            return call(interpreter, getter[0], getter[1], {})
    found = lookup(cls, name)
    if found is not MISSING:
        special = find_special(interpreter, type(found), "__get__")
        if special is not None:
            return call_function(interpreter, special, [found, None, cls], {})
    elif getter is not None:
        return call(interpreter, getter[0], getter[1], {})
    return read(cls, name)


def _read_module(interpreter: ThreadState, module: ModuleType, kind: type, name: str) -> Any:
    namespace = own_attributes(module)
    is_missing = name not in namespace and lookup(kind, name) is MISSING
    if is_missing and "__getattr__" in namespace:
        return call(interpreter, namespace["__getattr__"], [name], {})
    if kind is ModuleType:
        return native_calls.read(module, name)
    return _read_object(interpreter, module, kind, name)


def _read_super(interpreter: ThreadState, proxy: Any, name: str) -> Any:
    """Find an attribute in the bases behind a class, and bind it to the object."""
    owner, start = proxy.__self__, proxy.__self_class__
    if start is None or name == "__class__":
        return native_calls.read(proxy, name)
    bases = start.__mro__
    for base in bases[bases.index(proxy.__thisclass__) + 1 :]:
        if name not in base.__dict__:
            continue
        found = base.__dict__[name]
        of_class = owner is start
        if isinstance(found, property) and not of_class and type(found.fget) is FunctionType:
            return call(interpreter, found.fget, [owner], {})
        special = find_special(interpreter, type(found), "__get__")
        if special is not None:
            return call_function(
                interpreter, special, [found, None if of_class else owner, start], {}
            )
        break
    return native_calls.read(proxy, name)


def set_attribute(interpreter: ThreadState, owner: Any, name: str, value: Any) -> None:
    """Do `owner.name = value`."""
    kind = type(owner)
    if kind not in SIMPLE:
        special = find_special(interpreter, kind, "__setattr__")
        if special is not None:
            call_function(interpreter, special, [owner, name, value], {})
            return
    _set(interpreter, owner, name, value, native_calls.write)


def set_plainly(interpreter: ThreadState, owner: Any, name: str, value: Any) -> None:
    """Do what `object.__setattr__` does: the class's descriptor, else the object's own place."""
    _set(interpreter, owner, name, value, native_calls.write_plainly)


def set_of_class(interpreter: ThreadState, owner: Any, name: str, value: Any) -> None:
    """Do what `type.__setattr__` does."""
    _set(interpreter, owner, name, value, native_calls.write_to_class)


def _set(
    interpreter: ThreadState, owner: Any, name: str, value: Any, write: Callable[..., None]
) -> None:
    found = lookup(type(owner), name)
    if found is not MISSING:
        setter = _python_setter(interpreter, found, "__set__", "fset")
        if setter is not None:
            call(interpreter, setter[0], [*setter[1], owner, value], {})
            return
    _tell(interpreter, owner, name)
    write(owner, name, value)


def delete_attribute(interpreter: ThreadState, owner: Any, name: str) -> None:
    """Do `del owner.name`."""
    special = find_special(interpreter, type(owner), "__delattr__")
    if special is not None:
        call_function(interpreter, special, [owner, name], {})
        return
    _delete(interpreter, owner, name, native_calls.remove)


def delete_plainly(interpreter: ThreadState, owner: Any, name: str) -> None:
    """Do what `object.__delattr__` does."""
    _delete(interpreter, owner, name, native_calls.remove_plainly)


def _delete(interpreter: ThreadState, owner: Any, name: str, remove: Callable[..., None]) -> None:
    found = lookup(type(owner), name)
    if found is not MISSING:
        deleter = _python_setter(interpreter, found, "__delete__", "fdel")
        if deleter is not None:
            call(interpreter, deleter[0], [*deleter[1], owner], {})
            return
    _tell(interpreter, owner, name)
    remove(owner, name)


def _python_setter(
    interpreter: ThreadState, found: Any, special_name: str, of_property: str
) -> tuple[Any, list[Any]] | None:
    kind = type(found)
    if isinstance(found, property) and lookup(kind, special_name) is lookup(property, special_name):
        function = getattr(found, of_property)
        return (function, []) if type(function) is FunctionType else None
    special = find_special(interpreter, kind, special_name)
    return None if special is None else (special, [found])


def _tell(interpreter: ThreadState, owner: Any, name: str) -> None:
    """Tell the hooks of a write to an object's own attribute, with the value it has."""
    if interpreter.written is None:
        return
    old = own_attributes(owner).get(name, MISSING)
    if old is MISSING:
        place = lookup(type(owner), name)
        if hasattr(type(place), "__set__"):  # a slot, or another place kept by C
            try:
                old = _OBJECT_GET(owner, name)
            except AttributeError:
                old = MISSING
    interpreter.written("attribute", owner, name, old, interpreter.current)


def bound_special(interpreter: ThreadState, owner: Any, name: str) -> Any:
    """Return a special method, found on the type and bound to the object."""
    kind = type(owner)
    found = lookup(kind, name)
    if type(found) is FunctionType:
        return MethodType(found, owner)
    special = find_special(interpreter, type(found), "__get__")
    if special is not None:
        return call_function(interpreter, special, [found, owner, kind], {})
    if owner is None:  # to a C descriptor, binding to None is not binding
        return native_calls.read(owner, name)
    getter = getattr(type(found), "__get__", None)
    return found if getter is None else getter(found, owner, kind)


def get_plainly(interpreter: ThreadState, owner: Any, name: str) -> Any:
    """Do what `object.__getattribute__` does: as `owner.name`, but `__getattr__` is not asked."""
    kind = type(owner)
    found = lookup(kind, name)
    if found is not MISSING:
        getter = _python_getter(interpreter, found, owner, name)
        if getter is not None:
            return call(interpreter, getter[0], getter[1], {})
    return native_calls.read_plainly(owner, name)
