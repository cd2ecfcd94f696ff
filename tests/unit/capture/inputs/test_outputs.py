"""Results: what a program gives back is of its own call."""

from collections import defaultdict

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


class Gives(nn.Module):
    """A dict that makes what it has not."""

    def __init__(self, factory):
        super().__init__()
        self.factory = factory

    def forward(self, x):
        return defaultdict(self.factory(x), a=x * 2)


@pytest.mark.parametrize("strict", [True, False])
def test_a_dict_that_makes_lists_is_a_result(strict):
    """Each call makes its own."""
    program = monograph.export(Gives(lambda _: list), (torch.ones(2),), strict=strict).module()
    result = program(torch.ones(2))
    assert result["missing"] == []
    assert "missing" not in program(torch.ones(2))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "factory", [lambda x: lambda: x, lambda x: lambda x=x: x, lambda x: x.clone]
)
def test_a_dict_that_makes_what_the_capture_knows_is_refused(factory, strict):
    """A missing key would be a tensor of the capture."""
    with pytest.raises(MonographError, match=r"output\.default_factory"):
        monograph.export(Gives(factory), (torch.ones(2),), strict=strict)
