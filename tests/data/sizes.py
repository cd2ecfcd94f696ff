"""Sizes that depend on data, in views, slices and factories, without any check."""

import torch
from torch.nn import functional as F

from tests.data.registry import (
    any_integer,
    count,
    data,
    matrix_and_count,
    variants,
    vector_and_count,
)

variants(
    any_integer,
    {
        "slice_end": lambda x, n: x[: n.item()],
        "slice_begin": lambda x, n: x[n.item() :],
        "slice_both": lambda x, n: x[n.item() : n.item() + 2],
        "slice_negative": lambda x, n: x[-n.item() :],
        "slice_by_tensor": lambda x, n: x[:n],
        "slice_by_int": lambda x, n: x[: int(n)],
        "slice_halves": lambda x, n: (x[: n.item()].sum(), x[n.item() :].sum()),
        "slice_step": lambda x, n: x[: n.item() : 2],
        "slice_shape": lambda x, n: x[: n.item()].shape[0],
        "slice_then_cat": lambda x, n: torch.cat([x[n.item() :], x[: n.item()]]),
        "slice_write": lambda x, n: _cleared(x, n.item()),
        "slice_write_tensor": lambda x, n: _cleared(x, n),
        "slice_of_columns": lambda x, n: x.view(2, 4)[:, : n.item()],
        "slice_last": lambda x, n: x.view(2, 4)[..., n.item() :],
        "slice_of_slice": lambda x, n: x[: n.item()][1:],
        "slice_broadcast": lambda x, n: x[: n.item()] * 2 + torch.tensor(1.0),
        "slice_sum_dim": lambda x, n: x.view(2, 4)[:, : n.item()].sum(1),
    },
)


def _cleared(x, n):
    y = x.clone()
    y[:n] = 0
    return y


