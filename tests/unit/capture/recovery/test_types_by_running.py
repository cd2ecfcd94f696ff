"""Operators without a fake kernel are tried: their sizes are explained, asserted, or left open."""

import pytest
import torch

from monograph import Dim, ExportErrors, draft_export, export

X = torch.arange(12.0).reshape(4, 3)


def define(name, function):
    """Register a custom operator without a fake kernel."""
    return torch.library.custom_op(f"tried::{name}", mutates_args=())(function)


def halved(x: torch.Tensor) -> torch.Tensor:
    """Give a constant number of rows."""
    return x.sum(0, keepdim=True).repeat(2, 1)


def positive(x: torch.Tensor) -> torch.Tensor:
    """Give as many elements as are positive."""
    return x[x > 4].clone()


def flipped(x: torch.Tensor) -> torch.Tensor:
    """Swap rows and columns."""
    return x.t().contiguous()


HALVED, POSITIVE, FLIPPED = (define(f.__name__, f) for f in (halved, positive, flipped))


def module(operator, after):
    """Make a module of an operator and what follows."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return after(operator(x))

    return Model()


@pytest.mark.parametrize("operator", [HALVED, FLIPPED], ids=["constant", "swapped"])
def test_sizes_that_arguments_explain_are_followed(operator):
    """With a dynamic size, the draft agrees with eager at other sizes."""
    model = module(operator, lambda y: y + torch.ones(y.shape[0], 1))
    program = draft_export(model, (X,), dynamic_shapes={"x": {0: Dim("n", min=2)}})
    assert [p.name for p in program.report.problems] == ["unsupported-operator"]
    for n in (2, 4, 7):
        x = torch.rand(n, 3)
        assert torch.equal(program.module()(x), model(x))


def test_sizes_that_nothing_explains_stay_open():
    """A result whose size depends on data has an unbacked size, and agrees for other data."""
    model = module(POSITIVE, lambda y: (y * 2).sum())
    program = draft_export(model, (X,))
    for x in (X, X + 3, X * 0):
        assert torch.equal(program.module()(x), model(x))


def test_export_lists_it_with_what_comes_after():
    """The operator and a branch behind it are found in one run."""
    model = module(HALVED, lambda y: y if y.sum() > 0 else -y)
    with pytest.raises(ExportErrors) as caught:
        export(model, (X,), control_flow="refuse")
    assert [p.diagnostic.name for p in caught.value.problems] == [
        "unsupported-operator",
        "data-dependent-branch",
    ]


@torch.library.custom_op("tried::liar", mutates_args=())
def liar(x: torch.Tensor) -> torch.Tensor:
    """Drop the first row."""
    return x[1:].clone()


@liar.register_fake
def _(x):
    return torch.empty_like(x)


def test_a_fake_kernel_is_held_against_its_operator():
    """What the operator returns counts, and the difference is said."""
    model = module(liar, lambda y: y + torch.ones(3, 3))
    program = draft_export(model, (X,))
    (problem,) = program.report.problems
    assert problem.name == "fake-kernel-disagrees"
    assert "float32[4, 3] where the operator returns float32[3, 3]" in problem.headline
    assert torch.equal(program.module()(X), model(X))


def test_an_assumed_size_is_asserted():
    """A size that was constant in two runs, and is not in a third, is seen when it happens."""

    def odd(x: torch.Tensor) -> torch.Tensor:
        return x.flatten()[: 3 if x.max() < 100 else 2].clone()

    model = module(define("odd", odd), lambda y: y + torch.ones(3))
    program = draft_export(model, (X,))
    assert torch.equal(program.module()(X + 1), model(X + 1))
    with pytest.raises(RuntimeError):
        program.module()(X + 100)
