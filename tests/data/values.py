"""Numbers read out of tensors: `item()`, `int`, `float`, `tolist`, unpacking."""

import torch

from tests.data.registry import (
    any_integer,
    count,
    data,
    integers,
    rows_and_mask,
    variants,
    vector_and_count,
)

variants(
    any_integer,
    {
        "item_scales": lambda x, n: x * n.item() + 1,
        "item_twice": lambda x, n: x * n.item() - n.item(),
        "int_of_a_tensor": lambda x, n: x * int(n),
        "float_of_a_tensor": lambda x, n: x * float(n),
        "float_of_an_item": lambda x, n: x * float(n.item()),
        "int_of_a_float_tensor": lambda x, n: x * int(x.sum()),
        "float_item": lambda x, n: x / (x.sum().item() ** 2 + 1.0),
        "bool_item_scales": lambda x, n: x * (n > 0).item(),
        "bool_item_returned": lambda x, n: ((n > 0).item(), (x > 0).all().item()),
        "number_returned": lambda x, n: (n.item(), n.item() * 2 + 1, n.item() // 3, n.item() % 4),
        "int_returned": lambda x, n: int(n) + 1,
        "float_returned": lambda x, n: (float(n) / 2, float(x[0])),
        "true_division": lambda x, n: x * (n.item() / 4),
        "negated": lambda x, n: x * -n.item() + abs(n.item()),
        "power": lambda x, n: x * n.item() ** 2,
        "minimum": lambda x, n: x * min(n.item(), 3) if False else x * torch.sym_min(n.item(), 3),
        "compared_as_number": lambda x, n: x * (n.item() > 2),
        "into_tensor": lambda x, n: torch.tensor([n.item(), n.item() + 1, 3]),
        "into_full": lambda x, n: torch.full((2, 3), n.item()),
        "into_fill": lambda x, n: x.clone().fill_(n.item()),
        "into_clamp": lambda x, n: x.clamp(min=n.item()),
        "into_where": lambda x, n: torch.where(x > n.item(), x, n.item()),
        "into_masked_fill": lambda x, n: x.masked_fill(x > 0, n.item()),
        "into_add_alpha": lambda x, n: torch.add(x, x, alpha=n.item()),
        "into_pow": lambda x, n: x.abs().pow(n.item()),
        "into_roll": lambda x, n: x.roll(n.item(), 0),
        "into_eq": lambda x, n: (torch.arange(8) == n.item(), torch.arange(8) < n.item()),
        "index_by_item": lambda x, n: x[n.item() % 8],
        "index_by_tensor": lambda x, n: x[n % 8],
        "select_by_item": lambda x, n: x.view(4, 2).select(0, n.item() % 4),
    },
)
variants(
    any_integer,
    {
        "index_signed": lambda x, n: x[n.item()],
        "index_signed_tensor": lambda x, n: x[n],
        "index_signed_int": lambda x, n: x[int(n)],
        "index_then_write": lambda x, n: _written_at(x, n.item()),
        "index_write_tensor": lambda x, n: _written_at(x, n),
        "index_column": lambda x, n: x.view(4, 2)[:, n.item()],
        "take_signed": lambda x, n: x.take(n),
        "index_plus_one": lambda x, n: x[n.item() + 1] - x[n.item()],
    },
)


def _written_at(x, n):
    y = x.clone()
    y[n] = 5.0
    return y


def _listed(k):
    """Give x: [8] and three counts."""
    return torch.randn(8), torch.tensor([count(k, 3) for _ in range(3)])


variants(
    _listed,
    {
        "tolist_sum": lambda x, n: x * sum(n.tolist()),
        "tolist_returned": lambda x, n: (n.tolist(), x[:2].tolist()),
        "tolist_nested": lambda x, n: torch.stack([n, n]).tolist(),
        "unbind_items": lambda x, n: [x * each.item() for each in n.unbind()],
        "unpacked": lambda x, n: _product(x, *n),
        "unpacked_list": lambda x, n: _product(x, *n.tolist()),
        "loop_over_values": lambda x, n: sum(x * int(each) for each in n),
        "comprehension": lambda x, n: [int(each) + 1 for each in n],
        "comprehension_of_slices": lambda x, n: [x[: int(each)].sum() for each in n],
        "zipped": lambda x, n: [x[i] * each for i, each in enumerate(n.tolist())],
        "mapped": lambda x, n: list(map(int, n)),
        "sized_views": lambda x, n: [x[i:j] for i, j in zip([0, 1, 2], n.tolist(), strict=True)],
        "zeros_of_list": lambda x, n: torch.zeros(n.tolist()),
        "dict_of_counts": lambda x, n: dict(zip("abc", n.tolist(), strict=True)),
        "cumulated": lambda x, n: x[: n.cumsum(0)[-1].item()],
        "offsets": lambda x, n: _between(x, n.cumsum(0).tolist()),
    },
)


def _product(x, a, b, c):
    return x * a * b * c


def _between(x, offsets):
    starts = [0, *offsets[:-1]]
    return [x[i:j].sum() for i, j in zip(starts, offsets, strict=True)]


@data(integers)
def table_up_to_the_greatest(x):
    """A table as long as the greatest value."""
    return torch.arange(int(x.max()) + 1)


@data(integers)
def counts_by_scatter(x):
    """A histogram as long as the greatest value."""
    n = int(x.max()) + 1
    return torch.zeros(n, dtype=torch.int64).scatter_add_(0, x, torch.ones_like(x))


@data(integers)
def one_hot_of_values(x):
    """One column for each value up to the greatest."""
    return torch.nn.functional.one_hot(x).sum(0)


@data(rows_and_mask)
def mean_of_selected(x, m):
    """A mean by a count read out."""
    n = m.sum().item()
    return (x * m[:, None]).sum(0) / (n + 1)


@data(vector_and_count)
def bool_of_a_count(x, n):
    """A bool as a number."""
    return x * bool(1) + x * (n == 0)


@data(vector_and_count)
def formatted_later(x, n):
    """A number kept in a container until it is returned."""
    kept = {"n": n.item(), "twice": [n.item() * 2]}
    return x + kept["n"], kept


@data(vector_and_count)
def item_into_buffer_write(x, n):
    """A number written to a position of a new tensor."""
    y = torch.zeros(3)
    y[0] = n.item()
    y[1:] = n
    return y
