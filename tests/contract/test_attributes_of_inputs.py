"""Attributes that a user set on a tensor: a call that has others than the example is refused."""

import copy
import inspect
import io

import pytest
import torch
from torch import nn

import monograph
from monograph import ContractError


def with_default(x):
    """A default where there is none."""
    return x + getattr(x, "tag", 2)


def has(x):
    """A branch."""
    return x * 2 if hasattr(x, "tag") else x * 3


def tried(x):
    """An error that is caught."""
    try:
        return x + x.tag
    except AttributeError:
        return x + 2


def in_vars(x):
    """All that there are."""
    return x + len(vars(x))


def in_dict(x):
    """By name, in the dict itself."""
    return x + x.__dict__.get("tag", 2)


def past_the_class(x):
    """As code reads that trusts no class."""
    return x + len(object.__getattribute__(x, "__dict__"))


def in_dir(x):
    """Among the names."""
    return x + ("tag" in dir(x)) + len(dir(x))


def static(x):
    """Without running code."""
    return x + inspect.getattr_static(x, "tag", 2)


def on_a_copy(x):
    """A copy has what it is a copy of has."""
    return x + len(vars(copy.copy(x)))


def on_a_deep_copy(x):
    """So has a copy of everything."""
    return x + len(vars(copy.deepcopy(x)))


def copied(x):
    """Put on another."""
    y = torch.ones(3)
    y.__dict__.update(vars(x))
    return y + len(vars(y))


ASKING = [with_default, has, tried, in_vars, in_dict, past_the_class, in_dir, static, on_a_copy]
ASKING += [on_a_deep_copy, copied]


def of_a_view(x):
    """A view has none, whatever the input has."""
    y = x[1:]
    return y * 2 if hasattr(y, "tag") else y * 3


def tagged(x, tag):
    """The tensor with an attribute."""
    x.tag = tag
    return x


def forms(function, *, strict):
    """The program plain, lowered, and saved and loaded."""
    module = type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()
    program = monograph.export(module, (torch.ones(3),), strict=strict)
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return program, program.run_decompositions(), monograph.load(file)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", ASKING)
def test_a_call_with_attributes_is_refused(function, strict):
    """The example had none."""
    for program in forms(function, strict=strict):
        given = torch.arange(3.0)
        assert torch.equal(program.module()(given), function(given))
        with pytest.raises(ContractError, match="__dict__"):
            program.module()(tagged(torch.arange(3.0), 7))


@pytest.mark.parametrize("strict", [True, False])
def test_views_have_none(strict):
    """What a program makes has the attributes that it sets."""
    for program in forms(of_a_view, strict=strict):
        given = tagged(torch.arange(3.0), 7)
        assert torch.equal(program.module()(given), of_a_view(given))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", ASKING)
def test_an_example_with_attributes_is_refused(function, strict):
    """The program would repeat what they are now."""
    module = type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()
    with pytest.raises(monograph.MonographError, match=r"outside-read"):
        monograph.export(module, (tagged(torch.ones(3), 1),), strict=strict)


def test_nobody_asks():
    """Attributes that no code looks for are allowed."""
    module = nn.Linear(3, 3)
    program = monograph.export(module, (tagged(torch.ones(2, 3), 1),))
    given = tagged(torch.randn(2, 3), "other")
    assert torch.equal(program.module()(given), module(given))


def by_name(x):
    """A number."""
    x.tag = 1
    return x + x.tag


def by_update(x):
    """Past the name."""
    vars(x)["tag"] = 1
    return x + 1


def by_another_dict(x):
    """All at once."""
    x.__dict__ = {"tag": torch.ones(3)}
    return x + x.tag


def by_another_name(x):
    """What gives back the tensor itself."""
    y = x.contiguous()
    y.tag = None
    return x + 1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [by_name, by_update, by_another_dict, by_another_name])
def test_what_is_put_on_an_input_stays(function, strict):
    """A program would not put it there."""
    module = type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()
    with pytest.raises(monograph.MonographError, match=r"write-outlives-call"):
        monograph.export(module, (torch.ones(3),), strict=strict)


def taken_off(x):
    """For the time of the call."""
    x.tag = 1
    y = x + x.tag
    del x.tag
    return y


def on_one_object(x):
    """What a layout makes one."""
    y = x + 1
    y.contiguous().tag = 3
    return y * getattr(y, "tag", 2)


def on_copies(x):
    """Attributes of what the call made."""
    y = x * 2
    y.tag, y.other = 3, torch.ones(3)
    return copy.copy(y).tag + copy.deepcopy(y.detach()) + copy.copy(y).other + len(dir(y))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [taken_off, on_one_object, on_copies])
def test_what_nobody_sees_is_captured(function, strict):
    """The program has no attributes, and what was computed with them."""
    for program in forms(function, strict=strict):
        given = torch.arange(3.0)
        assert torch.equal(program.module()(given), function(given))
        assert not vars(given)


class Own:
    """A class whose `__dict__` is not the object's."""

    def __init__(self):
        self.step = 2

    @property
    def __dict__(self):
        """What it likes to show."""
        return {"step": 5, "next": None}

    def next(self, x):
        """A method, which no dict of the class's making hides."""
        return x + self.step + vars(self)["step"]


def of_a_class_with_its_own(x):
    """The object's attributes are read, as Python reads them."""
    return Own().next(x)


def test_a_dict_that_a_class_makes_is_not_where_attributes_are():
    """A method is found all the same."""
    for program in forms(of_a_class_with_its_own, strict=True):
        assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 8.0))


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_what_c_keeps_of_sizes_is_no_attribute(strict):
    """C++ puts the sizes that it asked for on the tensor."""

    class Mapped(torch.nn.Module):
        def forward(self, x):
            return torch.vmap(lambda row: row * 2)(x)

    sizes = ({0: monograph.Dim.AUTO},)
    program = monograph.export(Mapped(), (torch.ones(3, 8),), dynamic_shapes=sizes, strict=strict)
    x = torch.randn(5, 8)
    torch.testing.assert_close(program.module()(x), x * 2)
