"""Interpreted functions do what CPython does, and a watcher sees and decides what it may."""

import functools
import sys
import traceback
from types import FunctionType

import pytest

from monograph.bytecode import MISSING, Hooks, Interpreter, interpret
from monograph.bytecode.evaluation import calling
from monograph.diagnostics import BugError, UnsupportedError


def both(function, *args, **kwargs):
    """Give what a call returns or raises, natively and interpreted."""
    outcomes = []
    for call in (function, functools.partial(interpret, function)):
        try:
            outcomes.append(("returned", call(*args, **kwargs)))
        except Exception as error:  # noqa: BLE001
            lines = [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
            ours = ("both", "interpret")
            shown = [line for line in lines if line[0] not in ours]
            outcomes.append(("raised", type(error), error.args, repr(error.__context__), shown))
    return outcomes


def closures(n):
    """Count through a cell."""
    total = 0

    def add(k):
        nonlocal total
        total += k
        return total

    return [add(k) for k in range(n)], total


def failing(n):
    """Raise in a handler, and leave through finally."""
    done = []
    try:
        try:
            return done[n]
        except IndexError as error:
            raise ValueError("no", n) from error
    finally:
        done.append(n)


def unpacking(*args, key=1, **rest):
    """Bind arguments of every kind."""
    first, *middle, last = args
    return first, middle, last, key, sorted(rest.items())


def delegating(n):
    """Delegate to a generator and use what it returns."""

    def inner():
        got = yield 1
        return got

    def outer():
        result = yield from inner()
        yield result

    generator = outer()
    return next(generator), generator.send(n), list(generator)


def classes(n):
    """Make a class in a function, with super and a property."""

    class Base:
        def __init__(self, n):
            self.n = n

        @property
        def twice(self):
            return 2 * self.n

    class Derived(Base):
        def __init__(self, n):
            super().__init__(n + 1)

        def __add__(self, other):
            return Derived(self.n + other.n)

    return (Derived(n) + Derived(1)).twice


def matching(value):
    """Match sequences, mappings and classes."""
    match value:
        case [first, *_]:
            return f"{first!r:>4}"
        case {"key": int(k), **rest}:
            return k, rest
        case str() as text:
            return text
    return None


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (closures, (4,)),
        (failing, (3,)),
        (unpacking, (1, 2, 3, 4)),
        (unpacking, (1,)),
        (delegating, (5,)),
        (classes, (3,)),
        (matching, ([1, 2],)),
        (matching, ({"key": 1, "more": 2},)),
        (matching, ("text",)),
        (matching, (1.5,)),
    ],
)
def test_the_outcome_is_cpythons(function, args):
    """Values, exceptions, their context and the lines of their traceback are the same."""
    native, interpreted = both(function, *args)
    assert interpreted == native


def test_wrong_arguments_are_worded_by_cpython():
    """A call that does not fit raises the TypeError that CPython raises."""
    for args, kwargs in [((), {}), ((1,), {"a": 2}), ((1, 2), {}), ((1,), {"q": 1})]:

        def function(a, *, k=1):
            return a, k

        native, interpreted = both(function, *args, **kwargs)
        assert interpreted[1:3] == native[1:3]


def test_every_kind_of_write_is_told_before_it_happens():
    """Attributes, items, contents, globals and cells come with the value they had."""
    told = []

    class Journal(Hooks):
        def written(self, kind, owner, key, old, frame):
            told.append((kind, key, old, list(owner) if kind == "contents" else None))

    class Thing:
        pass

    def writes(thing, items, table):
        cell = 1

        def inner():
            nonlocal cell
            cell = 2

        inner()
        thing.a = 1
        thing.a = 2
        setattr(thing, "b", 3)  # noqa: B010
        del thing.b
        items.append(5)
        items[0] = 6
        items += [7]
        table["k"] = 1
        table.setdefault("k", 2)
        table.setdefault("j", 2)
        table.update(k=3)

    table = {}
    Interpreter(Journal()).call(writes, Thing(), [0], table)
    told = [line for line in told if line[:2] != ("cell", "cell") or line[2] is not MISSING]
    assert told == [
        ("cell", "cell", 1, None),
        ("attribute", "a", MISSING, None),
        ("attribute", "a", 1, None),
        ("attribute", "b", MISSING, None),
        ("attribute", "b", 3, None),
        ("contents", None, MISSING, [0]),
        ("item", 0, 0, None),
        ("contents", None, MISSING, [6, 5]),
        ("item", "k", MISSING, None),
        ("item", "j", MISSING, None),
        ("contents", None, MISSING, ["k", "j"]),
    ]
    assert table == {"k": 3, "j": 2}


class RefusalError(Exception):
    """Stands for a refusal of whoever watches."""


class Strict(Hooks):
    """Lets nobody swallow a refusal."""

    uncatchable = (RefusalError,)


def refuse():
    """Refuse."""
    raise RefusalError


