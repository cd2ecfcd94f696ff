"""What an export found out about sizes is told: constants, guards, and what constrains one size."""

import copy
import logging

import pytest
import torch
from torch import nn

from monograph import ContractError, Dim, dims, export

AUTO = Dim.AUTO


class Sums(nn.Module):
    """Takes rows by twos, and fixes four columns."""

    def forward(self, x, y, n):
        x = x.view(-1, 2)
        if y.shape[0] >= 2:
            y = y + 1
        assert y.shape[0] >= 3
        return x, y + torch.ones(4), y[:n]


def exported(**declared):
    """The program of `Sums`, where `AUTO` is what is not declared otherwise."""
    spec = {"x": (AUTO,), "y": (AUTO, AUTO), "n": AUTO} | declared
    return export(Sums(), (torch.randn(6), torch.randn(5, 4), 3), dynamic_shapes=spec)


def test_what_turned_out_constant_is_reported_and_logged_once(caplog):
    """With its path, its value, and the line that fixed it."""
    with caplog.at_level(logging.WARNING, logger="monograph"):
        report = exported().report
    (found,) = report.specializations
    assert (found.path, found.value) == ("y.shape[1]", 4)
    line = Sums.forward.__code__.co_firstlineno + 5
    assert found.place == f"test_report.py:{line}"
    assert found.at[0].line == line
    (record,) = caplog.records
    place = f"(test_report.py:{line})"
    assert record.getMessage() == f"constant although Dim.AUTO: y.shape[1] == 4 {place}"
    assert str(report) == (
        f"constant although Dim.AUTO\n    y.shape[1] == 4   test_report.py:{line}"
    )


def test_nothing_constant_is_nothing_to_report(caplog):
    """A declared constant is not one that was found out."""
    with caplog.at_level(logging.WARNING, logger="monograph"):
        report = exported(y=(AUTO, 4)).report
    assert (report.specializations, str(report), caplog.records) == ((), "nothing to report", [])


def test_guards_are_relations_over_input_paths():
    """Each with the line that asked; those that follow from later ones are left out."""
    first = Sums.forward.__code__.co_firstlineno
    program = exported()
    assert str(program.guards) == "\n".join(
        [
            f"x.shape[0] % 2 == 0   test_report.py:{first + 1}",
            f"y.shape[0] >= 3       test_report.py:{first + 4}",
            f"y.shape[1] == 4       test_report.py:{first + 5}",
            f"n >= 0                test_report.py:{first + 5}",
        ]
    )
    assert str(program.guards[1]) == f"y.shape[0] >= 3   test_report.py:{first + 4}"
    assert program.guards[0].relation == "x.shape[0] % 2 == 0"
    assert copy.deepcopy(program).guards == program.guards


def test_a_named_size_is_written_by_where_it_is_seen():
    """The name is in the declaration; the path can be tried."""
    a, b = dims("a", "b")

    def bounded(x, y):
        assert x.shape[0] * y.shape[0] <= 100
        return x, y

    module = type("M", (nn.Module,), {"forward": staticmethod(bounded)})()
    shapes = {"x": (a,), "y": (2 * b,)}
    program = export(module, (torch.randn(3), torch.randn(4)), dynamic_shapes=shapes)
    assert program.guards[0].relation == "x.shape[0]*b <= 50"


def test_a_size_is_explained_by_every_line_that_constrained_it():
    """The declared range, each guard, and what it came to; by path or by name."""
    first = Sums.forward.__code__.co_firstlineno
    program = exported(y=(Dim("rows", min=3, max=9), AUTO))
    assert str(program.explain("y.shape[1]")) == "\n".join(
        [
            "y.shape[1]",
            "    y.shape[1] is declared 0 …",
            f"    needs y.shape[1] == 4        test_report.py:{first + 5}",
            f"    so it is always 4            test_report.py:{first + 5}",
        ]
    )
    assert str(program.explain("rows")) == "rows\n    rows is declared 3 … 9"
    assert str(program.explain("y.shape[0]")).split("\n")[1:] == [
        "    is rows",
        "    rows is declared 3 … 9",
    ]
    shown = str(exported().explain("y.shape[0]"))
    assert f"needs y.shape[0] >= 2        test_report.py:{first + 2}" in shown
    assert f"needs y.shape[0] >= 3        test_report.py:{first + 4}" in shown
    assert "so y.shape[0] is 3 …" in shown
    fixed = exported(y=(AUTO, 4))
    assert "is 4" in str(fixed.explain("y.shape[1]"))


def test_a_size_that_no_input_has_is_said():
    """With those that there are."""
    with pytest.raises(ValueError, match=r"x.shape\[0\], y.shape\[0\]"):
        exported().explain("z.shape[0]")


def test_what_is_pruned_is_implied():
    """The contract refuses the same calls."""

    def stepwise(x):
        assert x.shape[0] >= 2
        assert x.shape[0] != 3
        assert x.shape[0] >= 5
        assert x.shape[0] % 2 == 0
        return x * 2

    module = type("M", (nn.Module,), {"forward": staticmethod(stepwise)})()
    program = export(module, (torch.randn(8),), dynamic_shapes={"x": (AUTO,)})
    assert [each.relation for each in program.guards] == ["x.shape[0] >= 5", "x.shape[0] % 2 == 0"]
    for size in range(12):
        if size >= 5 and size % 2 == 0:
            program.check_inputs(torch.randn(size))
        else:
            with pytest.raises(ContractError):
                program.check_inputs(torch.randn(size))
