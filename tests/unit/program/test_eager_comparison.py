"""The differential check of an export leaves both as they were, and lets both begin alike."""

import torch
from torch import nn

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
