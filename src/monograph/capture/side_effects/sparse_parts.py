"""Sparse matrices (COO and CSR) of the module, or made in forward: rows, columns and values.

Law: a product with the matrix is the sum of what its values give, row by row: a gather, a product
and an `index_add`. So a program has no sparse tensor in it, and lowers and saves as any other.
Eager code adds in the same order up to blocks, so results agree as far as sums of floats do.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import torch

from monograph.abstract.tensor import StaticTensor, SymbolicTensor
from monograph.abstract.tensor_type import unusual_layout
from monograph.capture.side_effects.tensor_parts import Parts
from monograph.diagnostics import problem
from monograph.host.dispatch import (
    DISABLED_TORCH_FUNCTION,
    coordinates_of,
    make_symbolic_wrapper,
    make_wrapper,
)
from monograph.host.objects import MATRIX_MAKERS
from monograph.host.overloads import aten as _aten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.capture.recording.recorder import Recorder

SPARSE: Final = (torch.sparse_coo, torch.sparse_csr)
"""The layouts of matrices that are taken apart."""


def sparse_parts(real: torch.Tensor, path: str) -> Parts:
    """Take a sparse matrix apart.

    Raises: unsupported-layout (it is none, has blocks, or a gradient of its own).
    """
    is_matrix = real.layout in SPARSE and real.dim() == 2 and not real.requires_grad
    if not is_matrix or (real.layout is torch.sparse_coo and real.dense_dim()):
        what = f"`{path}`" if path else "a tensor that is met here"
        raise problem("unsupported-layout", what=what, layout=unusual_layout(real) or "")
    with torch.no_grad():
        if real.layout is torch.sparse_coo:
            indices, values = coordinates_of(real)
            rows, columns = indices.clone()
        else:
            counts = real.crow_indices().diff().long()
            rows = torch.arange(len(counts), device=real.device).repeat_interleave(counts)
            columns, values = real.col_indices().long(), real.values()
    tensors = {"rows": rows, "columns": columns, "values": values.detach()}
    return Parts(SparseMatrix, tensors, real.layout, real.size(), None)


class SparseMatrix(torch.Tensor):
    """What user code sees in the place of a sparse matrix."""

    __torch_function__ = DISABLED_TORCH_FUNCTION
    takes_composites = True

    held: dict[str, Any]
    kept_as: torch.layout
    sizes: Any
    given: tuple[Any, ...] = ()
    """The tensors that it was made of, whose memory is its own."""
    coalesced_after: int | None = None
    """How often its parts had been written to, if it may or may not share their memory."""

    def __new__(cls, held: dict[str, Any], kept_as: torch.layout, size: Any) -> Any:
        """Make one of abstract tensors."""
        values = held["values"]
        if all(type(each) is int for each in size):
            made = make_wrapper(cls, size, values.dtype, values.device)
        else:
            made = make_symbolic_wrapper(cls, 2, values.dtype, values.device)
        made.held, made.kept_as, made.sizes = held, kept_as, size
        return made

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        """The names of its parts."""
        return list(self.held), self.kept_as

    @staticmethod
    def __tensor_unflatten__(inner: Any, rest: Any, size: Any, _stride: Any) -> SparseMatrix:
        """One of other parts."""
        return SparseMatrix(inner, rest, size)

    def _nnz(self) -> Any:
        """How many numbers it holds: C++ would want to know them."""
        return self.held["values"].size(0)

    def n_writes(self) -> int:
        """How often the parts were written to."""
        return sum(each.storage_root.n_writes for each in self.held.values())

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, _types: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Raises: unsupported-layout."""
        answer = _ANSWERS.get(func)
        given = next(each for each in args if isinstance(each, SparseMatrix))
        is_known = answer is not None and given.coalesced_after in {None, given.n_writes()}
        result = answer(*args, **(kwargs or {})) if answer and is_known else NotImplemented
        if result is NotImplemented:
            layout = str(given.kept_as).removeprefix("torch.")
            what = f"an argument of `{func}`"
            raise problem("unsupported-layout", what=what, layout=f"sparse ({layout})")
        return result


for _name, _answer in (
    ("layout", lambda matrix: matrix.kept_as),
    ("is_sparse", lambda matrix: matrix.kept_as is torch.sparse_coo),
    ("is_sparse_csr", lambda matrix: matrix.kept_as is torch.sparse_csr),
    ("requires_grad", lambda matrix: matrix.held["values"].requires_grad),
):
    setattr(SparseMatrix, _name, property(_answer))


