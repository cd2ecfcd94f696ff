"""Where something holds: nonzero, masks, unique, counting."""

import torch
from torch.nn import functional as F

from tests.data.registry import (
    NOTHING,
    count,
    data,
    integers,
    mask,
    matrix_and_count,
    matrix_and_mask,
    rows_and_mask,
    variants,
)

variants(
    matrix_and_mask,
    {
        "nonzero": lambda x, m: m.nonzero(),
        "nonzero_tuple": lambda x, m: m.nonzero(as_tuple=True),
        "nonzero_gathered": lambda x, m: x[m.nonzero(as_tuple=True)] * 2,
        "nonzero_unpacked": lambda x, m: _pairs(x, m),
        "nonzero_column": lambda x, m: x[m.nonzero()[:, 0]],
        "nonzero_transposed": lambda x, m: m.nonzero().t() + 1,
        "nonzero_unbind": lambda x, m: m.nonzero().unbind(1),
        "nonzero_shape": lambda x, m: (m.nonzero().shape[0], m.nonzero().numel()),
        "nonzero_split": lambda x, m: m.nonzero().split(1, 1),
        "argwhere": lambda x, m: torch.argwhere(x > 0) * 2,
        "where_alone": lambda x, m: torch.where(m),
        "where_gathered": lambda x, m: x[torch.where(m)].sum(),
        "masked": lambda x, m: x[m],
        "masked_select": lambda x, m: torch.masked_select(x, m) + 1,
        "masked_sum": lambda x, m: (x[m].sum(), x[m].numel(), len(x[m])),
        "masked_mean": lambda x, m: x[m].mean(),
        "masked_sorted": lambda x, m: x[m].sort(descending=True),
        "masked_softmax": lambda x, m: x[m].softmax(0),
        "masked_norm": lambda x, m: x[m].norm(),
        "masked_cat": lambda x, m: torch.cat([x[m], x[~m], x.flatten()]),
        "masked_stack": lambda x, m: torch.stack([x[m], x[m] * 2]),
        "masked_outer": lambda x, m: x[m][:, None] * x[m][None],
        "masked_pairwise": lambda x, m: (x[m][:, None] - x[~m][None]).abs(),
        "masked_reshape": lambda x, m: x[m].reshape(-1, 1),
        "masked_view": lambda x, m: x[m].view(1, -1),
        "masked_expand": lambda x, m: x[m].unsqueeze(1).expand(-1, 3),
        "masked_repeat": lambda x, m: x[m].repeat(2),
        "masked_flip": lambda x, m: x[m].flip(0),
        "masked_cumsum": lambda x, m: x[m].cumsum(0),
        "masked_pad": lambda x, m: F.pad(x[m], (1, 2)),
        "masked_like": lambda x, m: torch.zeros_like(x[m]) + torch.ones_like(x[m]),
        "masked_where": lambda x, m: torch.where(x[m] > 0, x[m], 0.0),
        "masked_twice": lambda x, m: x[m][x[m] > 0],
        "masked_compare": lambda x, m: (x[m] == x[m]).all(),
        "masked_arange": lambda x, m: torch.arange(x[m].shape[0]) + x[m],
        "masked_eye": lambda x, m: torch.eye(x[m].shape[0]),
        "masked_linear": lambda x, m: F.linear(x[m][:, None], torch.ones(3, 1)),
        "masked_dot": lambda x, m: x[m] @ x[m],
        "masked_gradient_path": lambda x, m: (x[m] ** 2).sum() / x.shape[0],
        "masked_any": lambda x, m: (x[m].any(), (x[m] > 0).sum()),
        "masked_chunk_by_one": lambda x, m: x[m][:1],
        "masked_tail": lambda x, m: (x[m][1:], x[m][:-1], x[m][-2:], x[m][::2]),
        "masked_contiguous": lambda x, m: x[m].contiguous().is_contiguous(),
        "masked_to": lambda x, m: x[m].to(torch.float64).long(),
        "masked_squeeze": lambda x, m: x[m][None].squeeze(0),
        "masked_flatten": lambda x, m: x[m].unsqueeze(1).flatten(),
        "masked_count_scales": lambda x, m: x * x[m].shape[0],
        "masked_write": lambda x, m: _write(x, m, 0.0),
        "masked_write_own": lambda x, m: _write(x, m, x[m] * 2),
        "masked_write_add": lambda x, m: _add_to(x, m),
        "masked_write_tensor": lambda x, m: _write(x, m, torch.tensor(3.0)),
        "masked_fill_in_place": lambda x, m: x.clone().masked_fill_(m, 7.0),
        "masked_scatter": lambda x, m: x.masked_scatter(m, torch.arange(20.0)),
        "masked_select_then_scatter": lambda x, m: torch.zeros_like(x).masked_scatter(m, x[m]),
        "index_put_accumulated": lambda x, m: _accumulated(x, m),
    },
)


