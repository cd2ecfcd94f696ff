"""What PyTorch's documents declare about the sizes of their programs, and what they show."""

import re

import pytest
import torch

from monograph import Dim, dims, export
from monograph.diagnostics import ContractError, MonographError
from tests.programs.seeds import DynamicModel, GuardedModel, LinearOfOne, TwoBranches, Violated

FOUR = (torch.randn(6, 5), torch.randn(4), torch.randn(8, 4), torch.randn(32))
AUTO = {
    "w": (Dim.AUTO, Dim.AUTO),
    "x": (Dim.AUTO,),
    "y": (Dim.AUTO, Dim.AUTO),
    "z": (Dim.AUTO,),
}


def names_of(error: MonographError) -> list[str]:
    """Give the names of all refusals in one error."""
    return re.findall(r"^error\[(.*?)\]", str(error), re.MULTILINE)


def test_a_static_program_refuses_other_sizes():
    """Shown: a guard fails on y's size 3 instead of 8."""
    module = export(DynamicModel(), FOUR).module()
    with pytest.raises(ContractError) as caught:
        module(FOUR[0], FOUR[1], torch.randn(3, 4), torch.randn(12))
    assert "y" in str(caught.value)


def test_automatic_sizes_follow_the_guards():
    """Shown: w: [s0, 5], x: [s2], y: [s3, s2], z: [s2*s3]."""
    module = export(DynamicModel(), FOUR, dynamic_shapes=AUTO).module()
    module(torch.randn(9, 5), torch.randn(3), torch.randn(7, 3), torch.randn(21))
    for w, x, y, z in [((9, 6), 3, (7, 3), 21), ((9, 5), 4, (7, 3), 21), ((9, 5), 3, (7, 3), 20)]:
        with pytest.raises(ContractError):
            module(torch.randn(w), torch.randn(x), torch.randn(y), torch.randn(z))


def test_dynamic_where_the_model_specialises():
    """Shown: `w.size()[1]` was marked dynamic, and the code made it the constant 5."""
    with pytest.raises(MonographError) as caught:
        export(DynamicModel(), FOUR, dynamic_shapes=AUTO | {"w": (Dim.AUTO, Dim.DYNAMIC)})
    assert names_of(caught.value) == ["dim-specialised"]
    assert "self.l(w)" in str(caught.value)


def test_dynamic_beside_static():
    """Shown: `x` is static, so `y.size()[1]` cannot be dynamic."""
    shapes = AUTO | {"x": (Dim.STATIC,), "y": (Dim.AUTO, Dim.DYNAMIC)}
    with pytest.raises(MonographError) as caught:
        export(DynamicModel(), FOUR, dynamic_shapes=shapes)
    assert names_of(caught.value) == ["dim-specialised"]
    assert "x + y" in str(caught.value)


def test_assertions_checks_and_branches_are_guards():
    """Shown: w.shape[0] is x.shape[0] + 2, and x.shape[0] lies in 4 … 510."""
    module = export(GuardedModel(), FOUR, dynamic_shapes=AUTO).module()
    for n in (4, 30, 510):
        module(torch.randn(n + 2, 5), torch.randn(n), torch.randn(2, n), torch.randn(2 * n))
    for n, w in ((3, 5), (511, 513), (30, 31)):
        with pytest.raises(ContractError):
            module(torch.randn(w, 5), torch.randn(n), torch.randn(2, n), torch.randn(2 * n))


def test_an_example_of_size_one():
    """Shown: specialised to 1. Better: every size is accepted."""
    shapes = {"input": (Dim.AUTO, Dim.STATIC)}
    module = export(LinearOfOne(), (torch.randn(1, 4),), dynamic_shapes=shapes).module()
    for n in (0, 1, 2, 7):
        assert module(torch.randn(n, 4)).shape == (n, 3)


def test_violations_are_reported_together():
    """Shown: d1 is the constant 4, and dx and dy must always be equal."""
    dx, dy, d1 = dims("dx", "dy", "d1")
    with pytest.raises(MonographError) as caught:
        export(
            Violated(),
            (torch.randn(6, 4), torch.randn(6, 4)),
            dynamic_shapes={"x": (dx, d1), "y": (dy, d1)},
        )
    assert sorted(names_of(caught.value)) == ["dim-specialised", "dims-must-be-equal"]
    text = str(caught.value)
    assert "x + y" in text
    assert "w + torch.ones(4)" in text


def test_a_named_batch():
    """Shown: the program takes a batch of 64."""
    batch = Dim("batch")
    args = (torch.randn(32, 64), torch.randn(32, 128))
    shapes = {"x1": {0: batch}, "x2": {0: batch}}
    module = export(TwoBranches(), args, dynamic_shapes=shapes).module()
    module(torch.randn(64, 64), torch.randn(64, 128))
    with pytest.raises(ContractError):
        module(torch.randn(64, 64), torch.randn(63, 128))
    with pytest.raises(ContractError):
        export(TwoBranches(), args).module()(torch.randn(64, 64), torch.randn(64, 128))
