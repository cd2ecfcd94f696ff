"""Programs that ask tensors for their values."""

import numpy as np
import torch

from tests.programs.registry import program, variants


def one(n=4, m=5):
    """Give a matrix."""
    return (torch.randn(n, m),)


def count(n=4):
    """Give a vector and a 0-dim integer."""
    return (torch.randn(n), torch.tensor(3))


variants(
    one,
    {
        "branch_on_sum": lambda x: x * 2 if x.sum() > 0 else x * 3,
        "branch_on_any": lambda x: x * 2 if (x > 0).any() else x * 3,
        "branch_on_all": lambda x: x * 2 if (x > 0).all() else x * 3,
        "branch_on_equal": lambda x: x * 2 if torch.equal(x, x + 1) else x * 3,
        "branch_on_allclose": lambda x: x * 2 if torch.allclose(x, x + 1) else x * 3,
        "branch_on_float": lambda x: x * 2 if bool(x[0, 0]) else x * 3,
        "branch_not": lambda x: x * 2 if not x.sum() > 0 else x * 3,
        "branch_and": lambda x: x * 2 if x.sum() > 0 and x.max() < 1 else x * 3,
        "branch_in": lambda x: x * 2 if 1.0 in x else x,
        "max_of_tensors": lambda x: max(x[0, 0], x[1, 1]),
        "filter_rows": lambda x: [r for r in x[:2] if r.sum() > 0],
        "assert_value": lambda x: _asserted(x),
        "while_value": lambda x: _doubled(x),
    },
    refused="data-dependent-branch",
)


def _asserted(x):
    assert (x < 100).all()
    return x


def _doubled(x):
    while x.sum() < 100:
        x = x * 2
    return x


variants(
    one,
    {
        "branch_on_item": lambda x: x * 2 if x.sum().item() > 0 else x * 3,
        "branch_on_int_item": lambda x: x * 2 if x.argmax().item() == 3 else x * 3,
    },
    refused="data-dependent-size",
)
variants(
    one,
    {
        "range_of_value": lambda x: sum(x for _ in range(x.argmax().item())),
        "list_by_value": lambda x: [x, x * 2][x.argmax().item()],
    },
    refused="specialized-value",
)
variants(
    one,
    {
        "to_numpy": lambda x: x * x.numpy().sum(),
        "to_array": lambda x: x * np.asarray(x).sum(),
    },
)
variants(one, {"read_by_numpy": lambda x: x * float(np.median(x.numpy()))}, refused="value-read")
variants(one, {"data_pointer": lambda x: x * (x.data_ptr() % 2)}, refused="outside-read")


