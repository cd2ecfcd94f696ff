"""Complex tensors: made of parts, seen as parts, conjugated.

A conjugate bit is no part of a type: layout and dtype are the same with and without it.
"""

from __future__ import annotations

import torch

from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import kind
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.host.overloads import aten
from monograph.integers import eq, require
from monograph.rules.elementwise.pointwise import refused
from monograph.rules.operand_checks import check_rank, need_same_dtype
from monograph.rules.registry import rule


@rule(aten.complex.default)
def complex(real: TensorType, imag: TensorType) -> TensorType:
    """complex([*a], [*b]) -> c[*broadcast(a, b)]."""
    need_same_dtype("complex", real, imag)
    if kind(real.dtype) != 2:
        raise refused(aten.complex.default, real.dtype)
    return elementwise((real, imag), real.dtype.to_complex())


@rule(aten.polar.default)
def polar(abs: TensorType, angle: TensorType) -> TensorType:
    """polar([*a], [*b]) -> c[*broadcast(a, b)]."""
    need_same_dtype("polar", abs, angle)
    if kind(abs.dtype) != 2:
        raise refused(aten.polar.default, abs.dtype)
    return elementwise((abs, angle), abs.dtype.to_complex())


def _parts(x: TensorType) -> TensorType:
    """c[*a] seen as [*a, 2]: strides and offset count parts."""
    strides = None if x.strides is None else (*(step * 2 for step in x.strides), 1)
    return TensorType((*x.shape, 2), x.dtype.to_real(), x.device, strides, x.offset * 2)


@rule(aten.view_as_real.default)
def view_as_real(x: TensorType) -> TensorType:
    """view_as_real(c[*a]) -> [*a, 2]."""
    if not x.dtype.is_complex:
        raise refused(aten.view_as_real.default, x.dtype)
    return _parts(x)


@rule(aten.view_as_complex.default)
def view_as_complex(x: TensorType) -> TensorType:
    """view_as_complex([*a, 2]) -> c[*a]; the last stride is 1, the others and the offset even."""
    check_rank(x.shape, "view_as_complex", "a last size 2", 0)
    if kind(x.dtype) != 2:
        raise refused(aten.view_as_complex.default, x.dtype)
    last = x.shape[-1]
    require(eq(last, 2), "sizes-disagree", left=last, right=2, operator="view_as_complex", dim=-1)
    *steps, unit = x.stride()
    reason = "a complex view needs pairs side by side: a last stride of 1, all others even"
    facts = {"shape": x.shape, "target": "complex numbers", "reason": reason}
    require(eq(unit, 1), "view-impossible", **facts)
    for step in (*steps, x.offset):
        require(eq(step % 2, 0), "view-impossible", **facts)
    strides = None if x.strides is None else tuple(step // 2 for step in steps)
    return TensorType(x.shape[:-1], x.dtype.to_complex(), x.device, strides, x.offset // 2)


@rule(aten.real.default)
def real(x: TensorType) -> TensorType:
    """real(c[*a]) -> [*a], a view; of a real tensor it is the tensor."""
    return _part(x, 0) if x.dtype.is_complex else x


@rule(aten.imag.default)
def imag(x: TensorType) -> TensorType:
    """imag(c[*a]) -> [*a], a view."""
    if not x.dtype.is_complex:
        raise refused(aten.imag.default, x.dtype)
    return _part(x, 1)


def _part(x: TensorType, which: int) -> TensorType:
    steps = tuple(step * 2 for step in x.stride())
    return TensorType(x.shape, x.dtype.to_real(), x.device, steps, x.offset * 2 + which)


@rule(aten.conj.default)
def conj(x: TensorType) -> TensorType:
    """conj([*a]) -> [*a]: a view of a complex tensor; a real one is its own conjugate."""
    return _conj(x) if x.dtype.is_complex else x


@rule(aten._conj.default)
def _conj(x: TensorType) -> TensorType:
    """_conj(c[*a]) -> c[*a], a view."""
    if not x.dtype.is_complex:
        raise refused(aten._conj.default, x.dtype)
    return view_of(x, x.shape, x.strides)


@rule(aten.conj_physical.default)
def conj_physical(x: TensorType) -> TensorType:
    """conj_physical([*a]) -> [*a]: fresh where complex."""
    return elementwise((x,), x.dtype) if x.dtype.is_complex else x


@rule(aten.resolve_conj.default)
def resolve_conj(x: TensorType) -> TensorType:
    """resolve_conj([*a]) -> [*a]: of a complex tensor nobody can say here whether it is a copy."""
    return _conj(x) if x.dtype.is_complex else x


@rule(aten.resolve_neg.default)
def resolve_neg(x: TensorType) -> TensorType:
    """resolve_neg([*a]) -> [*a]: a copy only of imaginary parts of conjugates."""
    return view_of(x, x.shape, x.strides) if kind(x.dtype) >= 2 else x


@rule(aten.positive.default)
def positive(x: TensorType) -> TensorType:
    """positive([*a]) -> the tensor itself."""
    if x.dtype == torch.bool:
        raise refused(aten.positive.default, x.dtype)
    return x
