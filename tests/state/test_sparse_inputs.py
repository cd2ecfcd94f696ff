"""Sparse matrices that are given to the program."""

import io

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import ContractError, MonographError

pytestmark = pytest.mark.filterwarnings("ignore:.*[Ss]parse")


class Of(nn.Module):
    """Messages along the edges of a graph."""

    def __init__(self, forward):
        super().__init__()
        self.linear, self.function = nn.Linear(4, 3), forward

    def forward(self, matrix, x):
        return self.function(matrix, self.linear(x))


def shown(matrix, x):
    """Reads what a matrix says of itself."""
    assert matrix.dim() == 2
    return matrix @ x * matrix.shape[0] + matrix.size(1) + matrix._nnz()


def parts(matrix, x):
    """Messages by hand; the parts are the matrix's memory."""
    if matrix.layout is torch.sparse_coo:
        (rows, columns), values = matrix._indices(), matrix._values()
    else:
        counts = matrix.crow_indices().diff()
        rows = torch.arange(len(counts)).repeat_interleave(counts, output_size=matrix._nnz())
        columns, values = matrix.col_indices(), matrix.values()
    return torch.zeros_like(x).index_add(0, rows, x[columns] * values[:, None])


def written(matrix, x):
    """What is written to its values, the matrix has."""
    values = matrix._values() if matrix.layout is torch.sparse_coo else matrix.values()
    values.mul_(2)
    return matrix @ x


PROGRAMS = {
    "product": lambda matrix, x: matrix @ x,
    "sparse.mm": lambda matrix, x: torch.sparse.mm(matrix, x),
    "sum": lambda matrix, x: torch.addmm(x, matrix, x),
    "twice": lambda matrix, x: matrix @ torch.relu(matrix @ x),
    "vector": lambda matrix, x: matrix @ x[:, 0],
    "dense": lambda matrix, x: matrix.to_dense() @ x,
    "scaled": lambda matrix, x: (matrix * 2) @ x,
    "shown": shown,
    "parts": parts,
    "written": written,
}
SHAPES = {
    "fixed": None,
    "line": "matrix: n, n; x: n, 4",
    "dims": {"matrix": {0: Dim("n"), 1: Dim("n")}, "x": {0: Dim("n")}},
    "hints": {"matrix": (Dim.AUTO, Dim.DYNAMIC), "x": {0: Dim.AUTO}},
}


def given(n, *, seed=0, filled=0.4, csr=False):
    """A matrix and the rows for it."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(n, n, generator=generator) < filled
    dense = mask * torch.randn(n, n, generator=generator)
    matrix = dense.to_sparse_csr() if csr else dense.to_sparse()
    return matrix, torch.randn(n, 4, generator=generator)


def forms(program):
    """The program as exported, lowered, saved and unflattened."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    yield program.module()
    yield program.run_decompositions().module()
    yield monograph.load(file).module()
    yield monograph.unflatten(program)


def same(run, module, inputs):
    """Results agree, and what became of the inputs."""
    ours, theirs = ([each.clone() for each in inputs] for _ in range(2))
    torch.testing.assert_close(run(*ours), module(*theirs))
    torch.testing.assert_close(ours[0].to_dense(), theirs[0].to_dense())


@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_entries(name, strict, csr):
    """None, few and all places filled; in every form."""
    module = Of(PROGRAMS[name])
    program = monograph.export(module, given(5, csr=csr), strict=strict)
    for run in forms(program):
        for seed, filled in ((0, 0.4), (1, 0.7), (2, 0.0), (3, 1.0), (4, 0.05)):
            inputs = given(5, seed=seed, filled=filled, csr=csr)
            same(run, module, inputs)
        with pytest.raises(ContractError, match="matrix"):
            run(*given(6, csr=csr))


@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
@pytest.mark.parametrize("shapes", [name for name in SHAPES if name != "fixed"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_sizes(name, shapes, csr):
    """Declared as of a dense matrix."""
    module = Of(PROGRAMS[name])
    program = monograph.export(module, given(5, csr=csr), dynamic_shapes=SHAPES[shapes])
    for run in forms(program):
        for n, filled in ((5, 0.4), (9, 0.3), (2, 1.0), (1, 1.0), (3, 0.0)):
            inputs = given(n, seed=n, filled=filled, csr=csr)
            same(run, module, inputs)
        matrix, x = given(5, csr=csr)
        if name != "parts":  # eager code takes it
            with pytest.raises(ContractError):
                run(matrix, torch.cat([x, x]))


@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
def test_other_kinds_are_refused(csr):
    """Dense, of another layout or dtype, and with a gradient of its own."""
    program = monograph.export(Of(PROGRAMS["product"]), given(5, csr=csr))
    matrix, x = given(5, csr=csr)
    other, _ = given(5, csr=not csr)
    for wrong in (matrix.to_dense(), other, matrix.double(), matrix.clone().requires_grad_()):
        with pytest.raises(ContractError, match="matrix"):
            program.module()(wrong, x)


def test_one_that_is_not_coalesced():
    """Entries at one place are added, as in eager code."""
    module, (_, x) = Of(PROGRAMS["product"]), given(5)
    program = monograph.export(module, given(5))
    where = torch.tensor([[0, 0, 1], [1, 1, 0]])
    matrix = torch.sparse_coo_tensor(where, torch.tensor([1.0, 2.0, 3.0]), (5, 5))
    torch.testing.assert_close(program.module()(matrix, x), module(matrix, x))


def test_sizes_that_do_not_fit_are_refused():
    """A matrix of the module, and rows that vary: eager code takes one number of rows alone."""
    matrix, x = given(5)

    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("matrix", matrix)

        def forward(self, x):
            return self.matrix @ x

    program = monograph.export(Holds(), (x,), dynamic_shapes={"x": {0: Dim.AUTO}})
    with pytest.raises(ContractError):
        program.module()(torch.cat([x, x]))


@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_verify_draws_matrices(shapes, csr):
    """Parts that fit each other."""
    module = Of(PROGRAMS["product"])
    program = monograph.export(module, given(5, csr=csr), dynamic_shapes=SHAPES[shapes])
    assert monograph.verify(program, module)


def test_gradients_of_what_is_multiplied():
    """The matrix has none."""
    module = Of(PROGRAMS["twice"])
    program = monograph.export(module, given(5), dynamic_shapes="matrix: n, n; x: n, 4")
    matrix, x = given(7, seed=3)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    program.module()(matrix, ours).sum().backward()
    module(matrix, theirs).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize(
    "forward",
    [
        lambda matrix, x: matrix,
        lambda matrix, x: x * matrix.is_coalesced(),
        lambda matrix, x: matrix.mul_(2) @ x,
        lambda matrix, x: torch.relu(matrix) @ x,
    ],
    ids=["result", "is_coalesced", "written", "relu"],
)
def test_what_is_refused(forward):
    """By name, with the line."""
    with pytest.raises(MonographError, match="unsupported-layout"):
        monograph.export(Of(forward), given(5))


@pytest.mark.parametrize(
    "matrix",
    [torch.ones(2, 3, 3).to_sparse(), torch.eye(3).to_sparse().requires_grad_()],
    ids=["batch", "gradient"],
)
def test_inputs_that_are_refused(matrix):
    """They are no plain matrices."""
    with pytest.raises(MonographError, match="unsupported-layout"):
        monograph.export(Of(PROGRAMS["product"]), (matrix, torch.ones(3, 4)))
