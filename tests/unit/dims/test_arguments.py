"""Example inputs are found by the names that forward gives them, in both orders."""

import pytest
import torch

from monograph.diagnostics import SpecError
from monograph.dims import bind, bound_arguments


def forward(x, /, y, *rest, mask=None, **options):
    """Take one of every kind of argument."""


def test_names_are_in_the_order_of_flattening():
    """Positional inputs come first, extra ones under one name, then keywords as given."""
    found = bind(forward, (1, 2, 3, 4), {"deep": 5, "mask": 6})
    assert list(found.items()) == [("x", 1), ("y", 2), ("rest", (3, 4)), ("deep", 5), ("mask", 6)]


def test_what_is_gathered_comes_last_in_the_order_of_the_signature():
    """A declaration by position follows the signature, not the call."""
    found = bound_arguments(forward, (1,), {"deep": 5, "mask": 6, "y": 2})
    assert found.in_signature == ("x", "y", "mask", "deep")
    assert (found.gathered, found.extra) == ("options", frozenset({"deep"}))


def test_a_module_is_asked_for_its_forward():
    """Modules and functions bind alike."""
    assert bind(torch.nn.Linear(2, 2), (7,), {}) == {"input": 7}


def test_inputs_that_do_not_fit_are_refused():
    """Python's own reason is given."""
    with pytest.raises(SpecError) as refused:
        bind(torch.nn.Linear(2, 2), (1, 2), {"k": 3})
    assert refused.value.diagnostic.name == "forward-rejects-inputs"
    assert "too many positional arguments" in str(refused.value)


class Unreadable:
    """Says something of its parameters that Python does not understand."""

    __signature__ = 5  # text is understood from Python 3.13 on

    def __call__(self, x):
        return x


@pytest.mark.parametrize("forward", [5, Unreadable()])
def test_a_forward_without_a_signature_is_refused(forward):
    """It is no function, or nobody can say what it takes."""
    module = torch.nn.Module()
    module.forward = forward
    with pytest.raises(SpecError) as refused:
        bound_arguments(module, (torch.ones(2),), {})
    assert refused.value.diagnostic.name == "forward-rejects-inputs"
    assert "forward(...)" in str(refused.value)


def test_a_forward_in_c_takes_what_it_is_given():
    """Python cannot say what it takes."""
    module = torch.nn.Module()
    module.forward = min
    assert bound_arguments(module, (1, 2), {}).by_name == {"args": (1, 2)}


def gathers(*a, **k):
    """Gather under names that keyword arguments may have."""
    return a[0] + k["a"]


def positional(a, /, **k):
    """Take by position what a keyword may be called like."""
    return a + k["a"]


@pytest.mark.parametrize("function", [gathers, positional])
def test_two_inputs_of_one_name_are_refused(function):
    """Python takes them apart; names of inputs would not."""
    with pytest.raises(SpecError, match="would be that of two") as refused:
        bind(function, (1,), {"a": 2})
    assert refused.value.diagnostic.name == "forward-rejects-inputs"
