"""Factorisations of matrices and what is computed from them.

Observed: LAPACK's results are column-major in their last two dimensions, whatever the operand's
layout; everything else is contiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.layout import contiguous_strides
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import maximum, minimum
from monograph.rules.operand_checks import check_dtype, check_rank, need_dimensions, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import at_least, equal, need_equal

if TYPE_CHECKING:
    from monograph.integers import Int


def _columns(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """A result whose last two dimensions are column-major."""
    if len(shape) < 2:
        return TensorType(shape, x.dtype, x.device)
    rows = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    strides = (*rows[:-2], rows[-1], rows[-2])
    return TensorType(shape, x.dtype, x.device, strides)


def _need_matrix(x: TensorType, op: str) -> None:
    need_dimensions(x, 2, op)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise problem("dtype-disagrees", what=op, expected="floats or complex numbers", got=x.dtype)


def _need_square(x: TensorType, op: str) -> None:
    _need_matrix(x, op)
    rows, columns = x.shape[-2:]
    need_equal(rows, columns, op, len(x.shape) - 1)


def _small(x: TensorType, shape: tuple[Int, ...], dtype: torch.dtype) -> TensorType:
    return TensorType(shape, dtype, x.device)


def _nothing(x: TensorType) -> TensorType:
    return TensorType((0,), x.dtype, x.device)


# ------------------------------------------------------------------------------ square matrices


@shared_rule(aten.linalg_inv.default, op="linalg.inv")
@shared_rule(aten.cholesky.default, aten.linalg_cholesky.default, op="cholesky")
def linalg_inv(x: TensorType, op: str) -> TensorType:
    """inv([*, N, N]) -> [*, N, N]."""
    _need_square(x, op)
    return _columns(x, x.shape)


@shared_rule(aten.linalg_inv_ex.default, op="linalg.inv")
@shared_rule(aten.linalg_cholesky_ex.default, op="cholesky")
def linalg_inv_ex(x: TensorType, op: str) -> tuple[TensorType, TensorType]:
    """inv_ex([*, N, N]) -> [*, N, N], info i32[*]."""
    return linalg_inv(x, op), _small(x, x.shape[:-2], torch.int32)


@rule(aten.linalg_det.default)
def linalg_det(A: TensorType) -> TensorType:
    """det([*, N, N]) -> [*]."""
    _need_square(A, "linalg.det")
    return TensorType(A.shape[:-2], A.dtype, A.device)


def _lu(A: TensorType) -> tuple[TensorType, TensorType]:
    """LU [*, N, N] and pivots i32[*, N]."""
    return _columns(A, A.shape), _small(A, A.shape[:-1], torch.int32)


@rule(aten._linalg_det.default)
def linalg_det_with_lu(A: TensorType) -> tuple[TensorType, ...]:
    """_linalg_det([*, N, N]) -> [*], LU [*, N, N], pivots i32[*, N]."""
    return (linalg_det(A), *_lu(A))


@rule(aten.linalg_slogdet.default)
def linalg_slogdet(A: TensorType) -> tuple[TensorType, TensorType]:
    """slogdet([*, N, N]) -> sign [*], log |det| [*], real."""
    sign = linalg_det(A)
    return sign, TensorType(sign.shape, A.dtype.to_real(), A.device)


@rule(aten._linalg_slogdet.default)
def linalg_slogdet_with_lu(A: TensorType) -> tuple[TensorType, ...]:
    """_linalg_slogdet([*, N, N]) -> sign [*], log |det| [*], LU [*, N, N], pivots i32[*, N]."""
    return (*linalg_slogdet(A), *_lu(A))


@rule(aten.linalg_matrix_power.default, aten.matrix_power.default)
def linalg_matrix_power(x: TensorType, n: int) -> TensorType:
    """matrix_power([*, N, N], n) -> [*, N, N]; the inverse is column-major, the rest contiguous."""
    _need_square(x, "linalg.matrix_power")
    return _columns(x, x.shape) if n == -1 else TensorType(x.shape, x.dtype, x.device)


# ------------------------------------------------------------------------------ solving


def _is_vector(A: TensorType, B: TensorType) -> bool:
    """Whether the right-hand side is one vector, or a batch of them exactly as `A`'s."""
    if len(B.shape) == 1:
        return True
    if len(A.shape) - 1 != len(B.shape):
        return False
    return all(equal(a, b) for a, b in zip(A.shape[:-1], B.shape, strict=True))


