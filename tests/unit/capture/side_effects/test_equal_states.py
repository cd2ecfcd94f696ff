"""`monograph.capture.side_effects.equal_states`: libraries that replace a state by an equal one."""

import importlib
import itertools
import sys

import pytest
import torch
from torch import nn

from monograph import export
from monograph.capture.side_effects.equal_states import are_alike
from monograph.diagnostics import MonographError

STATE = """
class State:
    def __init__(self, before=None):
        self.kinds = dict(before.kinds) if before else {}
        self.path = [*before.path] if before else []
        self.n = before.n if before else 0

class Registry:
    def __init__(self):
        self.state = State()

registry, other = Registry(), Registry()
other.state = registry.state
"""
CASES = {
    "equal": "def get(x):\n"
    "    new = State(registry.state)\n"
    "    new.kinds.setdefault((type(x),), new)\n"
    "    new.kinds[(type(x),)] = 2\n"
    "    registry.state = new\n"
    "    return new.kinds[(type(x),)]\n",
    "counts": "def get(x):\n"
    "    new = State(registry.state)\n"
    "    new.n += 1\n"
    "    registry.state = new\n"
    "    return new.n\n",
    "counts in the old one": "def get(x):\n"
    "    registry.state.n += 1\n"
    "    registry.state = State(registry.state)\n"
    "    return registry.state.n\n",
    "grows": "def get(x):\n"
    "    new = State(registry.state)\n"
    "    new.path.append(1)\n"
    "    registry.state = new\n"
    "    return len(new.path)\n",
    "turns": "def get(x):\n"
    "    new = State(registry.state)\n"
    "    new.path = (new.path or [1, 2])[::-1]\n"
    "    registry.state = new\n"
    "    return new.path[0]\n",
    "keeps the tensor": "def get(x):\n"
    "    new = State(registry.state)\n"
    "    found = new.kinds.get('x', 0)\n"
    "    new.kinds = {'x': x}\n"
    "    registry.state = new\n"
    "    return found\n",
}
_NAMES = map("equal_states_case_{}".format, itertools.count())


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Make a package in a site-packages of its own."""

    def make(source):
        name, folder = next(_NAMES), tmp_path / "site-packages"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(STATE + source)
        monkeypatch.syspath_prepend(str(folder))
        try:
            return importlib.import_module(name)
        finally:
            sys.modules.pop(name)

    return make


class Calls(nn.Module):
    """Multiplies by what the library says."""

    def __init__(self, library):
        super().__init__()
        self.get = library.get

    def forward(self, x):
        """Ask once."""
        return x * self.get(x)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_program_agrees_call_by_call_or_is_refused(case, strict, library):
    """Only a state that leads to the same in the same way outlives no call."""
    source, x = CASES[case], torch.ones(2)
    try:
        program = export(Calls(library(source)), (x,), strict=strict).module()
    except MonographError:
        assert case != "equal"
        return
    assert case == "equal"
    module = Calls(library(source))
    for _ in range(3):
        assert torch.equal(program(x), module(x))


class Node:
    """An object with attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def chain():
    """Two objects that lead to each other, and one that both lead to."""
    shared = [1, "a"]
    one, other = Node(shared=shared), Node(shared=shared)
    one.other, other.other = other, one
    return one


def test_objects_are_alike_that_lead_to_the_same_in_the_same_way():
    """Cycles and shared objects included."""
    assert are_alike(chain(), chain(), {})
    parted = chain()
    parted.shared = [1, "a"]
    assert not are_alike(chain(), parted, {})
    assert not are_alike(parted, chain(), {})
    before = chain()
    assert not are_alike(before, chain(), {id(before.other): None})


def test_a_list_that_changed_is_what_it_held():
    """Its content from before the call decides, not what it holds by now."""
    old, kept = {"a": [1, 2]}, {}
    kept[id(old["a"])] = [1]
    assert are_alike(old, {"a": [1]}, kept)
    assert not are_alike(old, {"a": [1, 2]}, kept)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], [True]),
        ([1], [1.0]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (torch.ones(2), torch.ones(2)),
        ([object()], [object()]),
        (nn.Linear(1, 1), nn.Linear(1, 1)),
        (iter([1]), iter([1])),
        ({1, 2}, {1, 2, 3}),
        (Node(a=1), Node(a=1, b=2)),
        ((1, [2]), (1, [3])),
    ],
)
def test_what_may_be_told_apart_is_not_alike(one, other):
    """Numbers of another class, another order, and what holds more than can be seen."""
    assert not are_alike(one, other, {})
