"""Which native calls may call Python of the user's, and are watched."""

from __future__ import annotations

import collections
import functools
import operator
import re
import sys

import numpy as np
import pytest
import torch

from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.plain.callbacks import Callbacks


class Key:
    """A class of the user's."""


class Torch(torch.nn.Linear):
    """A layer of the user's."""


def function():
    """Do nothing."""


def covered():
    """Give a function of the library's that covers one of the user's."""
    return torch.no_grad()(function)


def around(callee, *args, **kwargs):
    """Ask about a call."""
    return Callbacks(Listens).around(callee, args, kwargs)


CLOSED = [
    (operator.add, 1, 2.0),
    (torch.add, torch.ones(2), torch.ones(2)),
    (operator.getitem, {"a": [1, (2, None)]}, "a"),
    (torch.ones(2).reshape, (1, 2)),
    (len, [torch.float32, torch.device("cpu")]),
    (operator.getitem, [1, 2], slice(1, None)),
    (isinstance, 1, int),
    (torch.nn.functional.relu, torch.ones(2)),
    (len, torch.Size([2, 3])),  # no module: installed packages put functions on their class
    (np.add, np.ones(2), 1),
    (np.add.reduce, np.ones(2)),
    (super, Key, Key()),
]
OPEN = [
    (operator.eq, Key(), 1),
    (operator.contains, [1, Key()], 1),
    (operator.getitem, {(1, (Key(),)): 2}, 1),
    (operator.getitem, [1], slice(Key(), None)),
    ({Key(): 1}.get, 1),
    (re.sub, "a", function, "a"),
    (map, functools.partial(function), [1]),
    (map, Key().__init__, [1]),
    (next, (each for each in (1, 2))),
    (min, iter([1, 2])),
    (list, {1: 2}.items()),
    (len, list(range(100))),
    (operator.getitem, collections.defaultdict(function), 1),
    (isinstance, 1, Key),
    (function,),
    (covered(),),
    (len, np.array([Key()], dtype=object)),
    (len, Torch(1, 1)),
    (len, functools.lru_cache(function)),
    (np.frompyfunc(function, 0, 1),),
    (np.frompyfunc(function, 2, 1).reduce, [1, 2]),
    (np.vectorize(function), [1]),
    (functools.cmp_to_key(function), 1),
]


@pytest.mark.parametrize("call", CLOSED, ids=range(len(CLOSED)))
def test_what_can_call_nobody_is_not_watched(call):
    """Numbers, tensors, and what holds nothing else."""
    assert around(*call) is None


@pytest.mark.parametrize("call", OPEN, ids=range(len(OPEN)))
def test_what_may_call_users_is_watched(call):
    """Objects and functions of the user's, also deep inside, and what nobody looked into."""
    assert around(*call) is not None


def test_keywords_count():
    """A key function is given by name."""
    assert around(sorted, [1], key=function) is not None
    assert around(sorted, [1], reverse=True) is None


class Listens:
    """Notes what begins."""

    suspects: frozenset = frozenset()
    aside = None

    def __init__(self):
        self.plans, self.quiet, self.seen = {}, set(), []

    def begins(self, frame, _plan):
        """Note it."""
        self.seen.append(frame.f_code.co_name)

    def calls(self, _frame, called):
        """Note it."""
        self.seen.append(called.__name__)

    def returns(self):
        """Nothing is aside."""

    def is_silent(self, _code):
        """Nothing is."""
        return False


def test_who_is_told_is_put_back_and_calls_within_are_not_watched_twice():
    """Also where the call raises."""
    listener = Listens()
    callbacks = Callbacks(lambda: listener)

    def fails():
        assert callbacks.around(function, [], {}) is None
        len([])
        raise LookupError

    assert CALL_EVENTS.now() is None
    with CALL_EVENTS.held():
        with pytest.raises(LookupError), callbacks.around(function, [], {}):
            fails()
        assert CALL_EVENTS.now() is None
        function()
    assert sys.getprofile() is None
    assert "fails" in listener.seen
    assert "len" in listener.seen
    assert "function" not in listener.seen


def test_a_class_that_the_user_patched_is_the_users(monkeypatch):
    """Its methods are."""
    monkeypatch.setattr(torch.nn.Linear, "__len__", lambda self: 1, raising=False)
    assert around(len, torch.nn.Linear(1, 1)) is not None
