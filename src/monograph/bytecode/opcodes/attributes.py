"""Instructions that read, write and delete attributes and items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import NULL
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.attributes import (
    delete_attribute,
    get_attribute,
    get_method,
    set_attribute,
)
from monograph.bytecode.semantics.items import delete_item, get_item, set_item

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def LOAD_ATTR(frame: InterpreterFrame, name: str) -> None:
    """Replace an object by one of its attributes."""
    stack = frame.stack
    stack[-1] = get_attribute(frame.interpreter, stack[-1], name)


@opcode
def LOAD_METHOD(frame: InterpreterFrame, name: str) -> None:
    """Push what to call, without making a bound method where none is needed."""
    stack = frame.stack
    interpreter = frame.interpreter
    owner = stack[-1]
    function = get_method(owner, name)
    if function is not None and interpreter.read_attribute is None:
        stack[-1] = function
        stack.append(owner)
    else:
        stack[-1] = NULL
        stack.append(get_attribute(interpreter, owner, name))


@opcode
def LOAD_SUPER_ATTR(frame: InterpreterFrame, argument: tuple[str, bool, bool]) -> None:
    """Look an attribute up behind a class: what `super().name` is."""
    name, is_method, gives_operands = argument
    stack = frame.stack
    proxy_type, cls, owner = stack[-3:]
    del stack[-3:]
    interpreter = frame.interpreter
    # What is called `super` may be another by now, and then gets what the program wrote.
    operands = (cls, owner) if gives_operands or proxy_type is super else ()
    value = get_attribute(interpreter, call(interpreter, proxy_type, [*operands], {}), name)
    if is_method:
        stack.append(NULL)
    stack.append(value)


@opcode
def STORE_ATTR(frame: InterpreterFrame, name: str) -> None:
    """Set an attribute."""
    owner, value = frame.stack.pop(), frame.stack.pop()
    set_attribute(frame.interpreter, owner, name, value)


@opcode
def DELETE_ATTR(frame: InterpreterFrame, name: str) -> None:
    """Delete an attribute."""
    delete_attribute(frame.interpreter, frame.stack.pop(), name)


@opcode
def BINARY_SUBSCR(frame: InterpreterFrame, _: None) -> None:
    """Replace an object and a key by the item."""
    stack = frame.stack
    key = stack.pop()
    stack[-1] = get_item(frame.interpreter, stack[-1], key)


@opcode
def STORE_SUBSCR(frame: InterpreterFrame, _: None) -> None:
    """Set an item."""
    stack = frame.stack
    key, owner, value = stack.pop(), stack.pop(), stack.pop()
    set_item(frame.interpreter, owner, key, value)


@opcode
def DELETE_SUBSCR(frame: InterpreterFrame, _: None) -> None:
    """Delete an item."""
    key, owner = frame.stack.pop(), frame.stack.pop()
    delete_item(frame.interpreter, owner, key)
