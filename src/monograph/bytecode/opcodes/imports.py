"""Instructions of `import` statements, of every form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.attributes import get_attribute

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def IMPORT_NAME(frame: InterpreterFrame, name: str) -> None:
    """Import a module; its own code runs natively."""
    names, level = frame.stack.pop(), frame.stack.pop()
    importer = frame.builtins.get("__import__", MISSING)
    if importer is MISSING:
        raise ImportError("__import__ not found")
    args = [name, frame.globals, frame.names, names, level]
    frame.stack.append(call(frame.interpreter, importer, args, {}))


@opcode
def IMPORT_FROM(frame: InterpreterFrame, name: str) -> None:
    """Push a name of the module on top."""
    module = frame.stack[-1]
    value = MISSING
    try:
        value = get_attribute(frame.interpreter, module, name)
    except AttributeError:
        full = f"{getattr(module, '__name__', '')}.{name}"
        value = sys.modules.get(full, MISSING)
    if value is MISSING:
        raise _cannot_import(module, name)
    frame.stack.append(value)


def _cannot_import(module: Any, name: str) -> ImportError:
    owner = getattr(module, "__name__", None)
    file = getattr(module, "__file__", None)
    shown = "<unknown module name>" if owner is None else owner
    where = "unknown location" if file is None else file
    spec = getattr(module, "__spec__", None)
    if getattr(spec, "_initializing", False):
        words = f"cannot import name {name!r} from partially initialized module {shown!r}"
        words = f"{words} (most likely due to a circular import) ({where})"
    else:
        words = f"cannot import name {name!r} from {shown!r} ({where})"
    return ImportError(words, name=owner, path=file)


@opcode
def IMPORT_STAR(frame: InterpreterFrame, _: None) -> None:
    """Put every public name of a module into the variables of a class body or module."""
    module = frame.stack.pop()
    names = getattr(module, "__all__", None)
    chosen = [n for n in vars(module) if not n.startswith("_")] if names is None else list(names)
    scope = frame.names
    assert scope is not None, "import * is for modules"
    for name in chosen:
        if not isinstance(name, str):
            words = f"Item in {module.__name__}.__all__ must be str, not {type(name).__name__}"
            raise TypeError(words)
        scope[name] = getattr(module, name)
