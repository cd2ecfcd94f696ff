"""C functions that read, write and delete attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call, call_native
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.polyfills.registry import polyfill
from monograph.bytecode.semantics.attributes import (
    delete_attribute,
    delete_plainly,
    get_attribute,
    get_plainly,
    set_attribute,
    set_of_class,
    set_plainly,
)

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


@polyfill(getattr, takes=(2, 3))
def got(interpreter: ThreadState, owner: Any, name: Any, *default: Any) -> Any:
    """Read an attribute, perhaps with a default."""
    if type(name) is not str:
        return call_native(interpreter, getattr, [owner, name, *default], {})
    try:
        return get_attribute(interpreter, owner, name)
    except AttributeError as error:
        if not default or isinstance(error, interpreter.uncatchable):
            raise
        return default[0]


@polyfill(hasattr, takes=(2,))
def has(interpreter: ThreadState, owner: Any, name: Any) -> bool:
    """Tell whether there is an attribute."""
    if type(name) is not str:
        return call_native(interpreter, hasattr, [owner, name], {})
    return got(interpreter, owner, name, MISSING) is not MISSING


def _named(target: Any, n_args: int, does: Any, *, of_classes: bool) -> None:
    """Let a C function of an object and a name do what the instruction does."""

    @polyfill(target, takes=(n_args,))
    def done(interpreter: ThreadState, *args: Any) -> Any:
        if type(args[1]) is not str or (not of_classes and issubclass(type(args[0]), type)):
            return call_native(interpreter, target, list(args), {})
        return does(interpreter, *args)

    del done


_named(setattr, 3, set_attribute, of_classes=True)
_named(delattr, 2, delete_attribute, of_classes=True)
_named(object.__setattr__, 3, set_plainly, of_classes=False)
_named(type.__setattr__, 3, set_of_class, of_classes=True)
_named(object.__delattr__, 2, delete_plainly, of_classes=False)
_named(object.__getattribute__, 2, get_plainly, of_classes=False)


@polyfill(property.__get__)
def of_property(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Ask a property for its value."""
    if 2 <= len(args) <= 3 and not kwargs and args[1] is not None and args[0].fget is not None:
        return call(interpreter, args[0].fget, [args[1]], {})
    return call_native(interpreter, property.__get__, args, kwargs)
