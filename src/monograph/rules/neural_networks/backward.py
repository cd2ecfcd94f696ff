"""Gradients that PyTorch has as operators of their own, where its meta kernels say nothing of them.

Law: the gradient of an operand has the operand's shape and dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.tensor_type import TensorType, like
from monograph.host.overloads import aten
from monograph.rules.memory_formats import following
from monograph.rules.neural_networks.pooling import max_pool
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import need_equal, need_same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence


def _need_same_shape(op: str, one: TensorType, *others: TensorType) -> None:
    """The kernels read all of these in step, and do not look how long each is."""
    for other in others:
        need_same_shape(one.shape, other.shape, op)


def _need_rows(op: str, x: TensorType, grad: TensorType, reduction: int) -> None:
    """The gradient of a loss that is not reduced has one number for each row."""
    if len(x.shape) > 1 and not reduction:
        need_equal(grad.shape[0] if grad.shape else 1, x.shape[0], op, 0)


@shared_rule(aten.multi_margin_loss_backward.default)
def multi_margin_loss_backward(
    grad_output: TensorType,
    x: TensorType,
    target: TensorType,
    weight: TensorType | None,
    reduction: int,
) -> TensorType:
    """multi_margin_loss_backward([N] or [], [N, C]) -> [N, C]."""
    _need_rows("multi_margin_loss_backward", x, grad_output, reduction)
    rows = x.shape[0] if x.rank > 1 else 1
    need_equal(target.shape[0] if target.shape else 1, rows, "multi_margin_loss_backward", 0)
    if weight is not None:
        need_equal(weight.shape[0], x.shape[-1], "multi_margin_loss_backward", 0)
    return like(x)


@rule(aten.multilabel_margin_loss_backward.default)
def multilabel_margin_loss_backward(
    grad_output: TensorType,
    x: TensorType,
    target: TensorType,
    reduction: int,
    is_target: TensorType,
) -> TensorType:
    """multilabel_margin_loss_backward([N] or [], [N, C]) -> [N, C]."""
    _need_rows("multilabel_margin_loss_backward", x, grad_output, reduction)
    _need_same_shape("multilabel_margin_loss_backward", x, target, is_target)
    return like(x)


@rule(aten.max_pool2d_with_indices_backward.default)
def max_pool2d_with_indices_backward(
    grad_output: TensorType,
    x: TensorType,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: TensorType,
) -> TensorType:
    """max_pool2d_with_indices_backward([*a, h, w], [*a, H, W]) -> [*a, H, W]."""
    pooled = max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, n=2, op="max_pool2d")
    _need_same_shape("max_pool2d_with_indices_backward", pooled, grad_output, indices)
    return following(x, x.shape)


@shared_rule(aten._masked_softmax_backward.default)
def masked_softmax_backward(
    grad_output: TensorType, output: TensorType, mask: TensorType
) -> TensorType:
    """_masked_softmax_backward([*a], [*a], b8[*a]) -> [*a]."""
    _need_same_shape("_masked_softmax_backward", grad_output, output, mask)
    return like(grad_output)
