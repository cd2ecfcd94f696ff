"""C functions that call what they are given: functions, iterators, comparisons."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call, call_function, call_native, interpret_always
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import SIMPLE, find_special, lookup, ours
from monograph.bytecode.polyfills.in_python import (
    all_,
    any_,
    extreme,
    ordered,
    ordered_in_runs,
    sum_,
)
from monograph.bytecode.polyfills.registry import polyfill
from monograph.bytecode.semantics.iteration import (
    END,
    Callback,
    Predicate,
    advance,
    ask_length,
    get_iterator,
    lend_iterable,
)
from monograph.bytecode.semantics.operators import compare, tell_contents, truth
from monograph.bytecode.semantics.string_conversion import text_of

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

_missing: Any = object()


@polyfill(operator.call)
def call_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call the first argument."""
    if args:
        return call(interpreter, args[0], args[1:], kwargs)
    return call_native(interpreter, operator.call, args, kwargs)


@polyfill(all, takes=(1,))
def all_of(interpreter: ThreadState, values: Any) -> Any:
    """Whether every value is true."""
    return interpret_always(interpreter, all_, [values])


@polyfill(any, takes=(1,))
def any_of(interpreter: ThreadState, values: Any) -> Any:
    """Whether some value is true."""
    return interpret_always(interpreter, any_, [values])


@polyfill(sum)
def sum_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Add values up; natively where they are numbers of Python."""
    if not args or len(args) > 2 or kwargs.keys() - {"start"} or len(args) + len(kwargs) > 2:
        return call_native(interpreter, sum, args, kwargs)
    start = kwargs.get("start", args[1] if len(args) == 2 else 0)
    values = _listed(interpreter, args[0])
    # CPython refuses to add up texts, and adds floats with care from 3.12 on.
    if isinstance(start, str | bytes | bytearray) or _are_simple([start, *values]):
        return call_native(interpreter, sum, [values, start], {})
    return interpret_always(interpreter, sum_, [values, start])


@polyfill(min)
def smallest(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Find the smallest value."""
    return _extreme(interpreter, min, args, kwargs)


