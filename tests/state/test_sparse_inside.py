"""Sparse matrices that forward makes of dense tensors."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError
from tests.state.program_forms import forms_of

pytestmark = pytest.mark.filterwarnings("ignore:.*Sparse invariant checks")

INDICES = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 0]])
VALUES = torch.tensor([1.0, 2.0, 3.0, 4.0])
EDGES = ({}, {1: Dim("edges", min=0)}, {0: Dim("edges", min=0)})


def made(i, v):
    """Three rows and columns."""
    return torch.sparse_coo_tensor(i, v, (3, 3))


def written_after(x, i, v):
    """The matrix shares the memory of its values."""
    v = v * 1
    matrix = made(i, v)
    v.add_(1)
    return matrix @ x


def coalesced_before(x, i, v):
    """Whether it shares it still, the number of values decides."""
    v = v * 1
    matrix = made(i, v).coalesce()
    v.add_(1)
    return matrix @ x


PROGRAMS = {
    "graph": lambda x, i, v: torch.sparse.mm(torch.sparse_coo_tensor(i, v, (len(x), len(x))), x),
    "coalesced": lambda x, i, v: made(i, v).coalesce() @ x,
    "transposed": lambda x, i, v: made(i, v).t() @ x + made(i, v).transpose(0, -1) @ x,
    "scaled": lambda x, i, v: (made(i, v) * 2).to_dense() @ x,
    "wide": lambda x, i, v: torch.sparse_coo_tensor(i, v, (3, 3), dtype=torch.float64) @ x.double(),
    "asked": lambda x, i, v: x if made(i, v).is_sparse else x * 2,
    "of dense": lambda x, i, v: x.relu().to_sparse().t() @ x,
    "written after": written_after,
}


class Called(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, i, v):
        return self.function(x, i, v)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_agree(name, strict):
    """As captured and lowered, for other numbers of values, none among them."""
    function = PROGRAMS[name]
    args = torch.randn(3, 4), INDICES, VALUES
    program = monograph.export(Called(function), args, dynamic_shapes=EDGES, strict=strict)
    for form in forms_of(program):
        for n in (4, 3, 1, 0):
            given = (
                torch.randn(3, 4),
                INDICES[:, :n].clone(memory_format=torch.contiguous_format),
                torch.randn(n),
            )
            torch.testing.assert_close(form(*given), function(*given))


def test_what_is_not_known_of_them_is_refused():
    """With the name of the operator, and where writes would tell which memory it has."""
    args = torch.randn(3, 4), INDICES, VALUES
    for function, name in (
        (coalesced_before, "unsupported-layout"),
        (lambda _, i, v: made(i, v).coalesce().values(), "unsupported-layout"),
        (lambda _, i, v: made(i, v) + made(i, v), "unsupported-layout"),
        (lambda _, i, v: made(i, v), "unsupported-layout"),
    ):
        with pytest.raises(MonographError) as caught:
            monograph.export(Called(function), args)
        assert caught.value.diagnostic.name == name