def _pairs(x, m):
    rows, columns = m.nonzero(as_tuple=True)
    return x[rows, columns] + rows - columns


def _write(x, m, value):
    y = x.clone()
    y[m] = value
    return y


def _add_to(x, m):
    y = x.clone()
    y[m] += 1
    return y


def _accumulated(x, m):
    rows, _ = m.nonzero(as_tuple=True)
    return torch.zeros(4).index_put_((rows,), x[m], accumulate=True)


variants(
    rows_and_mask,
    {
        "rows": lambda x, m: x[m],
        "rows_columns": lambda x, m: (x[m, 0], x[m, 1:], x[m][:, 2]),
        "rows_mean": lambda x, m: x[m].mean(0),
        "rows_max_of_columns": lambda x, m: x[m].amax(1),
        "rows_matmul": lambda x, m: x[m] @ torch.ones(4, 3),
        "rows_transposed_matmul": lambda x, m: x[m].t() @ x[m],
        "rows_normalised": lambda x, m: F.layer_norm(x[m], (4,)),
        "rows_similarity": lambda x, m: x[m] @ x.t(),
        "rows_reshaped": lambda x, m: x[m].reshape(-1, 2, 2).transpose(1, 2),
        "rows_viewed": lambda x, m: x[m].view(-1, 2),
        "rows_flattened": lambda x, m: x[m].flatten(),
        "rows_unflattened": lambda x, m: x[m].unflatten(1, (2, 2)),
        "rows_permuted": lambda x, m: x[m].t().contiguous(),
        "rows_stacked": lambda x, m: torch.stack([x[m], x[m]], 1),
        "rows_broadcast": lambda x, m: x[m] + x[0] + x[m][:, :1],
        "rows_written": lambda x, m: _write(x, m, 1.5),
        "rows_written_row": lambda x, m: _write(x, m, torch.arange(4.0)),
        "rows_written_own": lambda x, m: _write(x, m, x[m].softmax(1)),
        "rows_written_part": lambda x, m: _write_part(x, m),
        "rows_index_add": lambda x, m: torch.zeros(6, 4).index_add_(0, m.nonzero()[:, 0], x[m]),
        "rows_index_copy": lambda x, m: x.index_copy(0, m.nonzero()[:, 0], x[m] * 2),
        "rows_index_select": lambda x, m: x.index_select(0, m.nonzero().squeeze(1)),
        "rows_of_two_masks": lambda x, m: torch.cat([x[m], x[~m]]),
        "rows_gathered": lambda x, m: x[m].gather(1, torch.zeros_like(x[m], dtype=torch.int64)),
        "rows_loss": lambda x, m: F.mse_loss(x[m], x[m] * 2, reduction="sum"),
        "rows_cross_entropy": lambda x, m: F.cross_entropy(x[m], x[m].argmax(1), reduction="sum"),
        "rows_einsum": lambda x, m: torch.einsum("nd,md->nm", x[m], x),
        "rows_batched": lambda x, m: torch.bmm(x[m][:, None], x[m][:, :, None]),
        "rows_cdist": lambda x, m: torch.cdist(x[m], x),
        "rows_dropout": lambda x, m: F.dropout(x[m], 0.5, False),
        "rows_embedding": lambda x, m: F.embedding(m.nonzero()[:, 0], x),
        "rows_padded_back": lambda x, m: F.pad(x[m], (0, 0, 0, 6 - int(m.sum()))),
        "rows_zeros_of_rest": lambda x, m: torch.cat([x[m], x.new_zeros(6 - x[m].shape[0], 4)]),
        "rows_sorted_by": lambda x, m: x[m][x[m][:, 0].argsort()],
        "rows_split_in_columns": lambda x, m: x[m].chunk(2, 1),
        "rows_unbind_columns": lambda x, m: x[m].unbind(1),
        "rows_conv": lambda x, m: F.conv1d(x[m][:, None], torch.ones(2, 1, 3)),
        "rows_std": lambda x, m: x[m].std(1),
        "rows_roll": lambda x, m: x[m].roll(1, 1),
        "rows_triu": lambda x, m: (x[m] @ x[m].t()).triu(),
        "rows_diagonal": lambda x, m: (x[m] @ x[m].t()).diagonal(),
        "rows_cumsum_of_mask": lambda x, m: m.long().cumsum(0)[m],
        "rows_bool_and": lambda x, m: x[m & (x[:, 0] > 0)],
    },
)