variants(
    vector_and_count,
    {
        "zeros": lambda x, n: torch.zeros(n.item()),
        "zeros_of_int": lambda x, n: torch.zeros(int(n), 2),
        "zeros_of_tensor": lambda x, n: torch.zeros(n),
        "ones": lambda x, n: torch.ones(2, n.item()) * 3,
        "full": lambda x, n: torch.full((n.item(),), 2.5),
        "empty_filled": lambda x, n: torch.empty(n.item()).fill_(1.0),
        "eye": lambda x, n: torch.eye(n.item()),
        "eye_wide": lambda x, n: torch.eye(n.item(), 3),
        "arange": lambda x, n: torch.arange(n.item()),
        "arange_of_tensor": lambda x, n: torch.arange(n),
        "arange_of_int": lambda x, n: torch.arange(int(n)),
        "arange_from": lambda x, n: torch.arange(n.item(), 10),
        "arange_between": lambda x, n: torch.arange(n.item(), n.item() + 3),
        "arange_step": lambda x, n: torch.arange(0, n.item(), 2),
        "arange_gathers": lambda x, n: x[torch.arange(n.item())],
        "arange_below": lambda x, n: torch.arange(8) < n.item(),
        "linspace_to": lambda x, n: torch.linspace(0, n.item(), 5),
        "new_zeros": lambda x, n: x.new_zeros(n.item(), 2),
        "new_full": lambda x, n: x.new_full((n.item(),), 1.0),
        "rand_like_shape": lambda x, n: torch.zeros(n.item()).shape[0] + x,
        "narrow": lambda x, n: x.narrow(0, 0, n.item()),
        "narrow_from": lambda x, n: x.narrow(0, n.item(), 8 - n.item()),
        "narrow_from_small_tensor": lambda x, n: x.narrow(0, n.clamp(max=6).to(torch.int32), 2),
        "narrow_from_tensor": lambda x, n: x.narrow(0, n.clamp(max=6), 2),
        "expand": lambda x, n: x.expand(n.item(), 8),
        "expand_one": lambda x, n: x[:, None].expand(8, n.item()),
        "repeat": lambda x, n: x.repeat(n.item()),
        "repeat_rows": lambda x, n: x.unsqueeze(0).repeat(n.item(), 1) + n.item(),
        "tile": lambda x, n: x.tile(n.item()),
        "repeat_interleave_int": lambda x, n: x.repeat_interleave(n.item()),
        "broadcast_to": lambda x, n: torch.broadcast_to(x, (n.item(), 8)),
        "pad_end": lambda x, n: F.pad(x, (0, n.item())),
        "pad_both": lambda x, n: F.pad(x[None], (n.item(), 1), value=2.0),
        "pad_to_length": lambda x, n: F.pad(x[: n.item()], (0, 8 - n.item())),
        "view_of_zeros": lambda x, n: torch.zeros(n.item() * 2).view(n.item(), 2),
        "view_inferred": lambda x, n: torch.zeros(n.item() * 2).view(-1, 2),
        "reshape_inferred": lambda x, n: torch.zeros(n.item(), 4).reshape(-1),
        "reshape_transposed": lambda x, n: torch.zeros(n.item(), 4).t().reshape(4, n.item()),
        "reshape_exact": lambda x, n: torch.zeros(n.item(), 4).reshape(n.item() * 2, 2),
        "flatten": lambda x, n: torch.zeros(2, n.item(), 4).flatten(1),
        "unflatten": lambda x, n: torch.zeros(n.item() * 2).unflatten(0, (-1, 2)),
        "matmul": lambda x, n: torch.ones(3, n.item()) @ torch.ones(n.item(), 2),
        "outer": lambda x, n: torch.outer(x, torch.arange(n.item())),
        "cat_two": lambda x, n: torch.cat([torch.zeros(n.item()), torch.ones(8 - n.item())]),
        "stack_two": lambda x, n: torch.stack([torch.zeros(n.item()), torch.arange(n.item())]),
        "sum_of_sizes": lambda x, n: torch.zeros(n.item() + 2).shape[0] * x,
        "numel_of": lambda x, n: torch.zeros(n.item(), 3).numel() * x,
        "tril_mask": lambda x, n: torch.ones(n.item(), n.item()).tril().sum(0),
        "triu_by": lambda x, n: torch.ones(4, 4).triu(n.item()),
        "transposed": lambda x, n: torch.zeros(n.item(), 2).t().contiguous(),
        "permuted": lambda x, n: torch.zeros(2, n.item(), 3).permute(1, 2, 0).contiguous(),
        "mean_of_none": lambda x, n: torch.zeros(n.item()).mean(),
        "cumsum": lambda x, n: torch.ones(n.item()).cumsum(0),
        "sort": lambda x, n: x[: n.item()].sort(),
        "topk": lambda x, n: x.topk(n.item()),
        "topk_of_int": lambda x, n: x.topk(int(n)).values,
        "topk_indices": lambda x, n: x[x.topk(n.item()).indices],
        "split_in_two": lambda x, n: x.split([n.item(), 8 - n.item()]),
        "split_with_sizes": lambda x, n: torch.split(x, [int(n), 8 - int(n)])[1] * 2,
        "as_strided": lambda x, n: x.as_strided((n.item(),), (1,)),
        "unfold_some": lambda x, n: torch.zeros(n.item() + 3).unfold(0, 3, 1),
        "interpolate": lambda x, n: F.interpolate(x[None, None], size=n.item() + 1),
        "avg_pool": lambda x, n: F.avg_pool1d(torch.ones(1, 1, n.item() + 4), 2),
        "conv": lambda x, n: F.conv1d(torch.ones(1, 1, n.item() + 4), torch.ones(1, 1, 3)),
        "softmax": lambda x, n: torch.zeros(2, n.item()).softmax(-1),
        "mask_of_length": lambda x, n: x * (torch.arange(8) < n),
        "masked_fill_from": lambda x, n: x.masked_fill(torch.arange(8) >= n.item(), float("-inf")),
        "meshgrid": lambda x, n: torch.meshgrid(torch.arange(n.item()) * 0.5, x, indexing="ij"),
        "movedim": lambda x, n: torch.zeros(2, n.item(), 3).movedim(1, 0) + 1,
        "squeeze": lambda x, n: torch.zeros(1, n.item() + 2, 3).squeeze(0),
        "roll": lambda x, n: torch.arange(n.item()).roll(1),
        "flip": lambda x, n: torch.arange(n.item()).flip(0),
        "gather_up_to": lambda x, n: x.gather(0, torch.arange(n.item())),
        "index_add_up_to": lambda x, n: x.index_add(0, torch.arange(n.item()), x[: n.item()]),
        "scatter_up_to": lambda x, n: x.scatter(0, torch.arange(n.item()), 0.0),
        "embedding_up_to": lambda x, n: F.embedding(torch.arange(n.item()), x[:, None]),
        "equal_sizes": lambda x, n: torch.zeros(n.item()) + torch.ones(n.item()),
        "binary_with_slice": lambda x, n: torch.zeros(n.item()) + x[: n.item()],
        "tensor_of_shape": lambda x, n: torch.tensor(torch.zeros(n.item(), 2).shape),
    },
)
variants(
    vector_and_count,
    {
        "diagonal_by": lambda x, n: torch.ones(4, 9).diagonal(n.item()),
        "one_hot_classes": lambda x, n: F.one_hot(torch.arange(8) % 2, n.item() + 2),
    },
)
variants(
    matrix_and_count,
    {
        "rows_first": lambda x, n: x[: n.item()] @ x.t(),
        "rows_after": lambda x, n: x[n.item() :].softmax(1),
        "rows_written_up_to": lambda x, n: _rows_written(x, n.item()),
        "rows_replaced": lambda x, n: torch.cat([x[: n.item()], torch.zeros(6 - n.item(), 4)]),
        "rows_of_two": lambda x, n: (x[: n.item()].sum(0), x[n.item() :].sum(0)),
        "attention_up_to": lambda x, n: _attention(x[: n.item()]),
        "column_of_count": lambda x, n: x[:, n.item() % 4],
        "select_last": lambda x, n: x[: n.item() + 1][-1] if False else x[n.item() - 1],
    },
)


