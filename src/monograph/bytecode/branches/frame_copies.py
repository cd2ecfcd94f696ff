"""Copies of frames that stand still, to be run on from there: each copy on its own.

A copy has its own stack and slots. Iterators in them are cloned, so that advancing one leaves the
other where it was; everything else is shared, cells and containers included: what a run writes to
those, the hooks are told (`Hooks.written`), so that whoever runs copies can undo it.
"""

from __future__ import annotations

import copy
import sys
from types import BuiltinFunctionType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.frame import Mark
from monograph.bytecode.evaluation.generators import SERIAL, InterpretedGenerator
from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.evaluation.symbolic_iterators import SymbolicIterator
from monograph.bytecode.semantics.iteration import IteratorAdapter, SequenceIterator
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.bytecode.evaluation.frame import InterpreterFrame, ThreadState

__all__ = [
    "ITERATORS",
    "are_alike",
    "clone",
    "reduced",
    "relatives",
    "resume",
    "snapshot",
    "stand_alike",
    "standing",
]

_EMPTY: tuple[Any, ...] = ({}, {}.keys(), {}.values(), {}.items(), set[Any](), [], (), "", b"")
ITERATORS = frozenset(
    {
        *(type(iter(made)) for made in _EMPTY),
        *(type(iter(range(0))), type(iter(range(1 << 70))), type(reversed([]))),
        *(zip, enumerate, map, filter, reversed),
    }
)
"""C iterators whose `__reduce__` says what they are made of."""


def snapshot(frame: InterpreterFrame, memo: dict[int, Any] | None = None) -> InterpreterFrame:
    """Return a copy of a frame that stands between two instructions, or at a yield.

    `memo` maps the identity of what was cloned to its clone, as of `copy.deepcopy`: frames copied
    with one memo share the clones of the iterators that they share.
    Raises: branch-copies (an iterator cannot be cloned).
    """
    memo = {} if memo is None else memo
    made = frame.copied()
    memo[id(frame)] = made
    made.stack = _cloned(frame.stack, memo)
    made.slots = _cloned(frame.slots, memo)
    for original in memo.get(-1, ()):
        here = sum(each is original for each in (*frame.stack, *frame.slots))
        if _references(original) - here > _ALONE:
            clone = memo[id(original)]
            frame.interpreter.clones[id(clone)] = clone, original
            if any(each is original for each in frame.stack):  # a `for` advances the copy unseen
                frame.interpreter.stale[id(original)] = original
    return made


_references = sys.getrefcount
_ALONE: Final = next(_references(each) for each in [iter(())])
"""References to an iterator that a list and a variable hold."""


def standing(interpreter: ThreadState, value: Any) -> Any:
    """The very iterator that others hold, too, in the place of a clone that stands as it does."""
    clone, original = interpreter.clones.get(id(value), (None, None))
    if clone is None or not stand_alike(original, clone):
        return value
    interpreter.stale.pop(id(original), None)
    return original


def relatives(interpreter: ThreadState, iterator: Any) -> list[Any]:
    """What an iterator is a clone of, and what the clones of it are: not those beside it."""
    clones, found, above = interpreter.clones, [iterator], iterator
    for clone, original in clones.values():
        if any(original is each for each in found):
            found.append(clone)
    while id(above) in clones:
        above = clones[id(above)][1]
        found.append(above)
    return found[1:]


def resume(frame: InterpreterFrame, interrupted: bool = False) -> tuple[Mark, Any]:  # noqa: FBT001, FBT002
    """Run a frame on; return RETURN or YIELD, and the value.

    An `interrupted` frame was copied inside an instruction, and begins with that instruction again.
    """
    if interrupted:
        frame.ip -= 1
    signal = run(frame)
    value, frame.value = frame.value, None
    return signal, value


def clone(value: Any, memo: dict[int, Any]) -> Any:
    """Return an iterator at the same place as this one; anything else is returned as it is."""
    kind = type(value)
    if kind not in ITERATORS and kind not in _OF_OURS:
        if type(getattr(kind, "__next__", None)) is WrapperDescriptorType:
            raise problem("branch-copies", reason=_REASON.format(kind.__name__))
        if not kind.__flags__ & _HEAP_TYPE:
            _STAND_STILL.add(kind)
        return value
    known = memo.get(id(value))
    if known is None:
        known = memo[id(value)] = _OF_OURS.get(kind, _clone_of_c)(value, memo)
        memo[id(known)] = known
        memo.setdefault(-1, []).append(value)  # identities must not be given to others meanwhile
    return known