@polyfill(max)
def largest(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Find the largest value."""
    return _extreme(interpreter, max, args, kwargs)


def _extreme(
    interpreter: ThreadState, function: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    if not args or kwargs.keys() - {"key", "default"} or ("default" in kwargs and len(args) > 1):
        return call_native(interpreter, function, args, kwargs)
    values = _listed(interpreter, args[0]) if len(args) == 1 else args
    key = kwargs.get("key")
    if (key is None and _are_simple(values)) or not values:
        return call_native(interpreter, function, [values], kwargs)
    return interpret_always(interpreter, extreme, [values, key, function is min, _missing, None])


@polyfill(sorted)
def in_order(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return a sorted list."""
    if len(args) != 1:
        return call_native(interpreter, sorted, args, kwargs)
    values = _listed(interpreter, args[0])
    if _are_few(values, kwargs):
        return _few_in_order(interpreter, values, **kwargs)
    return call_native(interpreter, sorted, [values], _sorting(interpreter, values, kwargs))


@polyfill(list.sort)
def sort(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Sort a list in place."""
    tell_contents(interpreter, args[0])
    return call_native(interpreter, list.sort, args, _sorting(interpreter, args[0], kwargs))


_IN_ORDER, _MOST = (ordered, 6) if sys.hexversion < 0x030D0000 else (ordered_in_runs, 4)
"""What compares so many values, in Python of ours, which can take both ways of a comparison."""


def _are_few(values: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a list is sorted in Python: what C would compare is not simple."""
    few = 1 < len(values) <= _MOST and kwargs.keys() <= {"key", "reverse"}
    return few and (kwargs.get("key") is not None or not _are_simple(values))


def _few_in_order(
    interpreter: ThreadState, values: list[Any], *, key: Any = None, reverse: Any = False
) -> list[Any]:
    backwards = -1 if truth(interpreter, reverse) else 1
    keys = values if key is None else [call(interpreter, key, [each], {}) for each in values]
    given = [values[::backwards], keys[::backwards]]
    return interpret_always(interpreter, _IN_ORDER, given)[::backwards]


@ours
class _SortKey:
    """A value as C sorts it: compared by interpreted code."""

    __slots__ = ("interpreter", "value")

    def __init__(self, interpreter: ThreadState, value: Any) -> None:
        self.interpreter = interpreter
        self.value = value

    def __lt__(self, other: _SortKey) -> bool:
        return truth(self.interpreter, compare(self.interpreter, "<", self.value, other.value))


def _sorting(interpreter: ThreadState, values: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a native sort whose key and comparisons are interpreted."""
    key = kwargs.get("key")
    if key is None:
        if _are_simple(values):
            return kwargs
        return {**kwargs, "key": lambda value: _SortKey(interpreter, value)}

    def sort_key(value: Any) -> Any:
        return _SortKey(interpreter, call(interpreter, key, [value], {}))

    return {**kwargs, "key": sort_key}


@polyfill(map)
def mapped(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Apply a function lazily."""
    if len(args) < 2:
        return call_native(interpreter, map, args, kwargs)
    iterables = [lend_iterable(interpreter, iterable) for iterable in args[1:]]
    return call_native(interpreter, map, [Callback(interpreter, args[0]), *iterables], kwargs)


def _lending(cls: Any, n_functions: int, *, tests: bool) -> None:
    """Give a C iterator interpreted callbacks: its first arguments; the others are iterables."""

    @polyfill(cls)
    def made(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        lent: list[Any] = []
        for index, value in enumerate(args):
            if index >= n_functions:
                lent.append(lend_iterable(interpreter, value))
                if cls is list or cls is tuple:
                    ask_length(interpreter, value)
            elif tests:
                lent.append(Predicate(interpreter, value))
            else:
                lent.append(value if value is None else Callback(interpreter, value))
        return call_native(interpreter, cls, lent, kwargs)

    del made


for _cls in (filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile):
    _lending(_cls, 1, tests=True)
_lending(itertools.starmap, 1, tests=False)
for _cls in (
    *(zip, enumerate, tuple, set, frozenset, list, deque, bytearray),
    *(itertools.chain, itertools.zip_longest, itertools.cycle, itertools.islice),
    *(itertools.compress, itertools.product, itertools.permutations, itertools.combinations),
    *(itertools.combinations_with_replacement, itertools.pairwise),
):
    _lending(_cls, 0, tests=False)


@polyfill(itertools.chain.from_iterable, takes=(1,))
def chained(interpreter: ThreadState, outer: Any) -> Any:
    """Chain the iterables of an iterable, each lent when its turn comes."""
    lent = map(functools.partial(lend_iterable, interpreter), lend_iterable(interpreter, outer))
    return call_native(interpreter, itertools.chain.from_iterable, [lent], {})


@polyfill(itertools.accumulate)
def accumulated(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Accumulate with an interpreted function, or by interpreted addition."""
    args = [lend_iterable(interpreter, value) if n == 0 else value for n, value in enumerate(args)]
    function = args[1] if len(args) > 1 else kwargs.get("func")
    add = Callback(interpreter, operator.add if function is None else function)
    if len(args) > 1:
        args[1] = add
        return call_native(interpreter, itertools.accumulate, args, kwargs)
    return call_native(interpreter, itertools.accumulate, args, {**kwargs, "func": add})


@polyfill(itertools.groupby)
def grouped(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Group by an interpreted key."""
    args = [lend_iterable(interpreter, value) if n == 0 else value for n, value in enumerate(args)]
    if len(args) > 1 and args[1] is not None:
        args[1] = Callback(interpreter, args[1])
    if kwargs.get("key") is not None:
        kwargs = {**kwargs, "key": Callback(interpreter, kwargs["key"])}
    return call_native(interpreter, itertools.groupby, args, kwargs)


@polyfill(functools.reduce, takes=(2, 3))
def reduced(interpreter: ThreadState, function: Any, values: Any, *start: Any) -> Any:
    """Reduce with an interpreted function."""
    lent = [Callback(interpreter, function), lend_iterable(interpreter, values), *start]
    return call_native(interpreter, functools.reduce, lent, {})


@polyfill(iter)
def iterated(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Iterate over an iterable, or call until a value comes."""
    if len(args) == 1 and not kwargs:
        return get_iterator(interpreter, args[0])
    if len(args) == 2 and callable(args[0]):
        args = [Callback(interpreter, args[0]), args[1]]
    return call_native(interpreter, iter, args, kwargs)


@polyfill(next, takes=(1, 2))
def next_of(interpreter: ThreadState, iterator: Any, *default: Any) -> Any:
    """Advance an iterator."""
    special = find_special(interpreter, type(iterator), "__next__")
    if special is None:
        return call_native(interpreter, next, [iterator, *default], {})
    if not default:
        return call_function(interpreter, special, [iterator], {})
    found = advance(interpreter, iterator)
    return default[0] if found is END else found


@polyfill(str.join)
def joined(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Join texts, once all of them are there."""
    lent = [args[0], *(_all_texts(interpreter, value) for value in args[1:])]
    return text_of(interpreter, str.join, lent, kwargs)


def _all_texts(interpreter: ThreadState, values: Any) -> Any:
    lent = lend_iterable(interpreter, values)
    is_made = type(lent) in SIMPLE or lookup(type(lent), "__iter__") is MISSING
    return lent if is_made else call_native(interpreter, list, [lent], {})


@polyfill(str.format)
def text_formatted(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Fill a text in."""
    return text_of(interpreter, str.format, args, kwargs)


def _listed(interpreter: ThreadState, iterable: Any) -> list[Any]:
    return call_native(interpreter, list, [lend_iterable(interpreter, iterable)], {})


def _are_simple(values: list[Any]) -> bool:
    """Whether no operator of the values is written in Python; tuples are looked into."""
    for value in values:
        kind = type(value)
        if kind is tuple or kind is list:
            if not _are_simple(value):
                return False
        elif kind not in SIMPLE:
            return False
    return True