def _rows_written(x, n):
    y = x.clone()
    y[:n] *= 2
    y[n:, 0] = 7
    return y


def _attention(x):
    return F.scaled_dot_product_attention(x[None], x[None], x[None])[0]


def _two_counts(k):
    """Give x: [8] and two numbers with at most 8 in sum."""
    first = count(k, 4)
    return torch.randn(8), torch.tensor([first, count(k, 4)] if k else [2, 3])


variants(
    _two_counts,
    {
        "two_zeros": lambda x, n: torch.zeros(*n.tolist()),
        "window": lambda x, n: x[n[0].item() : n[0].item() + n[1].item()],
        "window_of_ints": lambda x, n: x[int(n[0]) : int(n[0]) + int(n[1])],
        "narrow_window": lambda x, n: x.narrow(0, int(n[0]), int(n[1])),
        "zeros_of_product": lambda x, n: torch.zeros(n[0].item() * n[1].item()),
        "view_of_two": lambda x, n: _viewed(*n.tolist()),
        "cat_of_two": lambda x, n: torch.cat([torch.zeros(n[0].item()), torch.ones(n[1].item())]),
        "crop": lambda x, n: torch.arange(64).view(8, 8)[: n[0].item(), : n[1].item()],
        "greater_of_two": lambda x, n: torch.zeros(torch.sym_max(n[0].item(), n[1].item())),
        "grid": lambda x, n: torch.arange(n[0].item())[:, None] + torch.arange(n[1].item()),
    },
)


def _viewed(a, b):
    return torch.zeros(a * b).view(a, b)


@data(vector_and_count)
def max_in_python(x, n):
    """Python's max of a number and a constant."""
    return x[: max(n.item(), 1)]


@data(vector_and_count)
def min_in_python(x, n):
    """Python's min of a number and a size."""
    return x[: min(int(n), x.shape[0])]
