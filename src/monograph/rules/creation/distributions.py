"""Draws from distributions, and the gradients of those that have one with respect to parameters.

Law: pointwise, but always contiguous.
"""

from __future__ import annotations

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.rules.registry import shared_rule


def _drawn(op: str, *operands: TensorType) -> TensorType:
    """The result of operands of one dtype, which are floats."""
    first = operands[0]
    for each in operands:
        if not each.dtype.is_floating_point or each.dtype is not first.dtype:
            raise problem("dtype-disagrees", what=op, expected=first.dtype, got=each.dtype)
    shape = broadcast_shapes(*[each.shape for each in operands])
    return TensorType(shape, first.dtype, first.device)


@shared_rule(aten.binomial.default)
def binomial(count: TensorType, prob: TensorType) -> TensorType:
    """binomial([*a], [*b]) -> [*broadcast(a, b)]."""
    return _drawn("binomial", count, prob)


@shared_rule(aten._standard_gamma_grad.default)
def standard_gamma_grad(x: TensorType, output: TensorType) -> TensorType:
    """_standard_gamma_grad([*a], [*a]) -> [*a]."""
    return _drawn("_standard_gamma_grad", x, output)


@shared_rule(aten._sample_dirichlet.default)
def sample_dirichlet(x: TensorType) -> TensorType:
    """_sample_dirichlet([*a, n]) -> [*a, n]: each row adds up to one."""
    return _drawn("_sample_dirichlet", x)


@shared_rule(aten._dirichlet_grad.default)
def dirichlet_grad(x: TensorType, alpha: TensorType, total: TensorType) -> TensorType:
    """_dirichlet_grad([*a, n], [*a, n], [*a, n]) -> [*a, n]."""
    return _drawn("_dirichlet_grad", x, alpha, total)
