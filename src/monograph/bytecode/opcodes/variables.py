"""Instructions that read and write variables: local, global, of enclosing functions, by name."""

from __future__ import annotations

from types import CellType
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.frame import MISSING, cell_contents
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.items import get_item, set_item

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def LOAD_FAST(frame: InterpreterFrame, slot: int) -> None:
    """Push a local variable."""
    value = frame.slots[slot]
    if value is MISSING:
        raise _unbound_local(frame, slot)
    frame.stack.append(value)


@opcode
def LOAD_FAST_AND_CLEAR(frame: InterpreterFrame, slot: int) -> None:
    """Push a local variable or MISSING, and empty it."""
    slots = frame.slots
    frame.stack.append(slots[slot])
    slots[slot] = MISSING


@opcode
def STORE_FAST(frame: InterpreterFrame, slot: int) -> None:
    """Set a local variable."""
    frame.slots[slot] = frame.stack.pop()


@opcode
def DELETE_FAST(frame: InterpreterFrame, slot: int) -> None:
    """Empty a local variable."""
    if frame.slots[slot] is MISSING:
        raise _unbound_local(frame, slot)
    frame.slots[slot] = MISSING


@opcode
def LOAD_GLOBAL(frame: InterpreterFrame, name: str) -> None:
    """Push a global, else a builtin."""
    frame.stack.append(_global(frame, name))


@opcode
def STORE_GLOBAL(frame: InterpreterFrame, name: str) -> None:
    """Set a global."""
    _tell_global(frame, name)
    frame.globals[name] = frame.stack.pop()


@opcode
def DELETE_GLOBAL(frame: InterpreterFrame, name: str) -> None:
    """Delete a global."""
    if name not in frame.globals:
        raise _undefined(name)
    _tell_global(frame, name)
    del frame.globals[name]


@opcode
def LOAD_NAME(frame: InterpreterFrame, name: str) -> None:
    """Push a variable of a class body or module."""
    value = _named(frame, frame.names, name)
    frame.stack.append(_global(frame, name) if value is MISSING else value)


@opcode
def STORE_NAME(frame: InterpreterFrame, name: str) -> None:
    """Set a variable of a class body or module."""
    names = frame.names
    assert names is not None, "names are stored by bodies of classes and modules"
    if names is frame.globals:
        _tell_global(frame, name)
    if type(names) is dict:
        names[name] = frame.stack.pop()
    else:
        set_item(frame.interpreter, names, name, frame.stack.pop())


@opcode
def DELETE_NAME(frame: InterpreterFrame, name: str) -> None:
    """Delete a variable of a class body or module."""
    names = frame.names
    assert names is not None, "names are deleted by bodies of classes and modules"
    if name not in names:
        raise _undefined(name)
    if names is frame.globals:
        _tell_global(frame, name)
    del names[name]


@opcode
def LOAD_LOCALS(frame: InterpreterFrame, _: None) -> None:
    """Push the variables of a class body or module."""
    frame.stack.append(frame.names)


@opcode
def LOAD_FROM_DICT_OR_GLOBALS(frame: InterpreterFrame, name: str) -> None:
    """Replace a mapping by its value of a name, else by the global."""
    value = _named(frame, frame.stack.pop(), name)
    frame.stack.append(_global(frame, name) if value is MISSING else value)


@opcode
def MAKE_CELL(frame: InterpreterFrame, slot: int) -> None:
    """Put a new cell around what the slot holds."""
    value = frame.slots[slot]
    frame.slots[slot] = CellType() if value is MISSING else CellType(value)


@opcode
def COPY_FREE_VARS(frame: InterpreterFrame, n: int) -> None:
    """Put the function's closure into the last slots."""
    function = frame.function
    assert function is not None, "only functions have closures"
    frame.slots[len(frame.slots) - n :] = function.__closure__ or ()


@opcode
def LOAD_CLOSURE(frame: InterpreterFrame, slot: int) -> None:
    """Push a cell."""
    frame.stack.append(frame.slots[slot])


@opcode
def LOAD_DEREF(frame: InterpreterFrame, slot: int) -> None:
    """Push what a cell holds."""
    frame.stack.append(_of_cell(frame, slot))


@opcode
def STORE_DEREF(frame: InterpreterFrame, slot: int) -> None:
    """Set what a cell holds."""
    cell = frame.slots[slot]
    _tell_cell(frame, cell, slot)
    cell.cell_contents = frame.stack.pop()


@opcode
def DELETE_DEREF(frame: InterpreterFrame, slot: int) -> None:
    """Empty a cell."""
    cell = frame.slots[slot]
    if cell_contents(cell) is MISSING:
        raise _unbound_cell(frame, slot)
    _tell_cell(frame, cell, slot)
    del cell.cell_contents


@opcode
def LOAD_CLASSDEREF(frame: InterpreterFrame, slot: int) -> None:
    """Push the class body's variable of this name, else what the cell holds."""
    value = _named(frame, frame.names, frame.body.slots[slot])
    frame.stack.append(_of_cell(frame, slot) if value is MISSING else value)


@opcode
def LOAD_FROM_DICT_OR_DEREF(frame: InterpreterFrame, slot: int) -> None:
    """Replace a mapping by its value of a name, else by what the cell holds."""
    value = _named(frame, frame.stack.pop(), frame.body.slots[slot])
    frame.stack.append(_of_cell(frame, slot) if value is MISSING else value)


def _global(frame: InterpreterFrame, name: str) -> Any:
    names = frame.globals
    value = names.get(name, MISSING) if type(names) is dict else _named(frame, names, name)
    if value is MISSING:
        value = frame.builtins.get(name, MISSING)
        if value is MISSING:
            raise _undefined(name)
        return value
    hook = frame.interpreter.read_global
    return value if hook is None else hook(frame, name, value)


def _named(frame: InterpreterFrame, names: Mapping[str, Any] | None, name: str) -> Any:
    assert names is not None, "names are read by bodies of classes and modules"
    if type(names) is dict:
        return names.get(name, MISSING)
    try:
        return get_item(frame.interpreter, names, name)
    except KeyError:
        return MISSING


def _of_cell(frame: InterpreterFrame, slot: int) -> Any:
    value = cell_contents(frame.slots[slot])
    if value is MISSING:
        raise _unbound_cell(frame, slot)
    hook = frame.interpreter.read_cell
    return value if hook is None else hook(frame, frame.body.slots[slot], value)


def _tell_global(frame: InterpreterFrame, name: str) -> None:
    hook = frame.interpreter.written
    if hook is not None:
        hook("global", frame.globals, name, frame.globals.get(name, MISSING), frame)


def _tell_cell(frame: InterpreterFrame, cell: CellType, slot: int) -> None:
    hook = frame.interpreter.written
    if hook is not None:
        hook("cell", cell, frame.body.slots[slot], cell_contents(cell), frame)


def _undefined(name: str) -> NameError:
    return NameError(f"name '{name}' is not defined", name=name)


def _unbound_local(frame: InterpreterFrame, slot: int) -> UnboundLocalError:
    name = frame.body.slots[slot]
    words = f"cannot access local variable '{name}' where it is not associated with a value"
    return UnboundLocalError(words, name=name)


def _unbound_cell(frame: InterpreterFrame, slot: int) -> NameError:
    name = frame.body.slots[slot]
    if name not in frame.code.co_freevars:
        return _unbound_local(frame, slot)
    words = (
        f"cannot access free variable '{name}' where it is not associated with a value "
        "in enclosing scope"
    )
    return NameError(words, name=name)