def _write_part(x, m):
    y = x.clone()
    y[m, 1:3] = 0.0
    y[m, 0] *= 2
    return y


variants(
    integers,
    {
        "unique": lambda x: x.unique(),
        "unique_all": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        "unique_counting": lambda x: _count_of_each(x),
        "unique_consecutive": lambda x: torch.unique_consecutive(
            x, return_inverse=True, return_counts=True
        ),
        "unique_rows": lambda x: x.view(6, 2).unique(dim=0),
        "unique_rows_all": lambda x: x.view(6, 2).unique(
            dim=0, return_inverse=True, return_counts=True
        ),
        "unique_number": lambda x: (x.unique().numel(), x * len(x.unique())),
        "unique_mean_by_group": lambda x: _mean_by_group(x),
        "unique_most_common": lambda x: _most_common(x),
        "bincount": lambda x: torch.bincount(x),
        "bincount_least": lambda x: torch.bincount(x, minlength=4),
        "bincount_enough": lambda x: torch.bincount(x, minlength=6)[:6],
        "bincount_weights": lambda x: torch.bincount(x, x * 0.5),
        "bincount_cumsum": lambda x: torch.bincount(x).cumsum(0),
        "bincount_nonzero": lambda x: torch.bincount(x).nonzero().flatten(),
        "bincount_argmax": lambda x: torch.bincount(x).argmax(),
        "repeat_each": lambda x: torch.arange(12).repeat_interleave(x),
        "repeat_rows_each": lambda x: torch.ones(12, 2).repeat_interleave(x, 0),
        "repeat_alone": lambda x: torch.repeat_interleave(x),
        "repeat_sized": lambda x: torch.arange(12).repeat_interleave(x, output_size=x.sum().item()),
        "sort_and_cut": lambda x: x.sort().values[: int((x > 2).sum())],
        "searched": lambda x: torch.searchsorted(x.unique(), x),
        "nonzero_of_equal": lambda x: (x == 3).nonzero().flatten(),
        "first_position": lambda x: (x == x[0]).nonzero()[0],
        "last_position": lambda x: (x == x[0]).nonzero()[-1, 0],
        "combinations_of_unique": lambda x: torch.combinations(x.unique()),
        "meshgrid_of_unique": lambda x: torch.meshgrid(x.unique(), x.unique(), indexing="ij"),
        "isin_unique": lambda x: torch.isin(x, x[x > 2].unique()),
    },
)

variants(
    integers,
    {
        "histogram": lambda x: torch.histc(x.float(), int(x.max()) + 1),
        "tril_of_count": lambda x: torch.tril_indices(int(x[0]), int(x[0])),
    },
)


def _count_of_each(x):
    values, counts = x.unique(return_counts=True)
    return torch.stack([values, counts], 1), (counts > 1).sum()


