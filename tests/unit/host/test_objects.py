"""Objects are taken apart and made by their attributes; none of their code runs."""

import functools
import threading
from collections import OrderedDict, UserDict, deque
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from torch.utils import _pytree as pytree

from monograph.host.objects import (
    CHILD,
    StandIn,
    attributes_of,
    base_of,
    class_named,
    fits,
    is_object,
    is_safe,
    loaded,
    made,
    stand_in,
    taken_apart,
    unlike,
)
from monograph.host.trees import CyclicTreeError, flatten, has_objects, leaf_paths, unflatten
from monograph.host.trees import Visits as Walk

X = torch.ones(2)


class Plain:
    """An object that counts what runs."""

    ran = 0

    def __init__(self, x):
        type(self).ran += 1
        self.x, self.flag, self.n = x, True, 3

    def __getattribute__(self, name):
        type(self).ran += 1
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        type(self).ran += 1
        super().__setattr__(name, value)


class Holder:
    """An object that holds others."""

    def __init__(self, layers):
        self.layers = layers


class Inner:
    """One that no registration knows."""

    def __init__(self, state):
        self.state = state


class OwnDict(dict):
    """A dict of a class of its own."""

    def __iter__(self):
        raise AssertionError("asked")


class OwnOrdered(OrderedDict):
    """An ordered one."""


class OwnQueue(deque):
    """A queue."""


class WithEnd:
    """Acts when it goes."""

    def __del__(self):
        pass


@dataclass(slots=True)
class Slotted:
    """A dataclass without a dict."""

    x: object
    y: object = None


def test_none_of_its_code_runs():
    """Neither in reading nor in making."""
    given = Plain(X)
    before = Plain.ran
    children, state = taken_apart(given)
    again = made(state, [X + 1, 4])
    assert Plain.ran == before
    assert children[0] is X
    assert children[1:] == [3]
    assert state.attributes == (("x", CHILD), ("flag", True), ("n", CHILD))
    assert attributes_of(again)["n"] == 4


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (Plain, object),
        (Slotted, object),
        (SimpleNamespace, SimpleNamespace),
        (UserDict, object),
        (OwnDict, dict),
        (OwnOrdered, OrderedDict),
        (OwnQueue, deque),
        (dict, None),
        (list, None),
        (object, None),
        (torch.Tensor, None),
        (torch.nn.Linear, None),
        (torch.Generator, None),
        (functools.partial, None),
        (type(threading.Lock()), None),
        (threading.local, None),
        (ValueError, None),
        (type, None),
        (torch.SymInt, None),
    ],
)
def test_which_classes_are_objects(kind, base):
    """Those written in Python, whose objects are their attributes and their content."""
    assert base_of(kind) is base


def test_content_keeps_its_order_and_bounds():
    """Of ordered dicts and queues."""
    queue = OwnQueue([1, 2], maxlen=2)
    queue.label = "q"
    ordered = OwnOrdered(b=X, a=X)
    ordered.move_to_end("b")
    leaves, spec = flatten([queue, ordered, OwnDict(k=X)])
    first, second, third = unflatten(leaves, spec)
    assert (list(first), first.maxlen, first.label, type(first)) == ([1, 2], 2, "q", OwnQueue)
    assert list(second) == ["a", "b"]
    assert third["k"] is X


def test_shared_objects_stay_shared():
    """Also deep inside; and paths name each leaf once."""
    one = Slotted(X)
    tree = [one, {"k": Slotted(one, 2)}]
    leaves, spec = flatten(tree)
    again = unflatten(leaves, spec)
    assert len(leaves) == 2
    assert has_objects(spec)
    assert again[0] is again[1]["k"].x
    assert list(leaf_paths("t", tree, Walk())) == ["t[0].x", "t[1]['k'].y"]


def test_what_a_registration_refuses_is_taken_by_attributes():
    """A registered cache may know some kinds of layers alone; the others keep all they hold."""

    def layers(value):
        if any(not hasattr(each, "x") for each in value.layers):
            raise RuntimeError("not such a layer")
        return [each.x for each in value.layers], None

    pytree.register_pytree_node(
        Holder, layers, lambda parts, _: Holder([SimpleNamespace(x=each) for each in parts])
    )
    try:
        known, other = Holder([SimpleNamespace(x=X)]), Holder([Inner(X)])
        assert not has_objects(flatten(known)[1])
        leaves, spec = flatten(other)
        assert leaves[0] is X
        assert unflatten(leaves, spec).layers[0].state is X
    finally:
        pytree._deregister_pytree_node(Holder)


def test_cycles_have_a_way():
    """It leads from the root to where the object is again."""
    outer = Slotted(None)
    outer.y = [{"up": outer}]
    with pytest.raises(CyclicTreeError) as caught:
        flatten({"root": outer})
    assert (caught.value.path, caught.value.holder) == ("['root'].y[0]['up']", "['root']")


def test_differences_are_named():
    """The class, an attribute that is there or not, or what it is."""
    expected = taken_apart(Slotted(X, "a"))[1]
    assert unlike(expected, taken_apart(Slotted(X, "a"))[1]) is None
    assert unlike(expected, taken_apart(Slotted(X, "b"))[1]) == ".y"
    assert unlike(expected, taken_apart(Slotted(X, X))[1]) == ".y"
    assert unlike(expected, taken_apart(SimpleNamespace(x=X, y="a"))[1]) == ""
    assert unlike(taken_apart(SimpleNamespace(a=True))[1], taken_apart(SimpleNamespace(a=1))[1])


def test_a_class_that_is_not_loaded_has_a_stand_in():
    """Which is the class as soon as that is there."""
    name = f"{__name__}:Slotted"
    absent = stand_in("nowhere.at_all:Thing")
    assert class_named("nowhere.at_all:Thing") is None
    assert loaded(absent) is absent
    assert issubclass(absent, StandIn)
    state = taken_apart(made(taken_apart(SimpleNamespace(x=X))[1], [X]))[1]
    assert fits(type(state)(absent, state.attributes), state)
    if class_named(name) is Slotted:
        assert loaded(stand_in(name)) is Slotted


def test_files_may_not_name_every_class():
    """None of Python's library, none that acts when it goes."""
    import tempfile  # noqa: PLC0415 - where the class is

    assert not is_safe(WithEnd)
    assert not is_safe(tempfile.TemporaryDirectory)
    assert class_named("tempfile:TemporaryDirectory") is None
    assert class_named("builtins:eval") is None
    assert is_safe(SimpleNamespace)
    assert not is_object(object())