@shared_rule(aten.linalg_solve.default)
def linalg_solve(A: TensorType, B: TensorType, left: bool) -> TensorType:
    """solve([*a, N, N], [*b, N, K]) -> [*(a with b), N, K]; or vectors [*, N] -> [*, N]."""
    _need_square(A, "linalg.solve")
    check_dtype(B.dtype is A.dtype, "linalg.solve", A.dtype, B.dtype)
    vector = _is_vector(A, B)
    if vector and not left:
        raise refusal("linalg.solve", "vectors are solved for with left=True only")
    matrix = (*B.shape, 1) if vector else B.shape
    need_equal(A.shape[-1], matrix[-2 if left else -1], "linalg.solve")
    shape = (*broadcast_shapes(matrix[:-2], A.shape[:-2]), *matrix[-2:])
    if vector:
        shape = shape[:-1]
    return _columns(B, shape) if left else TensorType(shape, B.dtype, B.device)


@shared_rule(aten.linalg_solve_ex.default)
def linalg_solve_ex(A: TensorType, B: TensorType, left: bool) -> tuple[TensorType, TensorType]:
    """solve_ex([*, N, N], [*, N, K]) -> [*, N, K], info i32[*]."""
    return linalg_solve(A, B, left), _small(A, A.shape[:-2], torch.int32)


@shared_rule(aten._linalg_solve_ex.default)
def linalg_solve_with_lu(A: TensorType, B: TensorType, left: bool) -> tuple[TensorType, ...]:
    """_linalg_solve_ex([*, N, N], [*, N, K]) -> [*, N, K], LU, pivots i32[*, N], info i32[*]."""
    return (linalg_solve(A, B, left), *_lu(A), _small(A, A.shape[:-2], torch.int32))


# ------------------------------------------------------------------------------ any matrices


@shared_rule(aten.linalg_qr.default)
def linalg_qr(A: TensorType, mode: str) -> tuple[TensorType, TensorType]:
    """qr([*, M, N]) -> [*, M, k], [*, k, N]; k = min(M, N), or M if complete; "r": no Q."""
    _need_matrix(A, "linalg.qr")
    *batch, rows, columns = A.shape
    inner = rows if mode == "complete" else minimum(rows, columns)
    r = _columns(A, (*batch, inner, columns))
    return (_nothing(A) if mode == "r" else _columns(A, (*batch, rows, inner))), r


@rule(aten.geqrf.default)
def geqrf(x: TensorType) -> tuple[TensorType, TensorType]:
    """geqrf([*, M, N]) -> [*, M, N], tau [*, min(M, N)]."""
    _need_matrix(x, "geqrf")
    *batch, rows, columns = x.shape
    tau = TensorType((*batch, minimum(rows, columns)), x.dtype, x.device)
    return _columns(x, x.shape), tau


@shared_rule(aten.linalg_svd.default, aten._linalg_svd.default)
def linalg_svd(
    A: TensorType, full_matrices: bool, compute_uv: bool = True
) -> tuple[TensorType, TensorType, TensorType]:
    """svd([*, M, N]) -> [*, M, k], [*, min(M, N)] real, [*, k, N]; k = min(M, N), or as large."""
    _need_matrix(A, "linalg.svd")
    *batch, rows, columns = A.shape
    inner = minimum(rows, columns)
    values = TensorType((*batch, inner), A.dtype.to_real(), A.device)
    if not compute_uv:
        return _nothing(A), values, _nothing(A)
    u = _columns(A, (*batch, rows, rows if full_matrices else inner))
    vh = _columns(A, (*batch, columns if full_matrices else inner, columns))
    return u, values, vh


@shared_rule(aten.linalg_eigh.default, aten._linalg_eigh.default)
def linalg_eigh(x: TensorType, compute_v: bool = True) -> tuple[TensorType, TensorType]:
    """eigh([*, N, N]) -> [*, N] real, [*, N, N] or nothing."""
    _need_square(x, "linalg.eigh")
    values = TensorType(x.shape[:-1], x.dtype.to_real(), x.device)
    return values, _columns(x, x.shape) if compute_v else _nothing(x)


