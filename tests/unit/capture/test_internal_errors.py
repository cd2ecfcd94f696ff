"""What leaves a capture is a diagnostic, or the module's own exception."""

import json

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError

X = torch.arange(12.0).reshape(4, 3)


def module(function):
    """A module of a function."""
    return type("Model", (nn.Module,), {"forward": staticmethod(function)})()


def refusal(function, *, strict):
    """The diagnostic of an export with any number of rows."""
    shapes = {"x": {0: monograph.Dim.AUTO}}
    with pytest.raises(MonographError) as caught:
        monograph.export(module(function), (X,), dynamic_shapes=shapes, strict=strict)
    return caught.value.problems[0].diagnostic


def test_what_c_code_says_of_a_number_is_refused_with_the_line():
    """The exception names what stands for the number, and is told in those words."""
    found = refusal(lambda x: x * len(json.dumps([int(x.sum())])), strict=True)
    assert found.name == "capture-failed"
    assert "Object of type symbolic int is not JSON serializable" in found.headline
    assert found.at[0].code.co_filename == __file__


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda x: len(x.shape[0]), TypeError),
        (lambda x: x.shape[0].rows, AttributeError),
        (lambda x: "rows: " + x.shape[0], TypeError),
        (lambda x: [1, 2][x.shape[0]], IndexError),
        (lambda x: 1 // (x.shape[0] - 4), ZeroDivisionError),
        (lambda x: int("four") + x, ValueError),
    ],
)
def test_what_eager_code_raises_is_the_modules_own(wrong, kind, strict):
    """Python says the same of the plain number."""
    with pytest.raises(kind):
        module(wrong)(X)
    with pytest.raises(kind):
        monograph.export(
            module(wrong), (X,), dynamic_shapes={"x": {0: monograph.Dim.AUTO}}, strict=strict
        )


def test_no_except_takes_what_is_ours():
    """User code would go on where eager code does not go."""

    def forward(x):
        try:
            return x * len(json.dumps([int(x.sum())]))
        except TypeError:
            return x

    assert refusal(forward, strict=True).name == "capture-failed"
