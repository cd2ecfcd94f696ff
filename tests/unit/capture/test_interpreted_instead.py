"""`monograph.capture.interpreted_instead`: plain code is interpreted where that captures more."""

import pytest
import torch
from torch import nn

from monograph import Dim, export
from monograph.capture import running
from monograph.diagnostics import MonographError


def module_of(forward):
    """A module with that forward."""
    return type("Model", (nn.Module,), {"forward": staticmethod(forward)})()


def branches(x):
    """A branch on data."""
    return x * 2 if x.sum() > 0 else x - 1


def loops(x):
    """A loop over a size."""
    total = x.new_zeros(())
    for at in range(x.shape[0]):
        total = total * 2 + x[at].sum()
    return total


def pads(x):
    """A branch on a size."""
    rest = -x.shape[0] % 4
    return torch.nn.functional.pad(x, (0, 0, 0, rest)) if rest > 0 else x * 2


@pytest.mark.parametrize("forward", [branches, loops, pads])
@pytest.mark.parametrize("size", ["n", Dim.AUTO])
def test_what_plain_python_cannot_record_is_interpreted(forward, size):
    """Programs agree at other sizes and on other data."""
    size = Dim(size) if isinstance(size, str) else size
    shapes = {"x": {0: size}}
    program = export(module_of(forward), (torch.ones(5, 3),), dynamic_shapes=shapes, strict=False)
    for n in (2, 4, 7, 8):
        for x in (torch.randn(n, 3), -torch.rand(n, 3), torch.rand(n, 3)):
            torch.testing.assert_close(program.module()(x), forward(x))


@pytest.mark.parametrize("forward", [branches, loops, pads])
def test_nothing_is_interpreted_where_both_ways_are_refused(forward):
    """`control_flow="refuse"` is the plain run alone."""
    shapes, x = {"x": {0: Dim.AUTO}}, torch.ones(5, 3)

    def of_other_sizes():
        program = export(
            module_of(forward), (x,), dynamic_shapes=shapes, strict=False, control_flow="refuse"
        )
        return program.module()(torch.ones(4, 3))

    with pytest.raises(MonographError):
        of_other_sizes()


def test_what_is_refused_either_way_is_said_as_the_plain_run_says_it():
    """One refusal, of the run that was asked for."""

    def forward(x):
        return x * hash(str(id(x))) if x.sum() > 0 else x

    with pytest.raises(MonographError) as raised:
        export(module_of(forward), (torch.ones(3),), strict=False)
    names = {each.diagnostic.name for each in raised.value.problems}
    assert "data-dependent-branch" in names


def test_a_module_is_run_once_where_that_is_enough(monkeypatch):
    """Sizes that must be one leave nothing out that an interpreter lets in."""
    runs = []
    session = running.Session.run
    monkeypatch.setattr(running.Session, "run", lambda self: runs.append(1) or session(self))
    shapes = {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}
    add = module_of(lambda x, y: x + y)
    export(add, (torch.ones(5), torch.ones(5)), dynamic_shapes=shapes, strict=False)
    assert runs == [1]


@pytest.mark.parametrize("strict", [False, True])
def test_a_reshape_is_left_open_that_views_by_the_example_alone(strict):
    """One row of patches is a view of the map; other programs have more."""

    def patched(x):
        y = x[:, :, ::4, ::4]
        b, c, h, w = y.shape
        return torch.relu(y.transpose(1, 2).reshape(b, c * h, w))

    shapes = {"x": {0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO}}
    program = export(
        module_of(patched), (torch.randn(2, 3, 4, 8),), dynamic_shapes=shapes, strict=strict
    )
    for form in (program, program.run_decompositions()):
        for sizes in ((2, 3, 4, 8), (3, 3, 9, 8), (2, 3, 16, 5)):
            for x in (torch.randn(sizes), torch.randn(*sizes[:2], *sizes[:1:-1]).mT):
                torch.testing.assert_close(form.module()(x), patched(x))


def test_an_equality_that_all_but_small_sizes_satisfy_ties_nothing():
    """`min(n, 1) == 1` is no reason to keep the plain run, which holds to a padded size."""

    def in_chunks(x):
        padded = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[0] % 4))
        chunks = padded.reshape(-1, 4, x.shape[1])
        before = torch.zeros_like(chunks[:1])
        return (torch.cat([before, chunks])[:-1] + chunks).flatten(0, 1)[: x.shape[0]]

    program = export(
        module_of(in_chunks),
        (torch.randn(8, 3),),
        dynamic_shapes={"x": {0: Dim.AUTO}},
        strict=False,
    )
    for n in (8, 5, 2, 13):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program.module()(x), in_chunks(x))