@rule(aten.linalg_eig.default)
def linalg_eig(x: TensorType) -> tuple[TensorType, TensorType]:
    """eig([*, N, N]) -> [*, N], [*, N, N], both complex."""
    _need_square(x, "linalg.eig")
    values = TensorType(x.shape[:-1], x.dtype.to_complex(), x.device)
    return values, _columns(values, x.shape)


# ------------------------------------------------------------------------------ by singular values


Tolerance = TensorType | float | None
"""One for each matrix, or for all of them."""


@shared_rule(aten.linalg_matrix_rank.default, aten.linalg_matrix_rank.tol_tensor)
@shared_rule(aten.linalg_matrix_rank.atol_rtol_float, aten.linalg_matrix_rank.atol_rtol_tensor)
def linalg_matrix_rank(
    x: TensorType, tol: Tolerance = None, atol: Tolerance = None, rtol: Tolerance = None
) -> TensorType:
    """matrix_rank([*, M, N], tolerances: [*]) -> i64[*]."""
    _need_matrix(x, "linalg.matrix_rank")
    given = [each.shape for each in (tol, atol, rtol) if isinstance(each, TensorType)]
    return _small(x, broadcast_shapes(x.shape[:-2], *given), torch.int64)


@shared_rule(aten.linalg_pinv.default, aten.linalg_pinv.rcond_tensor, aten.pinverse.default)
@shared_rule(aten.linalg_pinv.atol_rtol_float, aten.linalg_pinv.atol_rtol_tensor)
def linalg_pinv(
    x: TensorType, rcond: Tolerance = None, atol: Tolerance = None, rtol: Tolerance = None
) -> TensorType:
    """pinv([*, M, N], tolerances: [*]) -> [*, N, M]."""
    _need_matrix(x, "linalg.pinv")
    *batch, rows, columns = x.shape
    for tolerance in (rcond, atol, rtol):
        if isinstance(tolerance, TensorType):
            broadcast_shapes(batch, tolerance.shape)
    return TensorType((*batch, columns, rows), x.dtype, x.device)


# ------------------------------------------------------------------------------ least squares


def _residuals(x: TensorType, batch: tuple[Int, ...], n_sides: Int, driver: str) -> TensorType:
    """One for each right-hand side where there are more rows than columns, else none.

    Raises: unsupported-operator, for the drivers that give residuals for a full rank only.
    """
    rows, columns = x.shape[-2:]
    if driver == "gelsy" or not at_least(rows, columns + 1):
        return TensorType((0,), x.dtype.to_real(), x.device)
    if driver == "gels":
        return TensorType((*batch, n_sides), x.dtype.to_real(), x.device)
    reason = f"with driver={driver!r}, whether there are residuals depends on the matrices' rank"
    raise problem("unsupported-operator", op="aten::linalg_lstsq", reason=reason)


@shared_rule(aten.linalg_lstsq.default)
def linalg_lstsq(x: TensorType, b: TensorType, driver: str | None) -> tuple[TensorType, ...]:
    """lstsq([*, M, N], [*, M, K]) -> [*, N, K], residuals, rank i64[*], values [*, min(M, N)].

    Observed: columns lie max(M, N) apart, the room in which LAPACK solves.
    """
    _need_matrix(x, "linalg.lstsq")
    check_dtype(x.dtype is b.dtype, "linalg.lstsq", x.dtype, b.dtype)
    driver = driver or "gelsy"
    vector = _is_vector(x, b)
    *batch, rows, columns = x.shape
    matrix = (*b.shape, 1) if vector else b.shape
    check_rank(len(matrix) == len(x.shape), "linalg.lstsq", x.rank, b.rank)
    for dim, (left, right) in enumerate(zip(x.shape[:-1], matrix[:-1], strict=True)):
        need_equal(left, right, "linalg.lstsq", dim)
    room, sides = maximum(rows, columns), matrix[-1]
    steps = contiguous_strides((*batch, sides, room))
    shape, strides = (*batch, columns, sides), (*steps[:-2], steps[-1], steps[-2])
    if vector:
        shape, strides = shape[:-1], strides[:-1]
    return (
        TensorType(shape, x.dtype, x.device, strides),
        _residuals(x, tuple(batch), sides, driver),
        _small(x, (0,) if driver == "gels" else tuple(batch), torch.int64),
        TensorType((*batch, minimum(rows, columns)), x.dtype.to_real(), x.device)
        if driver in {"gelsd", "gelss"}
        else TensorType((0,), x.dtype.to_real(), x.device),
    )
