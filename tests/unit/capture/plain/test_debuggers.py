"""What is looked at in a debugger is no part of the program."""

import sys

import torch
from torch import nn

import monograph


class Model(nn.Module):
    """Asks nothing of its sizes."""

    def forward(self, x):
        n = x.shape[0]
        return x.view(n, -1) * 2


def looked_at(strict):
    """Export while a trace function asks for everything there is."""
    seen = []

    def tracer(frame, event, argument):
        del argument
        if frame.f_code.co_filename != __file__ or frame.f_code.co_name != "forward":
            return None
        if event == "line" and "n" in frame.f_locals:
            n, x = frame.f_locals["n"], frame.f_locals["x"]
            if strict:
                seen.append((str(n), repr(x.shape), repr(n > 3), repr(x + 1)))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        example = (torch.zeros(3, 4),)
        return seen, monograph.export(Model(), example, dynamic_shapes="x: n, 4", strict=strict)
    finally:
        sys.settrace(before)


def test_questions_of_debuggers_decide_nothing():
    """No guard, no operator: the program is that of an export without a debugger."""
    plain = monograph.export(Model(), (torch.zeros(3, 4),), dynamic_shapes="x: n, 4")
    seen, program = looked_at(strict=True)
    assert seen
    assert seen[0][:3] == ("n", "torch.Size([n, 4])", "n >= 4")
    assert "float32[n, 4]" in seen[0][3]
    assert str(program.graph) == str(plain.graph)
    assert list(map(str, program.guards)) == list(map(str, plain.guards))


def test_native_code_is_traced_as_ever():
    """With `strict=False` the trace function is told by Python itself, and stays."""
    _, program = looked_at(strict=False)
    given = torch.arange(20.0).view(5, 4)
    assert torch.equal(program.module()(given), given * 2)