def test_a_refusal_passes_every_handler():
    """No except, bare except, with or finally keeps an uncatchable exception."""
    seen = []

    class Swallowing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            seen.append("exit")
            return True

    def swallow():
        try:
            refuse()
        except Exception:  # noqa: BLE001
            seen.append("except")
        return 1

    def bare():
        try:
            refuse()
        except:  # noqa: E722
            raise ValueError from None
        return 1

    def managed():
        with Swallowing():
            refuse()
        return 1

    def final():
        try:
            refuse()
        finally:
            seen.append("finally")
            return 1  # noqa: B012

    for function in (swallow, bare, managed, final):
        with pytest.raises(RefusalError):
            Interpreter(Strict()).call(function)
    assert seen == ["exit", "finally"]


def test_a_watcher_decides_what_is_entered_replaced_and_true():
    """Islands run natively and are told, replacements get the arguments, conditions are asked."""
    islands, asked = [], []

    class Odd:
        pass

    def native_only():
        return 1

    class Policy(Hooks):
        def enters(self, function):
            return function is not native_only

        def island(self, function, reason):
            islands.append(function)

        def replacement(self, callee, args, kwargs, frame):
            return (lambda value: ("length of", value)) if callee is len else None

        def truth(self, frame, value):
            asked.append(frame.f_lineno - frame.code.co_firstlineno)
            return isinstance(value, Odd)

        def read_global(self, frame, name, value):
            return "seen" if name == "GLOBAL" else value

    def program(odd):
        found = [native_only(), len("abc"), GLOBAL]
        if odd:
            found.append("odd")
        return found, not odd

    result = Interpreter(Policy()).call(program, Odd())
    assert result == ([1, ("length of", "abc"), "seen", "odd"], False)
    assert islands == [native_only]
    assert asked == [2, 4]


GLOBAL = 1


def test_asynchronous_code_is_refused_by_name():
    """Calling a coroutine names it."""

    async def fetch():
        return 1

    def program():
        return fetch()

    with pytest.raises(UnsupportedError) as caught:
        interpret(program)
    assert caught.value.diagnostic.name == "asynchronous-code"
    assert "fetch" in str(caught.value)


def test_a_mistake_of_ours_is_no_exception_of_the_programs(monkeypatch):
    """What fails inside the machinery is a BugError, which user code cannot catch."""

    def program():
        try:
            return max(2, 3) + id(3)
        except TypeError:
            return "swallowed"

    monkeypatch.setattr(calling, "find_c_method", None)  # calling it is a TypeError of ours
    monkeypatch.setattr(calling, "call_native", None)
    with pytest.raises(BugError):
        interpret(program)


def test_recursion_ends_where_cpython_ends_it():
    """Endless recursion is a RecursionError, and the limit afterwards is what it was."""

    def endless(n):
        return endless(n + 1)

    before = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        interpret(endless, 0)
    assert sys.getrecursionlimit() == before


def test_sequences_ask_the_other_side_before_they_grow():
    """As CPython does: a list knows `+=` as a sequence, after all numbers."""

    class Right:
        def __radd__(self, other):
            return ("right", other)

        __rmul__ = __radd__

    def grown(left, right):
        left += right
        return left

    def repeated(left, right):
        left *= right
        return left

    for left in ([1], (1,), "a"):
        for function in (grown, repeated):
            assert interpret(function, left, Right()) == function(left, Right()) == ("right", left)
    held = [1]
    assert interpret(grown, held, (2,)) is held
    assert held == [1, 2]


def test_each_side_of_a_growing_sequence_is_asked_once():
    """Also where it does not know how, and where both sides are of one class."""
    asked = []

    class Refuses(tuple):
        __slots__ = ()

        def __radd__(self, other):
            asked.append(other)
            return NotImplemented

    class Reflected(list):
        def __radd__(self, other):
            return "reflected"

    def grown(left, right):
        left += right
        return left

    for left in ((1,), [1]):
        asked.clear()
        assert grown(left[:], Refuses((2,))) == interpret(grown, left[:], Refuses((2,)))
        assert len(asked) == 2, "once natively, once interpreted"
    for left in (Reflected([1]), [1]):
        calls = (grown, functools.partial(interpret, grown))
        told = [call(type(left)(left), Reflected([2])) for call in calls]
        assert told[0] == told[1]
        assert type(told[0]) is type(told[1])


def test_globals_may_be_a_mapping_that_knows_more():
    """What `exec` and evaluators of annotations give to code."""

    class Known(dict):
        def __missing__(self, name):
            return f"<{name}>"

    def asks():
        return int, unheard_of  # noqa: F821  # the mapping knows it

    function = FunctionType(asks.__code__, Known())
    assert interpret(function) == function() == ("<int>", "<unheard_of>")


def test_groups_that_split_otherwise():
    """Of a longer tuple two are taken; what is no tuple is refused by name."""

    class Odd(ExceptionGroup):
        answer = None

        def split(self, classes):
            return self.answer or (*super().split(classes), "more")

    def caught(error):
        kinds = []
        try:
            raise error
        except* ValueError as found:
            kinds += [type(each) for each in found.exceptions]
        return kinds

    error = Odd("odd", [ValueError(1)])
    assert interpret(caught, error) == [ValueError]
    for answer, text in (("text", "must return a tuple, not str"), ((1,), "got tuple of size 1")):
        Odd.answer = answer
        with pytest.raises(TypeError, match=text):
            interpret(caught, error)