def _check_columns(matrix: SparseMatrix, size: Any) -> None:
    """Raises: RuntimeError, as eager code; where sizes vary, this is a guard."""
    if matrix.sizes[1] != size:
        message = f"a matrix of {matrix.sizes[1]} columns and {size} rows cannot be multiplied"
        raise RuntimeError(message)


def _times(matrix: SparseMatrix, x: Any) -> Any:
    """matrix @ x, for vectors and matrices."""
    _check_columns(matrix, x.size(0))
    scale = matrix.held["values"]
    gathered = x.index_select(0, matrix.held["columns"])
    scaled = gathered * (scale if x.dim() == 1 else scale.unsqueeze(1))
    zeros = x.new_zeros((matrix.sizes[0], *x.shape[1:]))
    return zeros.index_add(0, matrix.held["rows"], scaled)


def _mm(left: Any, right: Any) -> Any:
    if isinstance(left, SparseMatrix) and _is_dense(right, 2) and left.dtype == right.dtype:
        return _times(left, right)
    return NotImplemented


def _matmul(left: Any, right: Any) -> Any:
    if isinstance(left, SparseMatrix) and _is_dense(right, 1) and left.dtype == right.dtype:
        return _times(left, right)
    return _mm(left, right)


def _addmm(bias: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = _mm(left, right)
    is_plain = type(beta) in {int, float} and type(alpha) in {int, float}
    if product is NotImplemented or not is_plain or isinstance(bias, SparseMatrix):
        return NotImplemented
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (bias if beta == 1 else bias * beta)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    if not isinstance(weight, SparseMatrix) or not _is_dense(x, 2) or weight.dtype != x.dtype:
        return NotImplemented
    _check_columns(weight, x.size(1))
    scaled = x.index_select(1, weight.held["columns"]) * weight.held["values"]
    zeros = x.new_zeros((x.size(0), weight.sizes[0]))
    product = zeros.index_add(1, weight.held["rows"], scaled)
    return product if bias is None else product + bias


def _to_dense(matrix: SparseMatrix, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    del masked_grad
    values = matrix.held["values"] if dtype is None else matrix.held["values"].to(dtype)
    where = (matrix.held["rows"], matrix.held["columns"])
    return values.new_zeros(matrix.sizes).index_put(where, values, accumulate=True)


def _transposed(matrix: SparseMatrix, one: int = 0, other: int = 1) -> Any:
    if matrix.kept_as is not torch.sparse_coo or {one % 2, other % 2} != {0, 1}:
        return NotImplemented
    swapped = {"rows": "columns", "columns": "rows", "values": "values"}
    held = {name: matrix.held[of] for name, of in swapped.items()}
    return SparseMatrix(held, matrix.kept_as, matrix.sizes[::-1])


def _coalesced(matrix: SparseMatrix) -> SparseMatrix:
    """The sums are the same. Whether its memory is, which only writes tell, data decide."""
    made = SparseMatrix(matrix.held, matrix.kept_as, matrix.sizes)
    made.coalesced_after = matrix.n_writes()
    return made


def _part(place: int, layout: torch.layout) -> Callable[[SparseMatrix], Any]:
    """What reads one of the tensors that a matrix was made of."""

    def read(matrix: SparseMatrix) -> Any:
        is_kept = matrix.kept_as is layout and matrix.given
        return matrix.given[place].detach() if is_kept else NotImplemented

    return read


def _scaled(matrix: Any, number: Any) -> Any:
    if not isinstance(matrix, SparseMatrix) or type(number) not in {int, float}:
        return NotImplemented
    held = matrix.held | {"values": matrix.held["values"] * number}
    return SparseMatrix(held, matrix.kept_as, matrix.sizes)


def _is_dense(x: Any, rank: int) -> bool:
    return isinstance(x, torch.Tensor) and not isinstance(x, SparseMatrix) and x.dim() == rank


_ANSWERS: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {
        _aten.mm.default: _mm,
        _aten.matmul.default: _matmul,
        _aten.mv.default: _matmul,
        _aten._sparse_mm.default: _mm,  # noqa: SLF001 - the name of an operator
        _aten.addmm.default: _addmm,
        _aten._sparse_addmm.default: _addmm,  # noqa: SLF001
        _aten.linear.default: _linear,
        _aten.dim.default: lambda _: 2,
        _aten.sym_size.default: lambda matrix: matrix.sizes,
        _aten._indices.default: _part(0, torch.sparse_coo),  # noqa: SLF001
        _aten._values.default: _part(1, torch.sparse_coo),  # noqa: SLF001
        _aten.crow_indices.default: _part(0, torch.sparse_csr),
        _aten.col_indices.default: _part(1, torch.sparse_csr),
        _aten.values.default: _part(2, torch.sparse_csr),
        _aten.to_dense.default: _to_dense,
        _aten.detach.default: lambda matrix: matrix,
        _aten.alias.default: lambda matrix: matrix,
        _aten.coalesce.default: _coalesced,
        _aten.t.default: _transposed,
        _aten.transpose.int: _transposed,
        _aten.mul.Tensor: _scaled,
    }
)


# --- met in forward, or made there -----------------------------------------------------------


def make_sparse(
    recorder: Recorder, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What an operator gives that makes, or is given, a sparse matrix, or NotImplemented.

    Raises: unsupported-layout (no matrix, or an operator that is not known).
    """
    make = _MAKERS.get(overload)
    if make is not None:
        return make(recorder, *args, **kwargs)
    given = [_constant(recorder, each) if _is_sparse(each) else each for each in args]
    if not any(isinstance(each, SparseMatrix) for each in given):
        return NotImplemented
    with recorder:
        return SparseMatrix.__torch_dispatch__(overload, (SparseMatrix,), tuple(given), kwargs)


def _is_sparse(value: Any) -> bool:
    """Whether this is a sparse tensor from outside."""
    is_tensor = isinstance(value, torch.Tensor) and not isinstance(value, SparseMatrix)
    return is_tensor and value.layout in SPARSE


def _constant(recorder: Recorder, real: torch.Tensor) -> Any:
    """A matrix that is no parameter or buffer: its parts are constants of the program."""
    known = _CONSTANTS.setdefault(recorder, {})
    if id(real) not in known:
        found = sparse_parts(real, "").assembled(recorder.abstract)
        known[id(real)] = real, found
    return known[id(real)][1]


_CONSTANTS: Final[WeakKeyDictionary[Any, dict[int, Any]]] = WeakKeyDictionary()
"""By the recorder: each matrix with what stands for it."""


def _of_coordinates(
    recorder: Recorder, indices: Any, values: Any, size: Any, *, dtype: Any = None, **_: Any
) -> Any:
    """`torch.sparse_coo_tensor(indices, values, size)`, of a matrix."""
    if len(size) != 2 or indices.dim() != 2 or indices.size(0) != 2 or values.dim() != 1:
        return NotImplemented
    with recorder:
        return _joined(indices, values if dtype is None else values.to(dtype), *size)


def _of_rows(
    recorder: Recorder, starts: Any, columns: Any, values: Any, size: Any, **options: Any
) -> Any:
    """`torch.sparse_csr_tensor(starts, columns, values, size)`, of a matrix."""
    if len(size) != 2 or values.dim() != 1 or options.get("layout") is not torch.sparse_csr:
        return NotImplemented
    with recorder:
        values = values if options["dtype"] is None else values.to(options["dtype"])
        return _joined(starts, columns, values, *size)


def _joined(*parts: Any) -> SparseMatrix:
    """What a matrix is taken apart into, together again: see `host/objects.py`."""
    *where, values, n_rows, n_columns = parts
    if len(where) == 1:
        layout, (rows, columns) = torch.sparse_coo, where[0].long().unbind(0)
        if where[0].size(1) != values.size(0) or n_rows < 0 or n_columns < 0:
            raise RuntimeError("a matrix has as many places as values, and sizes")
    else:
        layout, columns = torch.sparse_csr, where[1].long()
        if where[0].size(0) != n_rows + 1 or n_columns < 0:
            raise RuntimeError("rows begin at other places than there are rows")
        places = torch.arange(values.size(0), dtype=where[0].dtype, device=values.device)
        rows = torch.searchsorted(where[0][1:], places, right=True)
    held = {"rows": rows, "columns": columns, "values": values}
    made = SparseMatrix(held, layout, (n_rows, n_columns))
    made.given = (*where, values)
    return made


MATRIX_MAKERS.update(dict.fromkeys((StaticTensor, SymbolicTensor), _joined))


def _of_dense(recorder: Recorder, x: Any, *, layout: Any = None, **options: Any) -> Any:
    """`x.to_sparse()`, of a matrix: how many numbers are not zero only data tell."""
    if x.dim() != 2 or layout not in {None, torch.sparse_coo} or any(options.values()):
        return NotImplemented
    with recorder:
        rows, columns = x.nonzero().unbind(1)
        held = {"rows": rows, "columns": columns, "values": x[rows, columns]}
        return SparseMatrix(held, torch.sparse_coo, x.size())


_MAKERS: Final[dict[Any, Callable[..., Any]]] = {
    _aten.sparse_coo_tensor.indices_size: _of_coordinates,
    _aten.sparse_compressed_tensor.comp_plain_value_size: _of_rows,
    _aten.to_sparse.default: _of_dense,
}
