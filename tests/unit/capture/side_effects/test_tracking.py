"""Writes to what C keeps of classes, functions and objects outlive the call, and are put back."""

import functools

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


class Meta(type):
    """A class of classes."""


class First(metaclass=Meta):
    """One base."""


class Second(metaclass=Meta):
    """Another."""


class Derived(First):
    """Of the first."""


class Scales(nn.Module):
    """What a module may turn into."""

    def forward(self, x):
        return x * 2


class Calls(nn.Module):
    """Calls a function with itself."""

    def __init__(self, function):
        super().__init__()
        self.function, self.part, self.held = function, nn.ReLU(), Derived()

    def forward(self, x):
        self.function(self)
        return self.part(x) + 1


def wrapped():
    """Is wrapped."""


wrapped.words = []
MANY = [wrapped]
HELD = Derived()


def _names(_):
    Derived.__name__ = "Another"


def _qualifies(_):
    type(HELD).__qualname__ = "Another"


def _documents(_):
    setattr(Derived, "__doc__", "another")  # noqa: B010 - the point


def _passes_by(_):
    type.__setattr__(First, "__name__", "Another")


def _derives(_):
    Derived.__bases__ = (Second,)


def _renames_its_own(module):
    kind = module.held.__class__
    kind.__name__ = "Another"


def _turns(_):
    HELD.__class__ = Second


def _turns_what_it_holds(module):
    held = module.held
    held.__class__ = Second


def _turns_a_module(module):
    module.part.__class__ = Scales


def _wraps(_):
    functools.update_wrapper(wrapped, _names)


def _renames_a_function(_):
    wrapped.__qualname__ = "another"


def _tells(_):
    wrapped.__doc__ = "another"


def _gives_defaults(_):
    wrapped.__defaults__ = (1,)


def _tells_one_of_many(_):
    MANY[0].told = "another"


def _tells_within(_):
    vars(MANY[0])["told"] = "another"


def _adds_to_its_list(_):
    wrapped.words.append("another")


def _adds_to_the_list_of_one(_):
    MANY[0].words.append("another")


def _stays(_):
    Derived.__name__ = "Derived"
    made = Derived()
    made.__class__ = Second


WRITES = [_names, _qualifies, _documents, _passes_by, _derives, _renames_its_own, _turns]
WRITES += [_turns_what_it_holds, _turns_a_module, _wraps, _renames_a_function, _tells]
WRITES += [_gives_defaults, _tells_one_of_many, _tells_within]
WRITES += [_adds_to_its_list, _adds_to_the_list_of_one]


def _all(module):
    classes = [
        (each.__name__, each.__qualname__, each.__doc__, each.__bases__)
        for each in (First, Second, Derived)
    ]
    kinds = [type(each) for each in (HELD, module.held, module.part)]
    parts = wrapped.__name__, wrapped.__qualname__, wrapped.__doc__, wrapped.__defaults__
    return classes, kinds, parts, {**vars(wrapped)}, [*wrapped.words]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_what_c_keeps_is_refused_and_put_back(write, strict):
    """Names, bases, texts and classes: others may look there, and later calls."""
    module = Calls(write)
    before = _all(module)
    with pytest.raises(MonographError) as caught:
        monograph.export(module, (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert caught.value.diagnostic.at[0].code is write.__code__
    assert "Another" not in str(caught.value)[:100]
    assert _all(module) == before


@pytest.mark.parametrize("strict", [True, False])
def test_what_stays_as_it_was_is_no_write(strict):
    """Nor is what the call made itself."""
    x = torch.randn(2)
    program = monograph.export(Calls(_stays), (x,), strict=strict).module()
    assert torch.equal(program(x), Calls(_stays)(x))


def enclosing():
    """Give a function that encloses a variable."""
    count = 0
    return lambda: count


def named_only(*, factor=1):
    """A default value that is given by name alone."""
    return factor


ENCLOSES = enclosing()


def _writes_a_default(_):
    named_only.__kwdefaults__["factor"] += 1


def _writes_a_cell(_):
    ENCLOSES.__closure__[0].cell_contents += 1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("write", [_writes_a_default, _writes_a_cell])
def test_a_write_into_a_function_is_refused_and_put_back(write, strict):
    """What code comes to by the names of places in functions."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Calls(write), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert (named_only(), ENCLOSES()) == (1, 0)


def doubled(x):
    """Has no attributes but those that C keeps."""
    return x * 2


FUNCTIONS = {"doubled": doubled}


class TagsAFunction(nn.Module):
    """A function that is found in a dict gets its first attribute, and is called by its name."""

    def forward(self, x):
        FUNCTIONS["doubled"].shape = x.shape
        return doubled(x)


@pytest.mark.parametrize("strict", [False, True])
def test_the_first_attribute_of_a_function_is_refused_and_put_back(strict):
    """By name, and not as a mistake of ours."""
    with pytest.raises(MonographError) as caught:
        monograph.export(TagsAFunction(), (torch.ones(3),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert not vars(doubled)
