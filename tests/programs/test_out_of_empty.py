"""`out=` of an empty tensor, which becomes the result."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError

OPERATORS = {
    "add": lambda x, out: torch.add(x, 1, out=out),
    "mm": lambda x, out: torch.mm(x, x.t(), out=out),
    "matmul": lambda x, out: torch.matmul(x, x.t(), out=out),
    "cat": lambda x, out: torch.cat([x, x], out=out),
    "stack": lambda x, out: torch.stack([x, x], out=out),
    "sum": lambda x, out: torch.sum(x, 0, out=out),
    "mean": lambda x, out: torch.mean(x, 1, out=out),
    "where": lambda x, out: torch.where(x > 0, x, -x, out=out),
    "of integers": lambda x, out: torch.add(x.long(), 1, out=out),
    "cumsum": lambda x, out: torch.cumsum(x, 0, out=out),
    "softmax": lambda x, out: torch.softmax(x, 0, out=out),
    "clamp": lambda x, out: torch.clamp(x, min=0, out=out),
    "select": lambda x, out: torch.index_select(x, 0, torch.tensor([0, 0]), out=out),
}


def given(x, operator):
    """The tensor itself, its sizes and strides, and what is computed of it."""
    out = torch.empty(0)
    same = operator(x, out) is out
    return out, same, out * 2, out.shape[0], out.stride()[0]


def two_names(x):
    """What one says of itself, the other says."""
    out = torch.empty(0)
    other = out.contiguous()
    torch.add(x, 1, out=out)
    other.add_(1)
    return out, other


def twice(x):
    """The second time it has the size."""
    out = torch.empty(0)
    torch.add(x, 1, out=out)
    kept = out * 1
    torch.mul(x, 3, out=out)
    return out, kept


def written(x):
    """What is written to it later, it holds."""
    out = x.new_empty(0, 3)
    torch.add(x, 1, out=out)
    out.mul_(2)
    out[0].zero_()
    return out


def seen_before(x):
    """A part from before stays empty."""
    out = torch.empty(0)
    part = out[:]
    torch.add(x, 1, out=out)
    return out, part.shape[0]


def in_rounds(x):
    """Round after round."""
    out = torch.tensor([])
    for i in range(3):
        torch.add(x, i, out=out)
    return out


def two_results(x):
    """Each of two that are empty."""
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    return values, indices


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


FUNCTIONS = {name: lambda x, f=f: given(x, f) for name, f in OPERATORS.items()}
FUNCTIONS |= {
    f.__name__: f for f in (two_names, twice, written, seen_before, in_rounds, two_results)
}


def described(result):
    """What callers see of a result."""
    leaves = result if isinstance(result, tuple) else (result,)
    return [(x.shape, x.stride(), x.dtype) if isinstance(x, torch.Tensor) else x for x in leaves]


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("varies", [False, True], ids=["fixed", "varying"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_the_result(name, varies, strict):
    """Values, layout and identity are eager's, lowered or not."""
    module = Of(FUNCTIONS[name])
    shapes = {"x": {0: Dim("n", min=0)}} if varies else None
    program = monograph.export(module, (torch.randn(4, 3),), dynamic_shapes=shapes, strict=strict)
    for run in (program.module(), program.run_decompositions().module()):
        for n in (4, 6, 1) if varies else (4,):
            x = torch.randn(n, 3)
            ours, theirs = run(x), module(x)
            assert described(ours) == described(theirs)
            torch.testing.assert_close(ours, theirs)


def outside(x):
    """It is there before."""
    torch.add(x, 1, out=OUT)
    return OUT * 2


def of_another_layout(x):
    """Where the variants of an operator may lay out their results in different ways."""
    out = torch.empty(0)
    return torch.add(x.t(), 1, out=out)


def on_one_side(x):
    """A branch on data resizes it, or not."""
    out = torch.empty(0)
    if x.sum() > 0:
        torch.add(x, 1, out=out)
    return out


def on_both_sides(x):
    """Each side would give it another size, for all one can tell."""
    out = torch.empty(0)
    if x.sum() > 0:
        torch.add(x, 1, out=out)
    else:
        torch.mul(x, 2, out=out)
    return out


OUT = torch.empty(0)


@pytest.mark.parametrize("function", [outside, of_another_layout, on_one_side, on_both_sides])
def test_what_is_refused(function):
    """By name; nothing is resized."""
    with pytest.raises(MonographError, match=r"out-resized|mutated-constant|write-outlives-call"):
        monograph.export(Of(function), (torch.randn(4, 3),), strict=True)
    assert OUT.shape == (0,)


@pytest.mark.parametrize("needs", ["input", "parameter"])
def test_gradients_are_refused_as_by_eager_code(needs):
    """PyTorch derives no operator that is given `out=`."""
    weight = nn.Parameter(torch.ones(3)) if needs == "parameter" else torch.ones(3)
    module = Of(lambda x: torch.mul(x, weight, out=torch.empty(0)) + 1)
    with torch.no_grad():
        run = monograph.export(module, (torch.randn(4, 3),)).module()
    x = torch.randn(4, 3, requires_grad=needs == "input")
    for each in (module, run):
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            each(x)
    with torch.no_grad():
        torch.testing.assert_close(run(x), module(x))