def _mean_by_group(x):
    values, inverse = x.unique(return_inverse=True)
    sums = torch.zeros(values.shape[0]).scatter_add_(0, inverse, x * 0.5)
    counts = torch.zeros(len(values)).index_add_(0, inverse, torch.ones(12))
    return sums / counts


def _most_common(x):
    values, counts = x.unique(return_counts=True)
    return values[counts.argmax()], counts.max().item()


def _sizes(k):
    """Give x: [n, 3] and lengths that sum to n."""
    lengths = [count(k, 4) for _ in range(3)] if k else [3, 1, 2]
    return torch.randn(sum(lengths), 3), torch.tensor(lengths)


def _varying(dim):
    """Rows of x vary, down to none."""
    return {"x": [dim("n", min=0), None], "lengths": None}


variants(
    _sizes,
    {
        "split_by_lengths": lambda x, lengths: [part.sum(0) for part in x.split(lengths.tolist())],
        "split_padded": lambda x, lengths: _padded(x, lengths),
        "split_to_pad_sequence": lambda x, lengths: torch.nn.utils.rnn.pad_sequence(
            x.split(lengths.tolist()), batch_first=True
        ),
        "tensor_split_by": lambda x, lengths: x.tensor_split(lengths.cumsum(0)[:-1]),
        "segments_by_repeat": lambda x, lengths: _segments(x, lengths),
        "ragged_mask": lambda x, lengths: torch.arange(lengths.max().item()) < lengths[:, None],
        "packed_by_mask": lambda x, lengths: _packed(x, lengths),
    },
    shapes=_varying,
)


def _padded(x, lengths):
    longest = int(lengths.max())
    parts = x.split(lengths.tolist())
    return torch.stack([F.pad(part, (0, 0, 0, longest - part.shape[0])) for part in parts])


def _segments(x, lengths):
    ids = torch.repeat_interleave(torch.arange(3), lengths, output_size=x.shape[0])
    return torch.zeros(3, 3).index_add_(0, ids, x)


def _packed(x, lengths):
    there = torch.arange(int(lengths.max())) < lengths[:, None]
    out = x.new_zeros(3, int(lengths.max()), 3)
    out[there] = x
    return out


def _written_if(x, n):
    y = x.clone()
    y[n.item() > 2] = 5.0
    return y


variants(
    matrix_and_count,
    {
        "index_by_truth": lambda x, n: x[n.item() > 2],
        "index_by_truth_in_a_dimension": lambda x, n: x[1, n.item() > 2, :2],
        "index_by_truth_written": _written_if,
    },
)


def _varying_rows(k):
    """Give rows that vary, and a mask of them."""
    n = 6 if k == 0 else 0 if k == NOTHING else int(torch.randint(0, 9, ()))
    return torch.randn(n, 4), mask(k, n)


def _both_vary(dim):
    n = dim("n", min=0)
    return {"x": [n, None], "m": [n]}


variants(
    _varying_rows,
    {
        "varying_rows": lambda x, m: x[m],
        "varying_rows_sum": lambda x, m: x[m].sum(0) / (m.sum() + 1),
        "varying_rows_written": lambda x, m: _write(x, m, 0.0),
        "varying_rows_back": lambda x, m: torch.zeros_like(x).index_add_(
            0, m.nonzero()[:, 0], x[m]
        ),
        "varying_rows_of_rest": lambda x, m: torch.cat([x[m], x.new_zeros(len(x) - len(x[m]), 4)]),
        "varying_rows_cut": lambda x, m: x[: m.sum().item()],
        "varying_rows_order": lambda x, m: x[torch.cat([m.nonzero()[:, 0], (~m).nonzero()[:, 0]])],
    },
    shapes=_both_vary,
)


@data(rows_and_mask)
class Counted(torch.nn.Module):
    """A buffer that counts what was chosen."""

    def __init__(self):
        super().__init__()
        self.register_buffer("chosen", torch.zeros((), dtype=torch.int64))

    def forward(self, x, m):
        """Count."""
        self.chosen += x[m].shape[0]
        return x[m] * self.chosen
