"""A copy of a frame runs on by itself: iterators in it are its own."""

import itertools

import pytest

from monograph.bytecode import Hooks, Interpreter
from monograph.bytecode.branches.frame_copies import clone, resume, snapshot, stand_alike
from monograph.bytecode.evaluation.frame import InterpreterFrame
from monograph.diagnostics import MonographError


class Fork(Hooks):
    """Copies the frame at each condition on a Question, and says the condition holds."""

    def __init__(self):
        self.copies = []

    def truth(self, frame, value):
        if not isinstance(value, Question):
            return NotImplemented
        self.copies.append(snapshot(frame))
        return True


class Question:
    """A value nobody knows the truth of."""


def forked(function, *args):
    """Run both ways: as if the first condition held, and from the copy as if it did not."""
    watcher = Fork()
    interpreter = Interpreter(watcher)
    held = interpreter.call(function, *args)
    copied = watcher.copies[0]
    copied.stack[-1] = False
    return held, resume(copied, interrupted=True)[1]


def through(iterable):
    """Ask in the middle of a loop, and tell what is seen afterwards."""
    question = Question()
    seen = ()
    for n, value in enumerate(iterable):
        if n == 1:
            seen += ("yes",) if question else ("no",)
        seen += (value,)
    return seen


ITERABLES = {
    "list": lambda: [1, 2, 3],
    "tuple": lambda: (1, 2, 3),
    "range": lambda: range(1, 4),
    "str": lambda: "123",
    "dict": lambda: {1: 0, 2: 0, 3: 0},
    "items": {1: 0, 2: 0, 3: 0}.items,
    "zip": lambda: zip([1, 2, 3], iter([4, 5, 6]), strict=True),
    "enumerate": lambda: enumerate("abc"),
    "reversed": lambda: reversed([1, 2, 3]),
    "map": lambda: map(abs, iter([1, -2, 3])),
    "filter": lambda: filter(None, [1, 2, 3]),
}


@pytest.mark.parametrize("name", ITERABLES)
def test_both_ways_see_the_same_values(name):
    """Advancing the iterator of one way leaves that of the other where it was."""
    first, *rest = list(ITERABLES[name]())
    held, copied = forked(through, ITERABLES[name]())
    assert held == (first, "yes", *rest)
    assert copied == (first, "no", *rest)


def test_generators_are_copied_with_their_frames():
    """A generator that a frame iterates over goes on in each copy by itself."""

    def program():
        def numbers():
            yield from (k for k in [1, 2, 3])

        return through(numbers())

    watcher = Fork()
    held = Interpreter(watcher).call(program)
    (copied,) = watcher.copies
    copied.stack[-1] = False
    assert held == (1, "yes", 2, 3)
    assert resume(copied, interrupted=True)[1] == (1, "no", 2, 3)


def test_shared_iterators_stay_shared():
    """One memo gives one clone, so two variables that hold one iterator still do."""
    iterator = iter([1, 2, 3])
    memo = {}
    one, two = clone(iterator, memo), clone(zip(iterator, iterator, strict=False), memo)
    assert next(two) == (1, 2)
    assert next(one) == 3
    assert next(iterator) == 1


def test_an_iterator_nobody_can_copy_is_refused():
    """Sharing it would let one way see what the other took."""
    with pytest.raises(MonographError, match="cannot be copied"):
        clone(itertools.count(), {})


@pytest.mark.parametrize("made", [dict.fromkeys("ab"), set("ab")])
def test_an_iterator_over_what_grew_is_refused(made):
    """It raises when it is asked on, unless the sizes agree again."""
    iterator = iter(made)
    other = clone(iterator, {})
    assert stand_alike(iter(made), iter(made))
    made |= {"c": 1} if isinstance(made, dict) else {"c"}
    with pytest.raises(MonographError, match="over what was changed cannot be copied"):
        clone(iterator, {})
    assert stand_alike(other, other)
    assert not stand_alike(iterator, iter(made))


def test_a_copied_frame_has_every_slot():
    """The stack and the variables are lists of its own, which hold the same."""
    fork = Fork()

    def function(question):
        return 1 if question else 2

    frames = []
    fork.truth = lambda frame, value: frames.append((frame, snapshot(frame))) or NotImplemented
    Interpreter(fork).call(function, Question())
    frame, copied = frames[0]
    for name in InterpreterFrame.__slots__:
        if name not in {"__weakref__", "stack", "slots"}:
            assert hasattr(copied, name) == hasattr(frame, name)
    assert copied.stack is not frame.stack
    assert copied.slots is not frame.slots
    assert copied.slots == frame.slots
