"""Watched instructions that are operators, comparisons and subscripts."""

from __future__ import annotations

import operator
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.semantics.operators import BINARY, COMPARISONS
from monograph.jit.attribute_reads import class_attribute
from monograph.jit.calling.c_functions import check_special
from monograph.jit.effects.containers import change, check_change, fill_missing
from monograph.jit.effects.plain_data import check_index, is_plain_data
from monograph.jit.effects.watch_tables import entering
from monograph.jit.graphs.arrays import is_array
from monograph.jit.graphs.branches import is_recorded_comparison
from monograph.jit.graphs.sizes import (
    ARITHMETIC,
    ORDER,
    SYMBOLIC,
    holds_sizes,
    is_defined,
    plain,
)
from monograph.jit.guard_code import ATOMS, CONTAINERS, is_constant
from monograph.jit.recording import DONE, NotRecordable

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode import InterpreterFrame

    Watch = Callable[[Any, InterpreterFrame, Any], Any]

__all__ = ["OPERATORS"]

OPERATORS: Final[dict[str, Watch]] = {}
_operator = entering(OPERATORS)


def _operands(recorder: Any, frame: InterpreterFrame, n: int) -> bool:
    """Look into operands; whether a tensor is among them. Raises: NotRecordable."""
    operands = frame.stack[-n:]
    if any(isinstance(each, torch.Tensor) or recorder.segment.is_array(each) for each in operands):
        return True
    for each in operands:
        recorder.segment.touch(each)
    return False


def _compute(recorder: Any, frame: InterpreterFrame, function: Any, n: int) -> Any:
    """Run an operator on tensors as a node."""
    args = frame.stack[-n:]
    recorder.segment.argument(args)
    result = recorder.run_leaf("call_function", function, None, args, {})
    del frame.stack[-n:]
    frame.stack.append(result)
    return DONE


_IN_PLACE: Final = {
    f"{symbol}=": getattr(operator, name)
    for symbol, name in {
        "+": "iadd",
        "-": "isub",
        "*": "imul",
        "/": "itruediv",
        "//": "ifloordiv",
        "%": "imod",
        "**": "ipow",
        "&": "iand",
        "|": "ior",
        "^": "ixor",
        "@": "imatmul",
        "<<": "ilshift",
        ">>": "irshift",
    }.items()
}


_CHANGING: Final = {(list, "+="): "extend", (dict, "|="): "update"}
"""Operators in place that are methods, too."""


@_operator("BINARY_OP")
def _binary(recorder: Any, frame: InterpreterFrame, symbol: str) -> Any:
    if _operands(recorder, frame, 2):
        return _compute(recorder, frame, _IN_PLACE.get(symbol) or BINARY[symbol].function, 2)
    if symbol == "+" and all(isinstance(each, tuple) for each in frame.stack[-2:]):
        return None
    if _sizes(recorder, frame):
        plain_symbol = symbol.removesuffix("=")
        is_risky = plain_symbol in ("/", "//", "%") and recorder.segment.has_irrevocable
        is_computed = not is_risky and is_defined(plain_symbol, *frame.stack[-2:])
        if plain_symbol in ARITHMETIC and is_computed:
            frame.stack[-2:] = [recorder.segment.compute(plain_symbol, *frame.stack[-2:])]
            return DONE
        recorder.settle(frame)
    left, right = frame.stack[-2:]
    guards = recorder.segment.guards
    is_changed = type(left) in CONTAINERS and type(left) not in (tuple, frozenset)
    if symbol in _IN_PLACE and is_changed and guards.is_known(left):
        name = _CHANGING.get((type(left), symbol))
        if name is not None:
            check_change(recorder.segment, left, name, [right], {})
            change(recorder.segment, left, name, [right], {})
            frame.stack.pop()
            return DONE
        raise NotRecordable(f"`{symbol}` on `{guards.label(left)}`")
    if symbol in ("%", "%=") and isinstance(left, str | bytes) and not is_plain_data(right):
        raise NotRecordable("the text of an object")
    row = BINARY[symbol]
    for operand in (left, right):
        check_special(recorder.interpreter, operand, row.name, row.reflected)
    return None


def _sizes(recorder: Any, frame: InterpreterFrame) -> bool:
    """Whether two numbers are taken, one of which is a size; any other sizes are settled."""
    kinds = [type(each) for each in frame.stack[-2:]]
    if any(kind in SYMBOLIC for kind in kinds) and all(kind in _NUMBERS for kind in kinds):
        return True
    if recorder.segment.is_symbolic:
        recorder.settle(frame, n=2)
    return False


def _are_equal(recorder: Any, left: Any, right: Any) -> bool:
    """Compare two tuples of numbers, some of which are sizes."""
    segment = recorder.segment
    return len(left) == len(right) and all(
        segment.decide("==", one, two) if {type(one), type(two)} & {*SYMBOLIC} else one == two
        for one, two in zip(left, right, strict=True)
    )


_NUMBERS: Final = (*SYMBOLIC, int, float)


