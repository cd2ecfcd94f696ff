"""Programs that compute with sizes."""

import math

import torch

from tests.programs.registry import program, variants


def one(n=4, m=6):
    """Give a matrix."""
    return (torch.randn(n, m),)


def row(n=6):
    """Give a vector."""
    return (torch.randn(n),)


variants(
    one,
    {
        "size_times": lambda x: x.new_zeros(x.shape[0] * 2) + 1,
        "size_plus_minus": lambda x: x.new_ones(x.shape[0] + 3 - 1),
        "size_reversed": lambda x: x.new_ones(10 + x.shape[0], 2 * x.shape[1]),
        "size_floordiv": lambda x: x.new_ones(x.shape[0] // 2, x.shape[1] // 3),
        "size_mod": lambda x: x.new_ones(x.shape[0] % 3, x.shape[1] % 4),
        "size_true_divide": lambda x: x / (x.shape[0] / 2),
        "size_power": lambda x: x.new_ones(x.shape[0] ** 2),
        "size_negated": lambda x: x * -x.shape[0],
        "size_floor": lambda x: x.new_ones(math.floor(x.shape[0] / 2)),
        "size_ceil": lambda x: x.new_ones(math.ceil(x.shape[0] / 3)),
        "size_trunc": lambda x: x.new_ones(math.trunc(x.shape[0] * 1.5)),
        "size_int": lambda x: x.new_ones(int(x.shape[0] * 0.5)),
        "size_round": lambda x: x.new_ones(round(x.shape[0] * 0.75)),
        "size_sqrt": lambda x: x / math.sqrt(x.shape[1]),
        "size_power_half": lambda x: x * x.shape[1] ** -0.5,
        "size_float": lambda x: x * float(x.shape[0]),
        "size_log": lambda x: x * math.log(x.shape[0] + 1),
        "size_max": lambda x: x.new_ones(max(x.shape[0], 2)),
        "size_min": lambda x: x.new_ones(min(x.shape[0], x.shape[1])),
        "size_len": lambda x: x.new_ones(len(x)),
        "size_numel": lambda x: x.new_ones(x.numel()),
        "size_prod": lambda x: x.new_ones(math.prod(x.shape)),
        "size_sum": lambda x: x.new_ones(sum(x.shape)),
        "size_unpacked": lambda x: (lambda n, m: x.view(m, n))(*x.shape),
        "size_tuple_concat": lambda x: x.new_zeros((2,) + x.shape + (3,)) + 1,
        "size_sliced": lambda x: x.new_zeros(x.shape[:-1] + (7,)) + 1,
        "size_of_dim": lambda x: x.new_ones(x.size(0), x.size(-1)),
        "size_in_range": lambda x: sum(x * i for i in range(x.shape[0])),
        "size_list_repeat": lambda x: x.repeat(*([1] * x.dim())),
        "arange_size": lambda x: torch.arange(x.shape[0]),
        "arange_float_size": lambda x: torch.arange(x.shape[0], dtype=torch.float32) + x[:, 0],
        "arange_between": lambda x: torch.arange(1, x.shape[0] + 1),
        "arange_step": lambda x: torch.arange(0, x.shape[0], 2),
        "arange_down": lambda x: torch.arange(x.shape[0] - 1, -1, -1),
        "linspace_size": lambda x: torch.linspace(0, 1, x.shape[0]),
        "logspace_size": lambda x: torch.logspace(0, x.shape[0], steps=x.shape[1], base=1.5),
        "linspace_tensors": lambda x: torch.linspace(x[0, 0], 1, x.shape[0]),
        "frequencies_size": lambda x: torch.fft.fftfreq(x.shape[1], d=1 / x.shape[1]),
        "half_frequencies_size": lambda x: torch.fft.rfftfreq(n=x.shape[1]),
        "window_size": lambda x: torch.hann_window(x.shape[1], periodic=False) * x,
        "windows_size": lambda x: [
            *(torch.bartlett_window(x.shape[0]), torch.blackman_window(x.shape[0])),
            *(torch.hamming_window(x.shape[1]), torch.kaiser_window(x.shape[1], True, beta=3.0)),
        ],
        "signal_window_size": lambda x: torch.signal.windows.gaussian(x.shape[1], std=x.shape[0]),
        "triangles_size": lambda x: (
            torch.tril_indices(*x.shape, offset=-1),
            torch.triu_indices(x.shape[1], 3, dtype=torch.int32),
        ),
        "one_hot_size": lambda x: torch.nn.functional.one_hot(x.argmax(1), x.shape[1]),
        "histogram_size": lambda x: x.histc(x.shape[0], min=-1, max=1),
        "groups_size": lambda x: torch.nn.functional.group_norm(x, x.shape[1]),
        "unfold_sizes": lambda x: x.unfold(1, x.shape[1] // 2, x.shape[0]),
        "diagonal_size": lambda x: (x.T @ x).diagonal(offset=x.shape[1] // 2),
        "diagonal_below": lambda x: torch.diagonal(x.T @ x, -(x.shape[1] // 2)),
        "shuffle_size": lambda x: torch.nn.functional.pixel_shuffle(
            x.new_ones(x.shape[0] ** 2, 2, x.shape[1]), x.shape[0]
        ),
        "columns_size": lambda x: torch.nn.functional.unfold(x[None, None], (2, x.shape[1])),
        "pool_size": lambda x: torch.nn.functional.avg_pool2d(x[None], x.shape),
        "pool_sizes": lambda x: torch.nn.functional.avg_pool1d(x, x.shape[1] // 2, stride=2),
        "max_pool_size": lambda x: torch.nn.functional.max_pool2d(x[None], (2, x.shape[1])),
        "adaptive_pool_size": lambda x: (
            torch.nn.functional.adaptive_avg_pool1d(x, x.shape[0]),
            torch.nn.functional.adaptive_max_pool2d(x[None], (1, x.shape[0])),
        ),
        "zeros_size": lambda x: torch.zeros(x.shape) + x,
        "full_of_size": lambda x: torch.full((2,), x.shape[0]),
        "full_float_of_size": lambda x: torch.full((2,), x.shape[0] / 2),
        "eye_size": lambda x: torch.eye(x.shape[0]) @ x,
        "tril_size": lambda x: torch.ones(x.shape[0], x.shape[0]).tril() @ x,
        "causal": lambda x: torch.arange(x.shape[0])[:, None] >= torch.arange(x.shape[0])[None],
        "view_flat": lambda x: x.view(-1),
        "view_pair": lambda x: x.view(x.shape[0], 2, -1),
        "view_by_size": lambda x: x.view(x.shape[0] * x.shape[1]),
        "reshape_half": lambda x: x.reshape(x.shape[0], x.shape[1] // 2, 2),
        "reshape_minus": lambda x: x.reshape(-1, 3),
        "unflatten": lambda x: x.unflatten(1, (2, -1)),
        "flatten": lambda x: x[None].flatten(1),
        "expand_new": lambda x: x.expand(3, *x.shape),
        "expand_minus": lambda x: x[:, None].expand(-1, 2, -1),
        "expand_as": lambda x: x[:1].expand_as(x),
        "expand_to_size": lambda x: torch.ones(1).expand(x.shape[0]),
        "repeat": lambda x: x.repeat(2, x.dim()),
        "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
        "tile": lambda x: x.tile(2),
        "chunk": lambda x: x.chunk(2, 1),
        "split": lambda x: x.split(3, 1),
        "split_sizes": lambda x: x.split([1, x.shape[1] - 1], 1),
        "tensor_split": lambda x: x.tensor_split(2, 1),
        "stack_rows": lambda x: torch.stack([x, x]),
        "cat_sizes": lambda x: torch.cat([x, x[:1], x.new_zeros(2, x.shape[1])]),
        "pad": lambda x: torch.nn.functional.pad(x, (1, 2)),
        "pad_to_even": lambda x: torch.nn.functional.pad(x, (0, x.shape[1] % 2)),
        "pool": lambda x: torch.nn.functional.avg_pool1d(x[None], 2),
        "interpolate": lambda x: torch.nn.functional.interpolate(x[None], scale_factor=2.0),
        "interpolate_size": lambda x: torch.nn.functional.interpolate(x[None], size=x.shape[1] * 2),
        "matmul_self": lambda x: x @ x.T,
        "mean_by_hand": lambda x: x.sum() / x.numel(),
        "bias_row": lambda x: x + x.sum(0),
        "bias_column": lambda x: x + x.sum(1, keepdim=True),
        "outer": lambda x: x[:, :1] + x[0],
        "ternary": lambda x: x * 2 if x.shape[0] > 4 else x * 3,
        "ternary_equal": lambda x: x * 2 if x.shape[0] == x.shape[1] else x * 3,
        "ternary_even": lambda x: x * 2 if x.shape[0] % 2 == 0 else x * 3,
        "ternary_chain": lambda x: x * 2 if 2 < x.shape[0] < 10 else x * 3,
        "ternary_and": lambda x: x * 2 if x.shape[0] > 2 and x.shape[1] > 3 else x * 3,
        "ternary_not": lambda x: x * 2 if not x.shape[0] > 7 else x * 3,
        "ternary_truth": lambda x: x * 2 if x.shape[0] else x * 3,
        "ternary_numel": lambda x: x * 2 if x.numel() > 20 else x * 3,
        "shape_equal_own": lambda x: x * 2 if x.shape == (x * 1).shape else x * 3,
        "shape_in_dict": lambda x: {"n": x.shape[0]}["n"] * x,
        "size_text": lambda x: x * len(f"{x.dim()} dims"),
        "one_or_more": lambda x: x.squeeze(0),
        "squeeze_all": lambda x: x.squeeze(),
        "one_sized": lambda x: x[:1] + x,
        "softmax": lambda x: x.softmax(0) + x.log_softmax(1),
        "cumsum": lambda x: x.cumsum(0) / torch.arange(1, x.shape[0] + 1)[:, None],
        "max_over": lambda x: x.max(1),
        "topk": lambda x: x.topk(2, 1),
        "sort": lambda x: x.sort(1),
        "std": lambda x: x.std(0),
        "norm": lambda x: x.norm(dim=1, keepdim=True),
        "bool_and_of_sizes": lambda x: x.new_ones(x.shape[0] & 3) if False else x,
        "sym_max_torch": lambda x: x.new_ones(torch.sym_max(x.shape[0], 3)),
        "sym_not": lambda x: x * (2 if torch.sym_not(x.shape[0] > 100) else 3),
        "abs_difference": lambda x: x * abs(x.shape[0] - x.shape[1]),
        "size_as_scale": lambda x: x * x.shape[0] + x.shape[1],
        "size_as_exponent": lambda x: x ** x.dim(),
        "stride_used": lambda x: x.as_strided((x.shape[0],), (x.stride(0),)),
        "bitwise_shift": lambda x: x.new_ones(x.shape[0] << 1),
        "isqrt": lambda x: x * math.isqrt(16),
        "enumerate_chunks": lambda x: sum(c.sum() * i for i, c in enumerate(x.chunk(3, 1))),
        "zip_shapes": lambda x: [a + b for a, b in zip(x.shape, x.shape, strict=True)],
        "fold_windows": lambda x: x.unfold(1, 2, 2).sum(-1),
        "roll_by_size": lambda x: x.roll(x.shape[0] // 2, 0),
        "rot": lambda x: torch.rot90(x),
        "diag": lambda x: (x @ x.T).diagonal(),
        "any_all": lambda x: (x > 0).all() | (x > 1).any(),
        "one_hot": lambda x: torch.nn.functional.one_hot(x.argmax(1), 11),
        "embedding": lambda x: torch.nn.functional.embedding(
            x.argmax(1), torch.arange(36.0).view(12, 3)
        ),
        "bucketize": lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])),
        "meshgrid": lambda x: torch.meshgrid(x[0], x[:, 0], indexing="ij"),
        "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
        "bmm": lambda x: torch.bmm(x[None], x.T[None]),
        "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (x.shape[1],)),
        "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(
            x, x, x, is_causal=False
        ),
    },
)


variants(
    one,
    {
        "size_shape_numel": lambda x: x.new_ones(x.shape.numel()),
        "shape_equal": lambda x: x * 2 if x.shape == (4, 6) else x * 3,
    },
    fixed=True,
)


@program(one, accepts=({"n": 6}, {"n": 8}))
def if_statement(x):
    """A branch on a size; the other branch's sizes are refused."""
    if x.shape[0] > 3:
        return x * 2
    return x * 3


@program(one)
def if_elif(x):
    """A chain of questions."""
    n = x.shape[0]
    if n < 2:
        return x
    if n == 3:
        return x * 3
    if n * x.shape[1] > 100:
        return x * 100
    return x * n


@program(one)
def assert_size(x):
    """Assertions about sizes."""
    assert x.shape[1] % 2 == 0
    assert x.shape[0] <= 100, "too long"
    return x.view(x.shape[0], 2, x.shape[1] // 2)


@program(one)
def checked_size(x):
    """`torch._check` on sizes."""
    torch._check(x.shape[0] >= 2)
    torch._check(x.shape[1] % 2 == 0, lambda: "odd")
    return x[1], x.view(x.shape[0], -1, 2)


@program(one)
def while_statement(x):
    """A loop whose count is a size's logarithm."""
    n = x.shape[0]
    y = x
    while n > 1:
        y = y * 2
        n = n // 2
    return y


@program(row, fixed=True)
def loop_over_rows(x):
    """`for element in x` fixes how many there are."""
    total = x.new_zeros(())
    for element in x:
        total = total * 2 + element
    return total


@program(row)
def halves(x):
    """Two halves of an even size, joined the other way round."""
    half = x.shape[0] // 2
    return torch.cat([-x[half:], x[:half]])


@program(lambda n=4, m=4: (torch.randn(n), torch.randn(m)))
def equal_by_adding(x, y):
    """Two sizes that must agree."""
    return x + y


@program(lambda n=4, m=5: (torch.randn(n, 3), torch.randn(m, 3)))
def joined(x, y):
    """Two sizes added."""
    z = torch.cat([x, y])
    return z, z.shape[0] - x.shape[0]


@program(lambda n=4, m=8: (torch.randn(n), torch.randn(m)))
def doubled(x, y):
    """One size twice the other."""
    return torch.cat([x, x]) + y


@program(lambda n=4, m=5, k=6: (torch.randn(n, m), torch.randn(m, k)))
def product(x, y):
    """A matrix product."""
    return x @ y


@program(lambda n=1, m=5: (torch.randn(n, m),))
def example_of_one(x):
    """The example's size is 1."""
    return x * 2 + x.sum(0), x.new_ones(x.shape[0])


@program(lambda n=0, m=5: (torch.randn(n, m),))
def example_of_none(x):
    """The example's size is 0."""
    return x * 2, x.new_ones(x.shape[0])


@program(lambda n=1, m=5: (torch.randn(n, m), torch.randn(4, m)))
def broadcast_example_of_one(x, y):
    """The example's size is 1 and broadcasts."""
    return x + y


@program(lambda b=2, s=7, h=8: (torch.randn(b, s, h),))
def attention_heads(x):
    """Heads split and joined."""
    b, s, h = x.shape
    q = x.view(b, s, 2, h // 2).transpose(1, 2)
    w = (q @ q.transpose(-1, -2) / math.sqrt(h // 2)).softmax(-1)
    mask = torch.full((s, s), float("-inf")).triu(1)
    return ((w + mask).softmax(-1) @ q).transpose(1, 2).reshape(b, s, h)


@program(one)
def a_float_of_many_products(x):
    """Numbers that the size makes, one out of the other."""
    total = 1.0
    for _ in range(40):
        total = total * 0.5 + x.shape[0]
    return x * total
