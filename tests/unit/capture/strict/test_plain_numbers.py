"""`monograph.capture.strict.plain_numbers`: what C does not take a symbolic number for."""

import collections
import datetime as dt
import decimal
import ipaddress
import itertools
import json
import math
import pickle
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from torch import nn

from monograph import ContractError, Dim, MonographError, export

GIVEN = {
    "width of %": lambda n: len("%*d" % (n, 1)),  # noqa: UP031 - this one
    "precision of %": lambda n: len("%.*f" % (n, 1.5)),  # noqa: UP031 - this one
    "deque": lambda n: len(collections.deque(range(10), maxlen=n)),
    "permutations": lambda n: len(list(itertools.permutations(range(5), n))),
    "ldexp": lambda n: math.ldexp(1.0, n),
    "Decimal": lambda n: float(decimal.Decimal(n)),
    "digits of a Decimal": lambda n: float(round(decimal.Decimal("1.23456789"), n)),
    "Fraction": lambda n: float(Fraction(n, 3)),
    "timedelta": lambda n: dt.timedelta(seconds=n).seconds,
    "pickle": lambda n: len(pickle.dumps(n)),
    "pickle within containers": lambda n: pickle.loads(pickle.dumps([n, (n, {1: n})]))[1][1][1],
    "json": lambda n: len(json.dumps(n)),
    "json within containers": lambda n: json.loads(json.dumps({"a": [n]}))["a"][0],
    "a method of int": lambda n: int.__add__(n, 1),
    "a generator": lambda n: torch.Generator().manual_seed(n).initial_seed(),
    "count of a range": lambda n: range(n).count(2),
}


def model_of(function):
    """A module that multiplies by a number made of its number of rows."""

    class Model(nn.Module):
        def forward(self, x):
            return x * float(function(x.shape[0]))

    return Model()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", GIVEN.values(), ids=GIVEN)
def test_c_is_given_the_plain_number(function, strict):
    """A guard fixes it: other sizes are refused when the program is called."""
    model, x = model_of(function), torch.ones(4, 2)
    shapes = ({0: Dim.AUTO},)
    run = export(model, (x,), dynamic_shapes=shapes, strict=strict).module()
    assert torch.equal(run(x), model(x))
    for n in (2, 3, 5):
        with pytest.raises(ContractError):
            run(torch.ones(n, 2))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("control_flow", ["capture", "refuse"])
@pytest.mark.parametrize("function", GIVEN.values(), ids=GIVEN)
def test_what_is_declared_to_vary_is_refused_with_the_line(function, control_flow, strict):
    """Never by what Python says of a symbolic number."""
    with pytest.raises(MonographError) as caught:
        export(
            model_of(function),
            (torch.ones(4, 2),),
            dynamic_shapes=({0: Dim("n", max=9)},),
            strict=strict,
            control_flow=control_flow,
        )
    found = caught.value.problems[0].diagnostic
    assert found.name in {"dim-specialised", "capture-failed"}
    assert Path(__file__).name in str(caught.value)


def test_other_sizes_go_on_to_vary():
    """Only what C was given is fixed, and only there."""

    class Model(nn.Module):
        def forward(self, x, y):
            kept = collections.deque(range(9), maxlen=x.shape[0])
            return x.sum() * len(kept) + y * y.shape[0]

    example = torch.ones(4, 2), torch.ones(5)
    run = export(Model(), example, dynamic_shapes=({0: Dim.AUTO}, {0: Dim("m", max=99)})).module()
    for m in (2, 7):
        inputs = torch.ones(4, 2), torch.ones(m)
        assert torch.equal(run(*inputs), Model()(*inputs))


@pytest.mark.parametrize("strict", [True, False])
def test_containers_that_c_changes_are_the_users_own(strict):
    """Plain numbers are put into the list itself."""

    def forward(x):
        n = x.shape[0]
        items = [n, 9, 1]
        try:
            decimal.Decimal(items[0]).quantize(items)
        except TypeError:
            items.append(n + 1)
        return x * sum(items)

    model = type("Model", (nn.Module,), {"forward": staticmethod(forward)})()
    run = export(model, (torch.ones(4, 2),), strict=strict).module()
    assert torch.equal(run(torch.ones(4, 2)), model(torch.ones(4, 2)))


@pytest.mark.parametrize("strict", [True, False])
def test_a_type_error_of_the_modules_own_stays_its_own(strict):
    """The plain number would raise it, too."""
    model = model_of(lambda n: math.ldexp("one", n))
    with pytest.raises(TypeError, match="must be real number"):
        export(model, (torch.ones(4, 2),), dynamic_shapes=({0: Dim.AUTO},), strict=strict)


@pytest.mark.parametrize("strict", [True, False])
def test_numbers_within_objects_are_refused(strict):
    """C finds them by itself."""
    with pytest.raises(MonographError) as caught:
        export(
            model_of(lambda n: int(ipaddress.ip_address(n))),
            (torch.ones(4, 2),),
            dynamic_shapes=({0: Dim.AUTO},),
            strict=strict,
        )
    assert caught.value.problems[0].diagnostic.name == "capture-failed"


def test_a_method_of_a_plain_number_is_exact():
    """`int.__mul__(3, n)` does not say NotImplemented."""
    model, shapes = model_of(lambda n: int.__mul__(3, n)), ({0: Dim("n", max=9)},)
    run = export(model, (torch.ones(4, 2),), dynamic_shapes=shapes).module()
    assert torch.equal(run(torch.ones(7, 2)), model(torch.ones(7, 2)))


def test_methods_of_types_are_told_what_they_lack():
    """`int.__lt__()` raises what Python says, which code may catch."""

    class Lacking(nn.Module):
        def forward(self, x):
            try:
                int.__lt__()
            except TypeError:
                x = x * 2
            return x, int.__mul__(3, x.shape[0])

    program = export(Lacking(), (torch.ones(3),), dynamic_shapes=({0: Dim.AUTO},), strict=True)
    doubled, thrice = program.module()(torch.ones(5))
    assert thrice == 15
    torch.testing.assert_close(doubled, torch.full((5,), 2.0))
