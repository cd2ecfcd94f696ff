"""`is` between a tensor and what an operator gave back: as in eager, or refused."""

import pytest
import torch
from torch.nn import functional as F

import monograph
from monograph.diagnostics import MonographError


class Asks(torch.nn.Module):
    """Branches on whether an operator gave back its argument."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        y = self.function(x)
        return x * 2 if y is x else x * 3


KNOWN = {
    "to the same dtype": lambda x: x.to(torch.float32),
    "to another dtype": lambda x: x.to(torch.float64),
    "to the same device": lambda x: x.to("cpu"),
    "float": lambda x: x.float(),
    "idle dropout": lambda x: F.dropout(x, 0.5, training=False),
    "dropout": lambda x: F.dropout(x, 0.5),
    "no probability": lambda x: F.dropout(x, 0.0),
    "atleast_2d": torch.atleast_2d,
    "atleast_3d": torch.atleast_3d,
    "positive": torch.positive,
    "clone": torch.clone,
    "view": lambda x: x.view(3, 4),
    "written": lambda x: x.mul(1).add_(1),
    "twice": lambda x: F.dropout(x.to(torch.float32), 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_answer_is_that_of_eager(name):
    """Both ways of the branch are told apart."""
    module = Asks(KNOWN[name])
    program = monograph.export(module, (torch.ones(3, 4),)).module()
    x = torch.rand(3, 4)
    assert torch.equal(program(x), module(x))


def test_a_tensor_written_since_is_still_that_tensor():
    """A write makes no other tensor."""

    class Writes(torch.nn.Module):
        def forward(self, x):
            x = x + 0
            y = x.to(torch.float32)
            x.add_(1)
            return x * 2 if y is x else x * 3

    program = monograph.export(Writes(), (torch.ones(3),)).module()
    assert torch.equal(program(torch.zeros(3)), Writes()(torch.zeros(3)))


@pytest.mark.parametrize("name", ["contiguous", "resolve_neg"])
def test_what_the_layout_decides_is_refused(name):
    """The caller's tensors lie otherwise in another call."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Asks(lambda x: getattr(x, name)()), (torch.ones(3, 4),))
    assert caught.value.diagnostic.name == "outside-read"
    assert name in str(caught.value)
