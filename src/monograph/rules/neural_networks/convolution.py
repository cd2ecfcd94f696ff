"""Convolutions: sizes of the output, and the memory format CPU kernels really give.

Law: forward, `size(n) = (n + 2*padding - dilation*(kernel - 1) - 1) // stride + 1`; transposed,
`size(n) = (n - 1)*stride - 2*padding + dilation*(kernel - 1) + output_padding + 1`.

Observed on CPU: over two dimensions the output is channels_last if the input or the weight looks
so; over one, if the weight looks so as [O, I, 1, L]; over three, likewise, but float64 and small
single samples are computed by a kernel that only knows contiguous results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.layout import strides_for, suggest_memory_format
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.flags import onednn_computes
from monograph.host.overloads import aten
from monograph.integers import Expr, product
from monograph.rules.memory_formats import squeezed, unsqueezed
from monograph.rules.operand_checks import refusal
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import at_least, equal, need_equal, need_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


# ------------------------------------------------------------------------------ sizes


def _each(values: Sequence[Int], n: int) -> Sequence[Int]:
    if isinstance(values, int | Expr):
        return (values,) * n
    return values if len(values) == n else tuple(values) * n


def _forward_sizes(
    sizes: Sequence[Int],
    kernel: Sequence[Int],
    stride: Sequence[Int],
    padding: Sequence[Int],
    dilation: Sequence[Int],
) -> list[Int]:
    windows = zip(sizes, kernel, stride, padding, dilation, strict=True)
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in windows]


def _transposed_sizes(
    sizes: Sequence[Int],
    kernel: Sequence[Int],
    stride: Sequence[Int],
    padding: Sequence[Int],
    dilation: Sequence[Int],
    output_padding: Sequence[Int],
) -> list[Int]:
    windows = zip(sizes, kernel, stride, padding, dilation, output_padding, strict=True)
    return [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in windows]


def _check(
    input: TensorType, weight: TensorType, bias: TensorType | None, groups: Int, op: str
) -> None:
    """The input's rank and channels fit the weight's.

    Raises: rank-disagrees, dtype-disagrees, sizes-disagree.
    """
    n = len(weight.shape) - 2
    if len(input.shape) != n + 2 and len(input.shape) != n + 1:
        raise problem(
            "rank-disagrees", what=op, expected=f"{n + 1} or {n + 2} dimensions", got=input.rank
        )
    if input.dtype != weight.dtype:
        raise problem("dtype-disagrees", what=op, expected=weight.dtype, got=input.dtype)
    if bias is not None and bias.dtype != input.dtype:
        raise problem("dtype-disagrees", what=f"bias of {op}", expected=input.dtype, got=bias.dtype)


def _convolved(
    input: TensorType,
    weight: TensorType,
    bias: TensorType | None,
    stride: Sequence[Int],
    padding: Sequence[Int],
    dilation: Sequence[Int],
    groups: Int,
    output_padding: Sequence[Int] | None = None,
    *,
    op: str,
) -> TensorType:
    """Type of a convolution; transposed where `output_padding` is given."""
    _check(input, weight, bias, groups, op)
    n = len(weight.shape) - 2
    at = len(input.shape) - n - 1  # of the channels
    transposed = output_padding is not None
    inner = weight.shape[0] if transposed else weight.shape[1] * groups
    need_equal(input.shape[at], inner, op, at)
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None:
        need_equal(bias.shape[0], channels, op, 0)
    if equal(input.shape[at], 0):
        channels = 0  # observed
    arguments = (
        input.shape[at + 1 :],
        weight.shape[2:],
        _each(stride, n),
        _each(padding, n),
        _each(dilation, n),
    )
    sizes = (
        _forward_sizes(*arguments)
        if output_padding is None
        else _transposed_sizes(*arguments, _each(output_padding, n))
    )
    need_positive(sizes, op)
    shape = (*input.shape[:at], channels, *sizes)
    if input.strides is None and weight.strides is None:
        return TensorType(shape, input.dtype, input.device)
    plain_steps = all(step == 1 for step in (*arguments[2], *arguments[4]))
    return _laid_out(input, weight, shape, plain_steps, groups)


# ------------------------------------------------------------------------------ layout


def _laid_out(
    input: TensorType,
    weight: TensorType,
    shape: tuple[Int, ...],
    plain_steps: bool,
    groups: Int,
) -> TensorType:
    """`plain_steps` says that stride and dilation are 1."""
    n = len(weight.shape) - 2
    plain = TensorType(shape, input.dtype, input.device)
    if 0 in input.shape or 0 in weight.shape:
        return plain
    if len(input.shape) == n + 1:  # one sample runs as a batch of one
        batch = _laid_out(unsqueezed(input, 0), weight, (1, *shape), plain_steps, groups)
        return squeezed(batch, 0)
    if n == 1:
        # The input is made contiguous, so that permuted sequences do not run as channels_last.
        if weight.strides is None:
            return plain
        flat = _in_format(
            plain, (*shape[:2], 1, shape[2]), suggest_memory_format(unsqueezed(weight, 2))
        )
        return squeezed(flat, 2)
    chosen = suggest_memory_format(input)
    if chosen == torch.contiguous_format:
        chosen = suggest_memory_format(weight)
    if chosen != torch.channels_last_3d or _is_blocked(input, weight, groups, plain_steps):
        return _in_format(plain, shape, chosen)
    return plain


def _in_format(
    plain: TensorType, shape: tuple[Int, ...], memory_format: torch.memory_format
) -> TensorType:
    return TensorType(shape, plain.dtype, plain.device, strides_for(shape, memory_format))


def _is_blocked(input: TensorType, weight: TensorType, groups: Int, plain_steps: bool) -> bool:
    """Whether oneDNN computes a 3d convolution; where it can, it does nearly always.

    Source: `use_mkldnn` in `ATen/native/Convolution.cpp` (observed, not copied).
    """
    if not onednn_computes(input.dtype):
        return False
    if input.dtype != torch.float32:
        return True
    kernel = weight.shape[-2:]
    pointwise = plain_steps and torch.get_num_threads() == 1 and all(equal(k, 1) for k in kernel)
    if pointwise and not at_least(input.shape[0], 16):
        return False
    if groups != 1 or all(at_least(k, 4) for k in kernel):
        return True
    return at_least(input.shape[0], 2) or at_least(product(input.shape[:4]), 20481)


# ------------------------------------------------------------------------------ operators


@shared_rule(aten.conv1d.default, op="conv1d")
@shared_rule(aten.conv2d.default, op="conv2d")
@shared_rule(aten.conv3d.default, op="conv3d")
@shared_rule(aten.convolution.default, op="convolution")
@shared_rule(aten._convolution.default, aten._convolution.deprecated, op="convolution")
@shared_rule(aten.conv_transpose1d.default, op="conv_transpose1d", transposed=True)
@shared_rule(aten.conv_transpose2d.input, op="conv_transpose2d", transposed=True)
@shared_rule(aten.conv_transpose3d.input, op="conv_transpose3d", transposed=True)
def convolution(
    input: TensorType,
    weight: TensorType,
    bias: TensorType | None,
    stride: Sequence[Int],
    padding: Sequence[Int],
    dilation: Sequence[Int],
    groups: Int,
    op: str,
    transposed: bool = False,
    output_padding: Sequence[Int] = (),
) -> TensorType:
    """conv2d([N?, I, H, W], weight: [O, I/groups, h, w]) -> [N?, O, windows, windows].

    Transposed: conv_transpose2d([N?, I, H, W], weight: [I, O/groups, h, w]) -> [N?, O, h', w'].
    """
    given = output_padding if transposed else None
    return _convolved(input, weight, bias, stride, padding, dilation, groups, given, op=op)


@shared_rule(aten.conv1d.padding, op="conv1d")
@shared_rule(aten.conv2d.padding, op="conv2d")
@shared_rule(aten.conv3d.padding, op="conv3d")
def convolution_padded_by_word(
    input: TensorType,
    weight: TensorType,
    bias: TensorType | None,
    stride: Sequence[Int],
    padding: str,
    dilation: Sequence[Int],
    groups: Int,
    op: str,
) -> TensorType:
    """conv2d([N?, I, H, W], weight: [O, I/groups, h, w], padding="same") -> [N?, O, H, W].

    With padding "valid" there is none.
    """
    n = len(weight.shape) - 2
    if padding == "valid":
        return _convolved(input, weight, bias, stride, (0,), dilation, groups, op=op)
    if padding != "same" or any(step != 1 for step in _each(stride, n)):
        raise refusal(op, f"padding {padding!r} with stride {list(stride)}")
    # dilation*(kernel - 1) rows are added in all; an odd number means one more behind, and that
    # row is padded beforehand, by a contiguous copy.
    kernel = zip(_each(dilation, n), weight.shape[2:], strict=True)
    added = [d * (k - 1) for d, k in kernel]
    sizes = input.shape[-n:]
    odd = [total % 2 for total in added]
    if any(not isinstance(extra, int) or extra for extra in odd):
        grown = tuple(size + extra for size, extra in zip(sizes, odd, strict=True))
        input = _padded(input, (*input.shape[:-n], *grown))
    return _convolved(input, weight, bias, stride, [t // 2 for t in added], dilation, groups, op=op)


def _padded(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """`constant_pad_nd`, which follows the memory format."""
    strides = None if x.strides is None else strides_for(shape, suggest_memory_format(x))
    return TensorType(shape, x.dtype, x.device, strides)