def stand_alike(one: Any, other: Any) -> bool:
    """Whether two clones of one iterator will give the same objects in the same order."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in ITERATORS:
        made_of = reduced(one)
        return made_of is not None and _made_alike(made_of, reduced(other))
    if kind is InterpretedGenerator:
        return are_alike(one.frame, other.frame)
    if kind is IteratorAdapter:
        return stand_alike(one.iterator, other.iterator)
    if kind is SymbolicIterator:
        return one.source is other.source and stand_alike(one.begun, other.begun)
    if kind is SequenceIterator:
        return one.sequence is other.sequence and one.index == other.index
    return False


def are_alike(one: InterpreterFrame | None, other: InterpreterFrame | None) -> bool:
    """Whether two copies of one frame stand at one place, with the same values."""
    if one is None or other is None:
        return one is other
    if one.code is not other.code or one.ip != other.ip:
        return False
    return _all_alike(one.stack, other.stack) and _all_alike(one.slots, other.slots)


def _made_alike(one: Any, other: Any) -> bool:
    """Whether what two iterators are made of, as `__reduce__` has it, is the same."""
    if type(one) is not type(other):
        return False
    if type(one) in (tuple, list):
        return len(one) == len(other) and all(map(_made_alike, one, other))
    if type(one) in (int, range):
        return one == other
    return stand_alike(one, other)


def _all_alike(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(stand_alike, one, other))


_REASON: Final = "an iterator of type {} cannot be copied"
_HEAP_TYPE = 1 << 9
_STAND_STILL: set[type] = {Mark}
"""Kinds of values that were seen to be no iterators: of C, which has them for good; and our own."""


def _cloned(values: Iterable[Any], memo: dict[int, Any]) -> list[Any]:
    known = _STAND_STILL
    return [value if type(value) in known else clone(value, memo) for value in values]


def _clone_of_c(iterator: Any, memo: dict[int, Any]) -> Any:
    """Make an iterator anew of what it says it is made of, with the iterators in it cloned."""
    made_of = reduced(iterator)
    if made_of is None:
        kind = f"{type(iterator).__name__} over what was changed"
        raise problem("branch-copies", reason=_REASON.format(kind))
    make, parts, *state = made_of
    if type(make) is BuiltinFunctionType and parts and type(iterator) in _OF_DICTS:
        # The parts are the values that are left: an iterator of a dict does not say where it is.
        return iter(parts[0])
    made = make(*(clone(part, memo) for part in parts))
    if state and state[0] is not None:
        made.__setstate__(state[0])
    return made


def reduced(iterator: Any) -> Any:
    """What an iterator of Python's says it is made of; None where that changed its size since."""
    try:
        return iterator.__reduce__()
    except RuntimeError:
        return None


_OF_DICTS = frozenset(type(iter(made)) for made in ({}, {}.keys(), {}.values(), {}.items()))


def _clone_generator(generator: InterpretedGenerator, memo: dict[int, Any]) -> Any:
    """Copy a generator that stands at a yield or has not started."""
    if generator.running:
        raise TypeError("a generator that is running cannot be copied")
    made = object.__new__(InterpretedGenerator)
    memo[id(generator)] = made
    made.__name__, made.__qualname__ = generator.__name__, generator.__qualname__
    made.running, made.frame, made.serial = False, None, next(SERIAL)
    made.handling = copy.copy(generator.handling)
    if generator.frame is not None:
        made.frame = snapshot(generator.frame, memo)
    return made


def _clone_adapter(adapter: IteratorAdapter, memo: dict[int, Any]) -> Any:
    return IteratorAdapter(adapter.interpreter, clone(adapter.iterator, memo))


def _clone_sequence(iterator: SequenceIterator, memo: dict[int, Any]) -> Any:
    del memo
    return copy.copy(iterator)


def _clone_rounds(rounds: SymbolicIterator, memo: dict[int, Any]) -> SymbolicIterator:
    return SymbolicIterator(rounds.source, clone(rounds.begun, memo), peeled=rounds.peeled)


_OF_OURS: dict[type, Any] = {
    InterpretedGenerator: _clone_generator,
    IteratorAdapter: _clone_adapter,
    SymbolicIterator: _clone_rounds,
    SequenceIterator: _clone_sequence,
}
