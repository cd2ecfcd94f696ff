"""The differential check of an export leaves both as they were, and lets both begin alike."""

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode

import monograph
from monograph.program.calling import program_module
from monograph.program.calling.call_code import compile_call
from monograph.program.eager_comparison import agrees_with


def test_statistics_of_batches_are_put_back():
    """Batch normalisation writes to its buffers without telling their version."""
    module = nn.BatchNorm1d(3).train()
    example = (torch.randn(4, 3),)
    program = monograph.export(module, example)
    before = {name: each.clone() for name, each in module.state_dict().items()}
    assert agrees_with(program, module, example, {})
    for name, each in module.state_dict().items():
        assert torch.equal(each, before[name]), name


def test_both_begin_with_the_same_state():
    """What the module's call writes is not what the program's begins with."""

    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.names = []

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    module, example = Counts(), (torch.randn(3),)
    program = monograph.export(module, example)
    assert agrees_with(program, module, example, {})
    assert module.calls == 0


def test_the_code_of_a_call_is_made_once(monkeypatch):
    """Although the program runs twice here, on the example and with another mask."""
    made = []

    def compiled(*arguments):
        made.append(compile_call(*arguments))
        return made[-1]

    class Masked(nn.Module):
        def forward(self, x, mask):
            return x * mask

    monkeypatch.setattr(program_module, "compile_call", compiled)
    example = (torch.randn(2, 3), torch.ones(2, 3))
    module = Masked()
    assert agrees_with(monograph.export(module, example), module, example, {})
    assert len(made) == 1


@pytest.mark.parametrize("mode", [FakeTensorMode(), torch.device("meta")], ids=["fake", "meta"])
def test_weights_without_data_get_values(mode):
    """Random ones, for as long as both are compared."""
    with mode:
        same, other = nn.BatchNorm1d(3).train(), nn.BatchNorm1d(3, eps=1).train()
    example = (torch.randn(4, 3),)
    program = monograph.export(same, example)
    before = dict(same.state_dict(keep_vars=True))
    assert agrees_with(program, same, example, {})
    assert not agrees_with(program, other, example, {})
    assert all(each is before[name] for name, each in same.state_dict(keep_vars=True).items())


def test_values_that_show_nothing_are_no_agreement():
    """The module raises at random values, or gives nothing but NaN."""

    class Logarithm(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.table, self.factor = nn.Parameter(torch.ones(3)), factor

        def forward(self, x):
            if self.factor is None and self.table.sum() < 100:
                raise ValueError
            return (self.table * (self.factor or 1)).log() + x

    example = (torch.randn(3),)
    with FakeTensorMode():
        positive, negative, raises = (Logarithm(each) for each in (10, -10, None))
    program = monograph.export(negative, example)
    assert not agrees_with(program, negative, example, {})
    program = monograph.export(positive, example)
    assert not agrees_with(program, raises, example, {})
    assert agrees_with(program, positive, example, {})
