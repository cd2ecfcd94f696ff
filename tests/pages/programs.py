"""Programs whose pages are looked at: modules, a branch, a loop, data, names that are hostile."""

import functools

import torch

from monograph import Dim, export


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).relu()


class Sample(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Scale()
        self.second = Scale()

    def forward(self, x):
        y = self.second(self.first(x))
        if y.sum() > 0:  # noqa: SIM108 - a branch with lines of its own
            y = y * 2
        else:
            y = y.sin()
        while y.sum() < 10:
            y = y + 1
        return y.reshape(-1, 8), x.nonzero()


@functools.cache
def sample():
    """Give the program of the sample: `batch` is even."""
    half = Dim("half", min=1, max=32)
    return export(Sample(), (torch.ones(6, 4),), dynamic_shapes=({0: 2 * half},))


class Chain(torch.nn.Module):
    def __init__(self, length):
        super().__init__()
        self.length = length

    def forward(self, x):
        y = x
        for i in range(self.length):
            y = y + 1 if i % 3 else (y * x).relu()
        return y


@functools.cache
def chain(length):
    """Give a program without modules, of 4 operators for each 3 rounds, that all use the input."""
    return export(Chain(length), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("batch", max=64)},))


HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>"


def hostile():
    """Give a program whose names, lines and report have HTML in them."""
    model = torch.nn.Sequential()
    model.add_module(HOSTILE.replace(".", ""), torch.nn.Linear(3, 3))
    program = export(model, (torch.ones(2, 3),))
    for node in program.graph.nodes:
        if node.op == "call_function":
            node.meta["stack_trace"] = f'  File "{HOSTILE}", line 3, in forward\n    {HOSTILE}\n'
    return program
