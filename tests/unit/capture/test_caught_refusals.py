"""A refusal that user code caught is raised when user code has returned."""

import contextlib

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import DataDependentError
from tests.state.description import abstract_tensors

both = pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])


class Falls(nn.Module):
    """Another result where the first way fails."""

    def forward(self, x):
        try:
            return x * 2 if x.sum() > 0 else x
        except RuntimeError:
            return x * 3


class Returns(nn.Module):
    """A `finally` that returns drops what is on its way."""

    def forward(self, x):
        try:
            return x * 2 if x.sum() > 0 else x
        finally:
            return x * 3  # noqa: B012, SIM107  the point


class Suppresses(nn.Module):
    """A context manager catches."""

    def forward(self, x):
        with contextlib.suppress(Exception):
            x = x * 2 if x.sum() > 0 else x
        return x * 3


class Asks(nn.Module):
    """A property turns everything into AttributeError, which `hasattr` catches."""

    @property
    def big(self):
        """Whether the weight is big."""
        try:
            return bool(self.weight.sum() > 0)
        except RuntimeError:
            raise AttributeError from None

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * (2 if hasattr(self, "big") else 3)


class CallsBack(nn.Module):
    """A C function calls what catches."""

    def forward(self, x):
        class Key:
            def __hash__(self):
                try:
                    return int(x.sum() > 0)
                except RuntimeError:
                    return 7

        return x * len({Key(): 1})


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_kept():
    """No tensor of these captures is left: looked for once, as it takes seconds to look."""
    before = set(abstract_tensors())
    yield
    assert set(abstract_tensors()) <= before


@both
@pytest.mark.parametrize("kind", [Falls, Returns, Suppresses, Asks, CallsBack])
def test_it_is_raised_in_the_end(kind, strict):
    """Whatever catches it."""
    with pytest.raises(DataDependentError) as caught:
        monograph.export(kind(), (torch.ones(3),), strict=strict, control_flow="refuse")
    assert caught.value.diagnostic.name == "data-dependent-branch"


class OwnError(nn.Module):
    """An exception of the user's own is the user's business."""

    def forward(self, x):
        try:
            return x * {}["factor"]
        except KeyError:
            return x * 3


@both
def test_others_are_not(strict):
    """Exceptions that are no refusals pass."""
    program = monograph.export(OwnError(), (torch.ones(3),), strict=strict)
    assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 3.0))
