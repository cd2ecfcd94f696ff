"""`export(is_exporting=...)`: who hears that code is exported, and what programs are held to."""

import sysconfig
from pathlib import Path

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError

X = torch.arange(6.0).view(2, 3) + 1


class Asks(nn.Module):
    """Asks, and computes another thing for each answer."""

    def forward(self, x):
        return x * (2 if torch.compiler.is_exporting() else 3)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("told", [None, False, True])
def test_what_user_code_is_told(told, strict):
    """By default what eager code is told; the report has the question either way."""
    program = monograph.export(Asks(), (X,), strict=strict, is_exporting=told)
    assert torch.equal(program.module()(X), X * (2 if told else 3))
    (asked,) = program.report.assumptions
    assert str(asked) == f"torch.compiler.is_exporting() == {bool(told)}"
    assert asked.place.startswith("test_exporting.py:")


def test_drafts_are_told_too():
    """A draft takes the argument."""
    program = monograph.draft_export(Asks(), (X,), is_exporting=True)
    assert torch.equal(program.module()(X), X * 2)


PACKAGE = """
import torch
def attend(x, mask):
    if not torch.compiler.is_compiling() and mask.all():
        return {shortcut}
    return x.masked_fill(~mask, 0.0) * 2
"""


def package(shortcut):
    """A function of an installed package, with a shortcut for masks without padding."""
    path = Path(sysconfig.get_paths()["purelib"], "a_package", "masks.py")
    names = {"__name__": "a_package.masks"}
    exec(compile(PACKAGE.format(shortcut=shortcut), path, "exec"), names)
    return names["attend"]


def attending(attend):
    """A module that calls it."""
    return type("Attends", (nn.Module,), {"forward": lambda self, x, m: attend(x, m)})()


MASK = torch.tensor([[True, True, False], [True, True, True]])


@pytest.mark.parametrize("mask", [MASK, torch.ones_like(MASK)])
def test_packages_are_told_where_nothing_else_helps(mask):
    """Plain capture takes no branch on data, and the way for exports agrees."""
    module = attending(package("x * 2"))
    program = monograph.export(module, (X, mask), strict=False, control_flow="refuse")
    assert "torch.compiler.is_compiling() == True" in map(str, program.report.assumptions)
    for each in (MASK, torch.ones_like(MASK), ~MASK):
        assert torch.equal(program.module()(X, each), module(X, each))


@pytest.mark.parametrize("mask", [MASK, torch.ones_like(MASK)])
def test_packages_that_compute_something_else_then_are_refused(mask):
    """The module is asked with and without padding, whatever the example has."""
    module = attending(package("x * 5"))
    with pytest.raises(MonographError) as raised:
        monograph.export(module, (X, mask), strict=False, control_flow="refuse")
    assert raised.value.diagnostic.name == "data-dependent-branch"
    assert "does not agree with the module" in raised.value.__notes__[0]


def test_packages_are_told_what_eager_code_is_told_where_that_is_captured():
    """Interpreted code goes both ways."""
    module = attending(package("x * 5"))
    program = monograph.export(module, (X, MASK))
    for each in (MASK, torch.ones_like(MASK)):
        assert torch.equal(program.module()(X, each), module(X, each))
    assert [str(each) for each in program.report.assumptions if each.kind == "query"] == [
        "torch.compiler.is_compiling() == False"
    ]


def test_nothing_else_is_told_where_false_is_asked_for():
    """`is_exporting=False` is eager's answer for everybody."""
    with pytest.raises(MonographError):
        monograph.export(
            attending(package("x * 2")), (X, MASK), control_flow="refuse", is_exporting=False
        )
