"""Every suggested declaration, applied mechanically, exports; and its source says the same."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

import monograph
from monograph import ConstraintViolation, Dim, ShapesCollection, dims, export
from monograph.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

dx, dy, d1, n = dims("dx", "dy", "d1", "n")


class Pair(NamedTuple):
    """Two inputs by name."""

    left: Any
    right: Any


@dataclass
class Both:
    """Two inputs in one."""

    left: Any
    right: Any


monograph.register_dataclass(Both)


def module_of(function):
    """A module that calls a function."""
    return type("M", (nn.Module,), {"forward": staticmethod(function)})()


def refusal(function, example, spec):
    """The refusal of a declaration."""
    with pytest.raises(ConstraintViolation) as caught:
        export(module_of(function), example, dynamic_shapes=spec)
    return caught.value


def add_four(x, y):
    """The sum of the tutorial: dimension 0 is shared, dimension 1 is 4."""
    return x + y + torch.ones(4)


def halves(x, y):
    """Takes `x` by twos."""
    return x.view(-1, 2), y


def one_longer(x, y):
    """`y` is twice as long as `x`, and one."""
    return torch.cat([x, x, x[:1]]) + y


def narrow(x, y):
    """Needs three rows at least and a hundred columns at most; and what no range says."""
    assert x.shape[0] >= 3
    assert y.shape[0] <= 100
    assert x.shape[0] * y.shape[0] <= 1000
    assert x.shape[0] != 7
    return x[2], y


def joined(x, y, z):
    """`z` is as long as the others together."""
    return torch.cat([x, y]) + z


def by_six(x, y):
    """Twos and threes."""
    return x.view(-1, 2), x.view(3, -1), y


def rows(*sizes):
    """Tensors of these sizes."""
    return tuple(torch.randn(size) for size in sizes)


CASES = {
    "tutorial": (
        add_four,
        rows((6, 4), (6, 4)),
        {"x": (dx, d1), "y": (dy, d1)},
        {"d1": "4", "dy": "dx"},
        "{'x': (dx, 4), 'y': (dx, 4)}",
    ),
    "by position": (
        add_four,
        rows((6, 4), (6, 4)),
        [{0: dx, -1: d1}, [dy, None]],
        {"d1": "4", "dy": "dx"},
        "[{0: dx, -1: 4}, [dx, None]]",
    ),
    "line": (
        add_four,
        rows((6, 4), (6, 4)),
        "x: dx, d1; y: dy, d1;",
        {"d1": "4", "dy": "dx"},
        "'x: dx, d1; y: dy, d1; d1 == 4; dy == dx'",
    ),
    "halves": (
        halves,
        rows((6,), (3, 4)),
        {"x": (dx,), "y": {0: dy}},
        {"_dx": 'Dim("_dx")', "dx": "2*_dx"},
        "{'x': (2*_dx,), 'y': {0: dy}}",
    ),
    "halves in a line": (
        halves,
        rows((6,), (3, 4)),
        "x: dx; y: dy, _; dx >= 4",
        {"_dx": 'Dim("_dx", min=2)', "dx": "2*_dx"},
        "'x: dx; y: dy, _; dx >= 4; dx == 2*_dx; _dx >= 2'",
    ),
    "a range of halves": (
        halves,
        rows((6,), (3, 4)),
        {"x": (Dim("dx", min=3, max=9),), "y": None},
        {"_dx": 'Dim("_dx", min=2, max=4)', "dx": "2*_dx"},
        "{'x': (2*_dx,), 'y': None}",
    ),
    "sixths": (
        by_six,
        rows((6,), (3,)),
        {"x": (dx,), "y": (dx - 3,)},
        {"_dx": 'Dim("_dx")', "dx": "6*_dx"},
        "{'x': (6*_dx,), 'y': (6*_dx - 3,)}",
    ),
    "derived": (
        one_longer,
        rows((3,), (7,)),
        {"x": (dx,), "y": (dy,)},
        {"dx": 'Dim("dx", min=1)', "dy": "2*dx + 1"},
        "{'x': (dx,), 'y': (2*dx + 1,)}",
    ),
    "ranges": (
        narrow,
        rows((4, 4), (6, 4)),
        {"x": (dx, None), "y": (dy, None)},
        {"dx": 'Dim("dx", min=3)', "dy": 'Dim("dy", max=100)'},
        "{'x': (dx, None), 'y': (dy, None)}",
    ),
    "a sum of two": (
        joined,
        rows((3,), (2,), (5,)),
        {"x": (dx,), "y": (dy,), "z": (Dim("n", max=90),)},
        {"dx": 'Dim("dx", max=90)', "dy": 'Dim("dy", max=90)', "n": "Dim.AUTO(max=90)"},
        "{'x': (dx,), 'y': (dy,), 'z': (Dim.AUTO(max=90),)}",
    ),
    "a sum of two in a line": (
        joined,
        rows((3,), (2,), (5,)),
        "x: dx; y: dy; z: n",
        {"n": "Dim.AUTO"},
        "'x: dx; y: dy; z: n; n == dx + dy'",
    ),
    "insisting": (
        add_four,
        rows((6, 4), (6, 4)),
        {"x": {0: Dim.AUTO, -1: Dim.DYNAMIC}, "y": (Dim.AUTO, Dim.DYNAMIC)},
        {"x.shape[1]": "4", "y.shape[1]": "4"},
        "{'x': {0: Dim.AUTO, -1: 4}, 'y': (Dim.AUTO, 4)}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_suggested_declaration_exports(name):
    """It is the expected one, its source evaluates to it, and from the text it is the same."""
    function, example, spec, suggestions, value = CASES[name]
    error = refusal(function, example, spec)
    assert dict(error.suggestions) == suggestions, str(error)
    repaired = error.suggested_dynamic_shapes
    assert repr(repaired) == value
    export(module_of(function), example, dynamic_shapes=repaired)
    assert monograph.refine_dynamic_shapes(spec, error) is repaired
    if name not in {"insisting", "a sum of two in a line"}:
        again = refine_dynamic_shapes_from_suggested_fixes(str(error), spec)
        assert repr(again) == value
        export(module_of(function), example, dynamic_shapes=again)
    names = {"Dim": Dim}
    exec("\n".join(error.repair.source), names)
    assert repr(names["dynamic_shapes"]) == value


@pytest.mark.parametrize("name", CASES)
def test_the_message_ends_with_the_repair(name):
    """Within the columns of a page."""
    error = refusal(*CASES[name][:3])
    shown = str(error).split("\n")
    assert "suggested fixes:" in shown
    assert max(map(len, shown)) <= 100
    assert len(shown) <= 25 * len(error.problems) + 25


def test_nesting_is_kept():
    """Dicts, named tuples, dataclasses and keyword arguments."""
    x, y = torch.randn(6, 4), torch.randn(6, 4)

    def forward(inputs, pair, *, both):
        return inputs["k"][0] + pair.left + both.right

    spec = {
        "inputs": {"k": [{1: Dim.DYNAMIC, 0: dx}]},
        "pair": Pair((dy, d1), None),
        "both": Both(None, {0: n}),
    }
    m = module_of(forward)
    example = ({"k": [x]}, Pair(y, y))
    with pytest.raises(ConstraintViolation) as caught:
        export(m, example, {"both": Both(x, y)}, dynamic_shapes=spec)
    repaired = caught.value.suggested_dynamic_shapes
    assert repaired["inputs"] == {"k": [{1: 4, 0: dx}]}
    assert repaired["pair"] == Pair((dx, 4), None)
    assert repaired["both"] == Both(None, {0: dx})
    export(m, example, {"both": Both(x, y)}, dynamic_shapes=repaired)


def test_a_collection_becomes_a_declaration_by_name():
    """Tensors are known by identity, so the suggestion names the arguments."""
    example = rows((6, 4), (6, 4))
    shapes = ShapesCollection()
    shapes[example[0]] = (dx, d1)
    shapes[example[1]] = (dy, d1)
    error = refusal(add_four, example, shapes)
    assert repr(error.suggested_dynamic_shapes) == "{'x': (dx, 4), 'y': (dx, 4)}"
    export(module_of(add_four), example, dynamic_shapes=error.suggested_dynamic_shapes)


def test_the_message_of_the_peer_is_read():
    """Its text has the same block, in other quotes."""
    text = """Constraints violated (d1, dy)! For more information, run with TORCH_LOGS="+dynamic".
  - The values of dy = L['y'].size()[0] and dx = L['x'].size()[0] must always be equal.

