"""FLOP formulas of ATen: matrix products, convolutions, attention and recurrent layers.

Two per multiplication and addition, as `torch.utils.flop_counter` has it, and nothing for what is
computed element by element. Composite operators, which stay whole in a program, cost what their
parts cost.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from monograph.estimation.flop_registry import flop_formula
from monograph.integers import Int, product, total

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape = tuple[Int, ...]


# --- matrix products ---------------------------------------------------------------------------


@flop_formula("mm", "_scaled_mm", "_int_mm", "mv", "dot", "vdot", "inner", "matmul")
@flop_formula("linalg_matmul", "cov", "corrcoef", "_grouped_mm", "_scaled_grouped_mm")
@flop_formula("_weight_int8pack_mm", "_weight_int4pack_mm")
def matmul(a: Shape, *_: Any, out_shape: Shape, **__: Any) -> Int:
    """matmul(a: [*, m, k], b: [*, k, n]): k products for each element of the result."""
    return 2 * product(out_shape) * a[-1] if a else 0


@flop_formula("addmm", "addmv", "_addmm_activation")
def addmm(_: Shape, a: Shape, *__: Any, out_shape: Shape, **___: Any) -> Int:
    """addmm(c, a: [m, k], b: [k, n]): 2 m n k."""
    return matmul(a, out_shape=out_shape)


@flop_formula("bmm")
def bmm(a: Shape, b: Shape, *_: Any, **__: Any) -> Int:
    """bmm(a: [l, m, k], b: [l, k, n]): 2 l m n k."""
    return 2 * product(a) * b[-1]


@flop_formula("baddbmm", "addbmm")
def baddbmm(_: Shape, a: Shape, b: Shape, *__: Any, **___: Any) -> Int:
    """baddbmm(c, a: [l, m, k], b: [l, k, n]): 2 l m n k."""
    return bmm(a, b)


@flop_formula("linear", "mkldnn_linear")
def linear(x: Shape, weight: Shape, *_: Any, **__: Any) -> Int:
    """linear(x: [*, k], weight: [n, k]): 2 * n k."""
    return 2 * product(x) * product(weight[:-1])


@flop_formula("bilinear")
def bilinear(x: Shape, _: Shape, weight: Shape, *__: Any, **___: Any) -> Int:
    """bilinear(x: [*, m], y: [*, n], weight: [o, m, n]): 2 * o m n."""
    return 2 * product(x[:-1]) * product(weight)


@flop_formula("tensordot")
def tensordot(a: Shape, b: Shape, _: Sequence[int], dims_other: Sequence[int], **__: Any) -> Int:
    """tensordot: each element of `a` meets those of `b` in the dimensions that are kept."""
    summed = {dim % len(b) for dim in dims_other}
    return 2 * product(a) * product([n for dim, n in enumerate(b) if dim not in summed])


@flop_formula("linalg_multi_dot", "chain_matmul")
def multi_dot(matrices: Sequence[Shape], **_: Any) -> Int:
    """The cheapest order, as PyTorch finds it; from left to right where sizes are symbols."""
    first = matrices[0][0] if len(matrices[0]) == 2 else 1
    last = [matrices[-1][-1] if len(matrices[-1]) == 2 else 1]
    sizes = [first, *[shape[0] if len(shape) == 2 else shape[-1] for shape in matrices[1:]], *last]
    if not all(isinstance(size, int) for size in sizes):
        pairs = pairwise(sizes[1:])
        return 2 * first * total([left * right for left, right in pairs])
    found: dict[tuple[int, int], Int] = {(i, i + 1): 0 for i in range(len(matrices))}
    for length in range(2, len(sizes)):
        for i in range(len(sizes) - length):
            j = i + length
            ways = [
                found[i, k] + found[k, j] + 2 * sizes[i] * sizes[k] * sizes[j]
                for k in range(i + 1, j)
            ]
            found[i, j] = min(ways)  # pyright: ignore[reportArgumentType]  # integers, as asked above
    return found[0, len(matrices)]


@flop_formula("matrix_power", "linalg_matrix_power")
def matrix_power(a: Shape, n: int, **_: Any) -> Int:
    """By squaring: a product per bit, and one per bit that is set, but for the first."""
    times = max(abs(n).bit_length() - 1 + abs(n).bit_count() - 1, 0)
    return 2 * times * product(a) * a[-1]


@flop_formula("einsum")
def einsum(
    equation: str, operands: Sequence[Shape], path: Sequence[int] | None = None, **_: Any
) -> Int:
    """The operands of `path`, or from the left, two by two; a pair that sums nothing is free."""
    given, arrow, result = equation.replace(" ", "").partition("->")
    pairs = zip(given.split(","), operands, strict=True)
    named = [(_labels(term, len(shape)), shape) for term, shape in pairs]
    sizes: dict[str, Int] = {}
    for label, size in [item for each in named for item in zip(*each, strict=True)]:
        sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    every = [label for labels, _ in named for label in labels]
    shown = set(result) if arrow else {each for each in every if every.count(each) == 1}
    kept = shown | {each for each in every if each.isdigit()}
    left = [set(labels) for labels, _ in named]
    steps = list(path or ())
    cost: Int = 0
    while len(left) > 1:
        i, j = sorted(steps[:2] or (0, 1))
        del steps[:2]
        b, a = left.pop(j), left.pop(i)
        needed = kept.union(*left)
        if (a & b) - needed:
            cost = cost + 2 * product([sizes[each] for each in (a & b) | ((a | b) & needed)])
        left.append((a | b) & needed)
    return cost


def _labels(term: str, rank: int) -> list[str]:
    """One label per dimension; those of an ellipsis are numbers, counted from the last."""
    before, dots, after = term.partition("...")
    n = rank - len(before) - len(after) if dots else 0
    return [*before, *[str(i) for i in range(n, 0, -1)], *after]


# --- convolutions ------------------------------------------------------------------------------


def _convolved(positions: Shape, weight: Shape) -> Int:
    """The whole kernel at each position, channels left out; without a batch there are fewer."""
    rank = len(weight) - 2
    batch = positions[0] if len(positions) == rank + 2 else 1
    return 2 * batch * product(positions[-rank:]) * product(weight)


@flop_formula(
    "conv1d",
    "conv2d",
    "conv3d",
    "cudnn_convolution",
    "_slow_conv2d_forward",
    "thnn_conv2d",
    "slow_conv3d",
)
@flop_formula("_conv_depthwise2d", "conv_depthwise3d")
def convolution(_: Shape, weight: Shape, *__: Any, out_shape: Shape, **___: Any) -> Int:
    """conv(x, weight: [o, c / groups, *kernel]) -> [b, o, *positions]: 2 b positions weight."""
    return _convolved(out_shape, weight)


@flop_formula("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "slow_conv_transpose2d")
def conv_transpose(x: Shape, weight: Shape, *_: Any, **__: Any) -> Int:
    """As a convolution, at each position of what comes in."""
    return _convolved(x, weight)


@flop_formula("convolution", "_convolution", "convolution_overrideable")
def either_convolution(x: Shape, weight: Shape, *rest: Any, out_shape: Shape, **_: Any) -> Int:
    """Either of the two, by the flag after bias, stride, padding and dilation."""
    return _convolved(x if rest[4] else out_shape, weight)


@flop_formula("convolution_backward")
def convolution_backward(
    grad: Shape, x: Shape, weight: Shape, *rest: Any, out_shape: Sequence[Shape], **_: Any
) -> Int:
    """The gradient of the input costs as much as the convolution; that of the weight, per channel.

    Groups do not make the latter cheaper, as `torch.utils.flop_counter` has it.
    """
    transposed, wanted = rest[4], rest[7]
    del out_shape
    positions, channels = (x, grad[1]) if transposed else (grad, x[1])
    cost = _convolved(positions, weight) if wanted[0] else 0
    if wanted[1]:
        cost = cost + 2 * product(weight[2:]) * product(positions) * channels
    return cost


@flop_formula("conv_tbc")
def conv_tbc(_: Shape, weight: Shape, *__: Any, out_shape: Shape, **___: Any) -> Int:
    """conv_tbc(x: [t, b, c], weight: [k, c, o]) -> [t, b, o]: 2 t b weight."""
    return 2 * product(out_shape[:2]) * product(weight)


# --- attention ---------------------------------------------------------------------------------


@flop_formula("scaled_dot_product_attention", "_scaled_dot_product_attention_math")
@flop_formula("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu")
@flop_formula("_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention")
@flop_formula("_scaled_dot_product_fused_attention_overrideable", "higher_order::flex_attention")
def attention(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> Int:
    """Scores and their mean: 2 b h s_q s_k (d + d_v). What a mask leaves out is counted, too."""
    return 2 * product(query[:-1]) * key[-2] * (query[-1] + value[-1])


@flop_formula("_scaled_dot_product_flash_attention_backward")
@flop_formula("_scaled_dot_product_flash_attention_for_cpu_backward")
@flop_formula("_scaled_dot_product_efficient_attention_backward")
@flop_formula("_scaled_dot_product_cudnn_attention_backward")
def attention_backward(
    _: Shape, query: Shape, key: Shape, value: Shape, *__: Any, **___: Any
) -> Int:
    """The scores again, and the gradients of value, scores, query and key."""
    return 2 * product(query[:-1]) * key[-2] * (3 * query[-1] + 2 * value[-1])


@flop_formula("higher_order::flex_attention_backward")
def flex_attention_backward(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> Int:
    """As above."""
    return attention_backward((), query, key, value)


@flop_formula("_flash_attention_forward")
def flash_attention(query: Shape, key: Shape, value: Shape, *rest: Any, **_: Any) -> Int:
    """Of packed sequences with `cum_seq_q`, each taken for the longest; else of [b, s, h, d]."""
    return 2 * _pairs(query, key, rest) * (query[-1] + value[-1])


@flop_formula("_efficient_attention_forward")
def efficient_attention(
    query: Shape, key: Shape, value: Shape, _: Any, *rest: Any, **__: Any
) -> Int:
    """As above, behind a bias."""
    return flash_attention(query, key, value, *rest)


@flop_formula("_flash_attention_backward", "_efficient_attention_backward")
def flash_attention_backward(
    _: Shape, query: Shape, key: Shape, value: Shape, __: Any, ___: Any, *rest: Any, **____: Any
) -> Int:
    """As `attention_backward`; what is packed as in `flash_attention`."""
    return 2 * _pairs(query, key, rest) * (3 * query[-1] + 2 * value[-1])


def _pairs(query: Shape, key: Shape, rest: Sequence[Any]) -> Int:
    """Heads times pairs of tokens; each of packed sequences is taken for the longest."""
    lengths, _, longest, other = rest[:4]
    if lengths is None:
        return product(query[:-1]) * key[-3]
    return (lengths[0] - 1) * query[-2] * longest * other


# --- recurrent layers --------------------------------------------------------------------------


@flop_formula("lstm", "gru", "rnn_tanh", "rnn_relu")
def recurrent(x: Shape, *rest: Any, **_: Any) -> Int:
    """Each weight once for each token; packed sequences have their lengths before the state."""
    lists = [
        each
        for each in rest
        if isinstance(each, list | tuple) and each and isinstance(each[0], tuple)
    ]
    return 2 * product(x[:-1]) * total([product(w) for w in lists[-1] if len(w) == 2])


@flop_formula("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def recurrent_cell(x: Shape, _: Any, *weights: Any, **__: Any) -> Int:
    """Each weight once for each row."""
    return 2 * product(x[:-1]) * total([product(weight) for weight in weights[:2]])
