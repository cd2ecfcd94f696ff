"""What a function raises that stands for one of torch's or Python's is the module's own error."""

import os
import sys

import pytest
import torch
from torch import nn

import monograph

CALLS = {
    "print": (lambda _: print("x", sep=3), TypeError),  # noqa: T201, FURB105
    "isinstance": (lambda x: isinstance(x, 3), TypeError),
    "getattr": (lambda x: getattr(x, 3), TypeError),
    "tensor": (lambda _: torch.tensor("a"), TypeError),
    "as_tensor": (lambda _: torch.as_tensor(object()), RuntimeError),
    "from_numpy": (lambda _: torch.from_numpy(3), TypeError),
    "autocast": (lambda _: torch.autocast("no device").__enter__(), RuntimeError),
}


class Calls(nn.Module):
    """Call something that fails."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x):
        self.call(x)
        return x + 1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_raises_what_it_raises_in_eager(name, strict):
    """And is no mistake of ours."""
    call, error = CALLS[name]
    with pytest.raises(error) as eager:
        call(torch.ones(3))
    with pytest.raises(error) as found:
        monograph.export(Calls(call), (torch.ones(3),), strict=strict)
    assert str(found.value) == str(eager.value)


@pytest.mark.parametrize("strict", [True, False])
def test_a_closed_pipe_is_told(strict, monkeypatch):
    """`print` into it raises as it does in eager code."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", stream)
    module = Calls(lambda _: print("x", flush=True))  # noqa: T201
    with pytest.raises(BrokenPipeError):
        monograph.export(module, (torch.ones(3),), strict=strict)
    monkeypatch.undo()
    with pytest.raises(BrokenPipeError):
        stream.close()