Suggested fixes:
  _dx = Dim('_dx', min=2, max=512)
  d1 = 4
  dx = 2*_dx
  dy = dx

The error above occurred when calling torch.export.export."""
    spec = {"x": (dx, d1), "y": {0: dy, 1: d1}}
    found = refine_dynamic_shapes_from_suggested_fixes(text, spec)
    assert repr(found) == "{'x': (2*_dx, 4), 'y': {0: 2*_dx, 1: 4}}"
    assert (found["x"][0].root.min, found["x"][0].root.max) == (2, 512)


def test_nothing_to_refine_is_said():
    """Rather than handing the declaration back as if it were another."""
    with pytest.raises(ValueError, match="suggested fixes"):
        refine_dynamic_shapes_from_suggested_fixes("something else", {"x": None})


def test_conditions_that_no_declaration_says_stay_with_the_program():
    """They are no violation, and are checked at every call."""

    def bounded(x, y):
        assert x.shape[0] * y.shape[0] <= 100
        assert x.shape[0] != 4
        return x, y

    program = export(module_of(bounded), rows((5,), (6,)), dynamic_shapes={"x": (dx,), "y": (dy,)})
    program.module()(*rows((10,), (10,)))
    for sizes in ((11, 10), (4, 1)):
        with pytest.raises(monograph.ContractError):
            program.module()(*rows(*[(size,) for size in sizes]))