@_operator("COMPARE_OP")
def _compare(recorder: Any, frame: InterpreterFrame, symbol: str) -> Any:
    if _operands(recorder, frame, 2):
        left, right = frame.stack[-2:]
        if left is None or right is None:
            raise NotRecordable("a tensor is compared with None")
        return _compute(recorder, frame, COMPARISONS[symbol][0], 2)
    pair = frame.stack[-2:]
    is_shapes = all(type(n) in _NUMBERS for t in pair if isinstance(t, tuple) for n in t)
    is_shapes &= all(isinstance(each, tuple) for each in pair)
    if symbol in ("==", "!=") and is_shapes and any(holds_sizes(each) for each in pair):
        frame.stack[-2:] = [_are_equal(recorder, *pair) is (symbol == "==")]
        return DONE
    if _sizes(recorder, frame):
        if symbol in ORDER and is_recorded_comparison(recorder, frame, symbol):
            return DONE
        if symbol in ORDER:
            frame.stack[-2:] = [recorder.segment.decide(symbol, *frame.stack[-2:])]
            return DONE
        recorder.settle(frame)
    for each in frame.stack[-2:]:
        if type(each) in CONTAINERS and not is_plain_data(each, compared=True):
            raise NotRecordable("containers of objects are compared")
    check_special(recorder.interpreter, frame.stack[-2], "__eq__")
    check_special(recorder.interpreter, frame.stack[-1], "__eq__")
    return None


_UNARY: Final = {
    "UNARY_NEGATIVE": operator.neg,
    "UNARY_INVERT": operator.invert,
    "UNARY_POSITIVE": operator.pos,
}


@_operator(*_UNARY)
def _unary(recorder: Any, frame: InterpreterFrame, _: None) -> Any:
    if type(frame.stack[-1]) in SYMBOLIC:
        if frame.stack[-1].is_data:
            frame.stack[-1] = recorder.segment.apply(operator.neg, frame.stack[-1:])
            return DONE
        recorder.settle(frame)
    if _operands(recorder, frame, 1):
        return _compute(recorder, frame, _UNARY[frame.body.names[frame.ip - 1]], 1)
    check_special(recorder.interpreter, frame.stack[-1], "__neg__")
    return None


@_operator("IS_OP")
def _is(recorder: Any, frame: InterpreterFrame, _: Any) -> None:
    left, right = frame.stack[-2:]
    guards = recorder.segment.guards
    if not recorder.segment.chosen.isdisjoint((id(left), id(right))) and None not in (left, right):
        raise NotRecordable("which tensor a branch has left")
    if left is None or right is None or is_constant(left) or is_constant(right):
        return
    if type(left) is type(right) and type(left) in ATOMS:
        guards.atoms_are_one(left, right)
        return
    # Of tensors that are one object, what made them so is expected of the graph.
    recorder.segment.is_exact |= left is not right and isinstance(left, torch.Tensor)
    if guards.is_known(left) and guards.is_known(right) and left is not right:
        one, two = guards.names[id(left)], guards.names[id(right)]
        guards.check(f"{one} is {two}", f"{guards.label(left)} is {guards.label(right)}", False)


@_operator("CONTAINS_OP")
def _contains(recorder: Any, frame: InterpreterFrame, _: Any) -> None:
    value, container = frame.stack[-2:]
    segment = recorder.segment
    segment.touch(value)
    if type(container) in (set, frozenset) and segment.guards.is_known(container):
        _check_member(segment, value, container)
        return
    segment.touch(container)
    if isinstance(container, torch.Tensor) or not is_plain_data(value, compared=True):
        raise NotRecordable("an object is sought, or sought in")
    if id(container) in segment.guards.shared:
        return
    items = [*container] if type(container) in CONTAINERS else []
    if not is_plain_data(items, compared=True):
        raise NotRecordable("something is sought among objects")
    check_special(recorder.interpreter, container, "__contains__")


def _check_member(segment: Any, value: Any, container: Any) -> None:
    """Guard whether a set from outside has an item, not what else it has. Raises: NotRecordable."""
    is_changed = id(container) in segment.guards.originals or id(container) in segment.sealed
    if is_changed or not is_plain_data([value, *container], compared=True):
        raise NotRecordable("something is sought in a set of objects, or that has changed")
    guards = segment.guards
    text = f"{guards.constant(value)} in {guards.names[id(container)]}"
    about = f"{value!r} in {guards.label(container)}"
    guards.check(f"({text}) is not {value in container}", about, value in container, text)


def _is_item_guarded(segment: Any, owner: Any, key: Any) -> bool:
    """Guard one item of a dict of containers from outside, not what else they hold by now."""
    guards = segment.guards
    if type(owner) is not dict or type(key) not in (str, int) or not guards.is_known(owner):
        return False
    is_changed = id(owner) in guards.originals or id(owner) in segment.sealed
    if is_changed or key not in owner or type(owner[key]) not in CONTAINERS:
        return False
    name, label = guards.names[id(owner)], guards.label(owner)
    guards.check(f"{key!r} not in {name}", f"{key!r} in {label}", True, f"{key!r} in {name}")
    guards.meet(owner[key], f"{name}[{key!r}]", f"{label}[{key!r}]")
    return True


@_operator("BINARY_SUBSCR")
def _subscript(recorder: Any, frame: InterpreterFrame, _: None) -> Any:
    owner, key = frame.stack[-2:]
    if isinstance(owner, torch.Tensor) or recorder.segment.is_array(owner):
        return _compute(recorder, frame, operator.getitem, 2)
    if isinstance(key, torch.Tensor) or is_array(key):
        raise NotRecordable("a tensor is an index of a container")
    if recorder.segment.is_symbolic:
        frame.stack[-1] = key = plain(key, recorder.segment.settle)
        if type(key) not in (int, slice) or type(owner) not in (tuple, torch.Size):
            recorder.settle(frame, n=2)
            owner = frame.stack[-2]
    if _is_item_guarded(recorder.segment, owner, key):
        return None
    recorder.segment.touch(owner)
    recorder.segment.touch(key)
    if isinstance(owner, type):
        return None
    check_special(recorder.interpreter, owner, "__getitem__")
    check_index(owner, key)
    if type(owner) is Counter:
        class_attribute(recorder.segment, Counter, "__missing__", Counter.__missing__)
    else:
        fill_missing(recorder.segment, owner, key)
    return None
