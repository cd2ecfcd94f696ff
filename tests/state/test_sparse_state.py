"""Sparse matrices of the module: buffers and weights by coordinates, or row by row."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError
from tests.state.program_forms import forms_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse CSR tensor support is in beta state", "ignore:.*Sparse invariant checks"
)

MATRIX = torch.tensor([[0, 1.0, 0], [2, 0, 3], [0, 0, 0], [-1, 0, 4]])


def twice():
    """Give a matrix that says one element in two parts."""
    return torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], [1.0, 2.0, 3.0], (4, 3))


class Product(nn.Module):
    """A product with a matrix, written in one of the ways there are."""

    def __init__(self, matrix, product):
        super().__init__()
        if matrix.layout is torch.sparse_csr:
            self.matrix = nn.Parameter(matrix, requires_grad=False)
        else:
            self.register_buffer("matrix", matrix)
        self.product = product

    def forward(self, x):
        return self.product(self.matrix, x)


def weighted(bias):
    """Give a layer whose weight is kept row by row."""
    layer = nn.Linear(3, 4, bias=bias).requires_grad_(requires_grad=False)
    layer.weight = nn.Parameter(MATRIX.to_sparse_csr(), requires_grad=False)
    return layer


def columns(n):
    """Give a matrix to multiply with, of n columns."""
    return torch.randn(3, n)


def rows(n):
    """Give n inputs of a layer."""
    return torch.randn(n, 3)


def matmul(matrix, x):
    """Multiply and ask how the matrix is kept."""
    by = 5 if isinstance(matrix, nn.Parameter) else 7
    return matrix @ x * (2 if matrix.is_sparse_csr else 3) * by


CASES = {
    "coo": (lambda: Product(MATRIX.to_sparse(), torch.sparse.mm), [columns], 1),
    "not coalesced": (lambda: Product(twice(), torch.sparse.mm), [columns], 1),
    "operator": (lambda: Product(MATRIX.to_sparse(), matmul), [columns], 1),
    "csr": (lambda: Product(MATRIX.to_sparse_csr(), matmul), [columns], 1),
    "whole numbers": (
        lambda: Product(MATRIX.long().to_sparse(), lambda m, x: m @ (x * 9).long()),
        [columns],
        1,
    ),
    "dense": (lambda: Product(MATRIX.to_sparse_csr(), lambda m, x: m.to_dense() @ x), [columns], 1),
    "added": (
        lambda: Product(MATRIX.to_sparse_csr(), lambda m, x: torch.addmm(x[:1], m, x, beta=2)),
        [columns],
        1,
    ),
    "layer": (lambda: weighted(bias=True), [rows], 0),
    "layer without bias": (lambda: weighted(bias=False), [rows], 0),
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("name", CASES)
def test_sparse_state(name, strict):
    """They agree with eager in every form, at every size."""
    build, inputs, dim = CASES[name]
    module = build()
    shapes = ({dim: Dim("n", min=0, max=20)},)
    program = monograph.export(module, (inputs[0](5),), dynamic_shapes=shapes, strict=strict)
    for form in forms_of(program):
        for make in inputs:
            for n in (5, 1, 0, 7):
                x = make(n)
                torch.testing.assert_close(form(x), module(x), check_stride=n > 1)


GLOBAL = MATRIX.to_sparse()


class Constant(nn.Module):
    """A matrix that is no parameter or buffer, met twice."""

    def __init__(self, matrix):
        super().__init__()
        self.held = [matrix]

    def forward(self, x):
        (matrix,) = self.held
        return torch.sparse.mm(matrix, x) + GLOBAL @ x, matrix.to_dense()


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo])
def test_sparse_constants(layout, strict):
    """In a list and in a global: their parts are constants, once for each matrix."""
    matrix = MATRIX.to_sparse_csr() if layout is torch.sparse_csr else MATRIX.to_sparse()
    module = Constant(matrix)
    shapes = ({1: Dim("n", min=0, max=20)},)
    program = monograph.export(module, (columns(5),), dynamic_shapes=shapes, strict=strict)
    assert len(program.constants) == 6
    for form in forms_of(program):
        for n in (5, 1, 0, 7):
            x = columns(n)
            torch.testing.assert_close(form(x), module(x), check_stride=n > 1)


REFUSED = {
    "three dimensions": lambda: Product(torch.ones(2, 2, 2).to_sparse(), lambda m, x: m.sum() + x),
    "blocks": lambda: Product(torch.eye(4).to_sparse_bsr((2, 2)), lambda m, x: m @ x),
    "an operator without an answer": lambda: Product(MATRIX.to_sparse(), lambda m, x: (m + m) @ x),
    "returned": lambda: Product(MATRIX.to_sparse(), lambda m, x: (m, x)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_matrices(name):
    """They are refused by name."""
    with pytest.raises(MonographError):
        monograph.export(REFUSED[name](), (torch.randn(3, 2),))
