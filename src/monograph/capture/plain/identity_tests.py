"""Identity tests: which `a is b` of some code may compare two tensors.

Plain Python does not show what it compares. Where one side names a class, a module or another
object when the code begins, it is no tensor; of any other pair nobody can tell.
"""

from __future__ import annotations

import builtins
import dis
import operator
from collections import ChainMap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch import SymBool, Tensor

from monograph.bytecode import MISSING
from monograph.bytecode.decoding import decode
from monograph.bytecode.instructions import JUMPS
from monograph.capture.plain.attribute_writes import Way, assigned, at_end, is_called

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from types import CodeType, FrameType

    from monograph.bytecode.instructions import Instruction, Instructions

_BOOLS: Final = (("LOAD_CONST", True), ("LOAD_CONST", False))
_VARIABLES: Final = frozenset({"LOAD_FAST", "LOAD_DEREF"})
_NO_TENSORS: Final = frozenset({"__class__", "__func__", "dtype", "device", "layout"})
_IN_C: Final = (operator.is_, operator.is_not)
_NAMES_IN_C: Final = frozenset(each.__name__ for each in _IN_C)
_ASK_WHERE: Final[dict[str, Any]] = {"id": builtins.id, "hash": builtins.hash}
_UNKNOWN: Final = ()
"""The way to what only running the code would tell."""


class Pair(NamedTuple):
    """The ways to what an instruction compares, and where it stands."""

    left: Way
    right: Way
    offset: int


class IdentityTests(NamedTuple):
    """What some code compares by identity."""

    pairs: tuple[Pair, ...] = ()
    asks_for_bools: bool = False
    """Whether it asks if something is `True` or `False` itself."""


def identity_tests(code: CodeType) -> IdentityTests:
    """The pairs that code compares, but for those of which one is no tensor whatever runs.

    >>> def f(x, y, l):
    ...     return x is y.a or l[0] is x or type(x) is y or x is None
    >>> [each[:2] for each in identity_tests(f.__code__).pairs]
    [(('x',), ('y', 'a')), ((), ('x',))]
    """
    read = decode(code)
    body = read.body
    asked = [at for at, each in enumerate(body) if each.name == "IS_OP"]
    n_given = code.co_argcount + code.co_kwonlyargcount
    given = {*code.co_varnames[:n_given], *code.co_freevars}.difference(assigned(code))
    pairs = (_pair(read, at, given) for at in asked)
    sides = (each[:2] for at in asked for each in body[max(at - 2, 0) : at])
    return IdentityTests(
        tuple(each for each in pairs if each is not None), any(each in _BOOLS for each in sides)
    )


def _pair(read: Instructions, asked: int, given: Collection[str]) -> Pair | None:
    body, offset = read.body, read.body[asked].offset
    middle = _begin(body, asked)
    if _is_no_tensor(body, asked):
        return None
    if middle is None:
        return Pair(_UNKNOWN, _UNKNOWN, offset)
    if _is_no_tensor(body, middle):
        return None
    begin = _begin(body, middle)
    targets = (each.argument for each in body if each.name in JUMPS)
    if any((begin or middle) < each <= asked for each in targets):
        return Pair(_UNKNOWN, _UNKNOWN, offset)
    left = _UNKNOWN if begin is None else _way(read, begin, middle, given)
    return Pair(left, _way(read, middle, asked, given), offset)


def _begin(body: Sequence[Instruction], end: int) -> int | None:
    """Where a variable, a global or a constant is loaded, of which attributes may follow."""
    at = end - 1
    while body[at].name == "LOAD_ATTR":
        at -= 1
    return at if body[at].name in _VARIABLES | {"LOAD_GLOBAL", "LOAD_CONST"} else None


def _way(read: Instructions, begin: int, end: int, given: Collection[str]) -> Way:
    load, *steps = read.body[begin:end]
    name: str = read.slots[load.argument] if load.name in _VARIABLES else load.argument
    is_known = load.name == "LOAD_GLOBAL" or name in given
    return (name, *(each.argument for each in steps)) if is_known else _UNKNOWN


def _is_no_tensor(body: Sequence[Instruction], end: int) -> bool:
    """Whether a constant or a class is made last, or what a tensor has that is none."""
    last = body[end - 1]
    if last.name == "LOAD_ATTR":
        return last.argument in _NO_TENSORS
    is_short = last.name == "CALL" and last.argument == (1, ())
    return last.name == "LOAD_CONST" or (is_short and body[end - 3][:2] == ("LOAD_GLOBAL", "type"))


def compared(tests: IdentityTests, frame: FrameType) -> Iterator[tuple[Any, Any, int]]:
    """What may be compared, and where; MISSING for what is not known when the code begins."""
    variables, others = frame.f_locals, ChainMap(frame.f_globals, frame.f_builtins)
    for *ways, offset in tests.pairs:
        ends = [at_end(way, variables, others) if way else MISSING for way in ways]
        # What is no tensor by now stays what it is; an attribute that is one, or None, may not.
        stays = [len(way) == 1 and way[0] in variables for way in ways]
        if all(map(_may_be_tensor, ends, stays)):
            one, other = (end if kept else MISSING for end, kept in zip(ends, stays, strict=True))
            yield one, other, offset


def compares_in_c(frame: FrameType) -> bool:
    """Whether code that begins names `operator.is_`, which may be given to what is C as well."""
    names, known = frame.f_code.co_names, frame.f_globals
    by_module = not _NAMES_IN_C.isdisjoint(names)
    return by_module or any(known.get(name) is each for name in names for each in _IN_C)


def handed_on(frame: FrameType) -> Iterator[Any]:
    """Which of `id` and `hash` code that begins names without a call: it may be given to C."""
    code, known = frame.f_code, frame.f_globals
    if _ASK_WHERE.keys().isdisjoint(code.co_names):
        return
    for each in dis.get_instructions(code):
        asked = _ASK_WHERE.get(each.argval) if each.opname == "LOAD_GLOBAL" else None
        if asked is not None and not is_called(each) and known.get(each.argval, asked) is asked:
            yield asked


def _may_be_tensor(value: Any, stays: bool) -> bool:  # noqa: FBT001 - mapped
    return value is MISSING or isinstance(value, Tensor | SymBool) or (value is None and not stays)


__all__ = ["IdentityTests", "compared", "compares_in_c", "handed_on", "identity_tests"]