variants(
    one,
    {
        "item_in_arithmetic": lambda x: x * x.sum().item(),
        "item_of_int": lambda x: x + x.argmax().item() * 2 - 1,
        "item_of_bool": lambda x: x * (x.sum() > 0).item() if False else x * 1,
        "item_of_int_divided": lambda x: x * (x.argmax().item() // 2) + x.argmax().item() / 4,
        "item_in_full": lambda x: torch.full((2, 2), x.sum().item()),
        "item_in_full_int": lambda x: torch.full((2,), x.argmax().item()),
        "item_returned": lambda x: (x.argmax().item(), x.sum().item()),
        "item_expression_returned": lambda x: x.argmax().item() * 2 + 1,
        "item_in_tensor": lambda x: torch.tensor([x.argmax().item(), 2]),
        "item_float_in_tensor": lambda x: torch.tensor([x.sum().item(), 2.0]),
        "items_in_tensor": lambda x: torch.tensor([x[0, 0], x[1, 1]]),
        "tolist_of_pair": lambda x: sum(x * f for f in x[0, :2].tolist()),
        "tolist_returned": lambda x: x[:2, :2].tolist(),
        "loop_over_pair": lambda x: sum(row * i for i, row in enumerate(x[:2])),
        "unpacked_rows": lambda x: (lambda a, b: a * b)(*x[:2]),
        "nonzero_positions": lambda x: (x > 0).nonzero(),
        "nonzero_tuple": lambda x: (x > 0).nonzero(as_tuple=True),
        "nonzero_gathered": lambda x: x[(x > 0).nonzero(as_tuple=True)].sum(),
        "where_one_argument": lambda x: torch.where(x > 0)[0] * 2,
        "argwhere": lambda x: torch.argwhere(x > 0) + 1,
        "nonzero_count": lambda x: (x > 0).nonzero().shape[0] * x,
        "masked_select": lambda x: torch.masked_select(x, x > 0) * 2,
        "masked_mean": lambda x: x[x > 0].sum() / (x > 0).sum(),
        "masked_numel": lambda x: x * x[x > 0].numel(),
        "masked_then_zeros": lambda x: x.new_zeros(x[x > 0].shape) + x[x > 0],
        "masked_twice": lambda x: x[x > 0] + x[x > 0],
        "masked_sorted": lambda x: x[x > 0].sort().values,
        "masked_cat": lambda x: torch.cat([x[x > 0], x.flatten()]),
        "masked_unsqueezed": lambda x: x[x > 0][:, None] * torch.ones(3),
        "unique": lambda x: x.round().unique(),
        "unique_inverse": lambda x: torch.unique(
            x.round(), return_inverse=True, return_counts=True
        ),
        "bincount": lambda x: torch.bincount(x.argmax(1)),
        "repeat_by_tensor": lambda x: x.repeat_interleave(x.argmax(1), 0),
        "where_chosen": lambda x: torch.where(x.sum() > 0, x, -x),
        "clamped_by_tensor": lambda x: x.clamp(min=x.mean()),
        "cumulative_until": lambda x: (x.cumsum(0) < 1).sum(0),
        "index_by_argmax": lambda x: x[torch.arange(x.shape[0]), x.argmax(1)],
        "sum_compared": lambda x: (x.sum() > 0) * x,
        "float_times_flag": lambda x: x * (x.sum() > 0).float(),
    },
)


variants(
    one,
    {
        "float_of_tensor": lambda x: x * float(x.sum()),
        "int_of_tensor": lambda x: x[: int(x.argmax())],
    },
)


@program(count)
def full_of_item(x, k):
    """A size known at run time, made by `full`."""
    n = k.item()
    torch._check(n >= 0)
    return torch.full((n,), 2.0) + 1, x.sum()


@program(count)
def zeros_of_item(x, k):
    """A size known at run time, with bounds."""
    n = k.item()
    torch._check(n >= 0)
    torch._check(n <= 100)
    y = torch.zeros(n)
    return y, y.shape[0], torch.arange(n)


@program(count)
def slice_by_item(x, k):
    """A slice whose end is known at run time."""
    n = k.item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return x[:n], x[n:].sum()


@program(count)
def narrow_by_item(x, k):
    """`narrow` with a length known at run time."""
    n = k.item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return x.narrow(0, 0, n) * 2


@program(count)
def checked_item(x, k):
    """What was checked may be asked."""
    n = k.item()
    torch._check(n > 0)
    if n > 0:
        return x * n
    return x


@program(count)
def item_compared_in_tensor(x, k):
    """A comparison of numbers known at run time, used as a number."""
    return x * (k.item() + 1), torch.tensor(k.item() * 2)


@program(count)
def item_used_twice(x, k):
    """Two items of one tensor."""
    return x * k.item() + k.item(), k.item() - k.item()


@program(lambda n=4: (torch.randn(n), torch.tensor(2.5), torch.tensor(True)))
def items_of_kinds(x, f, b):
    """Items of a float and a bool."""
    return x * f.item(), f.item() + 1, x * b, f.item() * 2 > 3 if False else 0


@program(lambda n=4: (torch.randn(n), torch.tensor([2, 1])))
def split_by_values(x, lengths):
    """Sizes from a tensor's list."""
    a, b = lengths.tolist()
    torch._check(a >= 0)
    torch._check(b >= 0)
    return torch.zeros(a), torch.ones(b), torch.zeros(a + b)


@program(lambda n=4: (torch.randn(n, 4), torch.tensor([4, 2])))
def item_found_equal_to_a_size(x, lengths):
    """A value that a later operator fixes is compared after it is known."""
    n = lengths.max().item()
    mask = torch.arange(n) < lengths[:, None]
    return x[:2] * mask


def routed(n=6):
    """Give rows, and for each the two of twelve experts that it goes to."""
    return torch.randn(n, 4), torch.randn(n, 12).topk(2).indices


@program(routed)
def mixture_of_experts(x, chosen):
    """Rows in the order of their experts, a slice for each, put back where they were."""
    places = chosen.view(-1).argsort()
    rows = x[places // 2]
    start, made = 0, []
    counts = x.new_zeros(chosen.shape[0], 12).scatter(1, chosen, 1).sum(0).long()
    for at, count in enumerate(counts.tolist()):
        made.append(rows[start : start + count] * (at + 1) + count)
        start += count
    made = torch.cat(made)
    result = torch.empty_like(made)
    result[places] = made
    return result.view(x.shape[0], 2, 4).sum(1)


@program(lambda n=9: (torch.randn(n, 4), torch.randn(n), torch.tensor([2, 5])))
def one_slice_of_two(x, weights, bounds):
    """A slice of each, by the same numbers out of data, and what is around it."""
    start, end = bounds.tolist()
    rows = x[start:end] * weights[start:end, None]
    return rows, x[start:end].shape[0] + 1, torch.cat([x[:start], x[start:end], x[end:]])
