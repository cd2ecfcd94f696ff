"""Programs that read and write parts of tensors."""

import numpy as np
import torch

from monograph.diagnostics import MonographError
from tests.programs.registry import program, variants


def one(n=4, m=5):
    """Give a matrix."""
    return (torch.randn(n, m),)


def cube(n=4, m=5, k=6):
    """Give a tensor of three dimensions."""
    return (torch.randn(n, m, k),)


def with_position(n=4, m=5):
    """Give a matrix and a 0-dim index that fits any of its sizes but 0."""
    return (torch.randn(n, m), torch.tensor(0))


variants(
    one,
    {
        "last": lambda x: x[-1],
        "first_column": lambda x: x[:, 0],
        "last_by_size": lambda x: x[x.shape[0] - 1],
        "half": lambda x: x[: x.shape[0] // 2],
        "second_half": lambda x: x[x.shape[0] // 2 :],
        "middle": lambda x: x[1:-1],
        "beyond": lambda x: x[:100],
        "from_beyond": lambda x: x[100:],
        "from_the_end": lambda x: x[-3:],
        "up_to_the_end": lambda x: x[:-2],
        "empty_slice": lambda x: x[3:1],
        "every_second": lambda x: x[::2],
        "every_third_from_one": lambda x: x[1::3],
        "step_by_size": lambda x: x[:: x.shape[1]],
        "newaxis": lambda x: x[None],
        "newaxis_between": lambda x: x[:, None],
        "newaxis_at_end": lambda x: x[..., None],
        "everything": lambda x: x[...],
        "everything_sliced": lambda x: x[:],
        "empty_tuple": lambda x: x[()],
        "dots_then_int": lambda x: x[..., 1],
        "int_then_dots": lambda x: x[1, ...],
        "both_ints": lambda x: x[1, 2],
        "list_of_rows": lambda x: x[[0, 2]],
        "list_negative": lambda x: x[[-1, 0, -1]],
        "empty_list": lambda x: x[[]],
        "two_lists": lambda x: x[[0, 1], [1, 2]],
        "list_of_bools": lambda x: x[:2][[True, False]],
        "nested_list": lambda x: x[[[0, 1], [1, 0]]],
        "tuple_in_tuple": lambda x: x[(0, 1), :],
        "range_index": lambda x: x[range(2)],
        "numpy_index": lambda x: x[np.array([0, 1])],
        "numpy_scalar": lambda x: x[np.int64(1)],
        "numpy_mask": lambda x: x[:2][np.array([True, False])],
        "index_tensor": lambda x: x[torch.tensor([0, 1])],
        "index_tensor_2d": lambda x: x[torch.tensor([[0, 1], [1, 1]])],
        "index_tensor_column": lambda x: x[:, torch.tensor([0, 1])],
        "index_tensor_int32": lambda x: x[torch.tensor([0, 1], dtype=torch.int32)],
        "index_tensors_broadcast": lambda x: x[torch.tensor([[0], [1]]), torch.tensor([0, 1])],
        "index_by_arange": lambda x: x[torch.arange(x.shape[0])],
        "reversed_rows": lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)],
        "diagonal_of_corner": lambda x: x[torch.arange(2), torch.arange(2)],
        "mixed_int_list": lambda x: x[1, [0, 1]],
        "mixed_list_int": lambda x: x[[0, 1], 1],
        "mixed_slice_list": lambda x: x[1:, [0, 1]],
        "mixed_none_list": lambda x: x[None, [0, 1]],
        "mixed_list_none": lambda x: x[[0, 1], None],
        "size_in_both": lambda x: x[x.shape[0] - 2, x.shape[1] - 1],
        "size_in_list": lambda x: x[[0, x.shape[0] - 1]],
        "chained": lambda x: x[1:][0][None][..., 1:],
        "true_index": lambda x: x[True],
        "false_index": lambda x: x[False],
        "truths_in_a_slice": lambda x: [(y, y.shape, y.shape[0] + 1) for y in (x[:True], x[True:])],
        "truth_as_a_step": lambda x: x[:: x.dim() > 1].reshape(x.shape),
        "view_of_what_a_truth_cuts": lambda x: (y := x[:True] * 2).view(y.shape),
        "zero_dim_constant": lambda x: x[torch.tensor(1)],
        "zero_dim_constant_of_column": lambda x: x[:, torch.tensor(1)],
        "zero_dim_slice": lambda x: x[torch.tensor(1) :],
        "sum_of_rows": lambda x: sum(row for row in x[:2]),
        "narrow": lambda x: x.narrow(0, 1, x.shape[0] - 1),
        "take_last_by_select": lambda x: x.select(0, -1),
        "unfolded": lambda x: x.unfold(0, 2, 1),
        "take_along": lambda x: x.take_along_dim(torch.tensor([[0]]), 0),
        "gathered": lambda x: x.gather(1, torch.zeros(x.shape[0], 1, dtype=torch.int64)),
        "index_select": lambda x: x.index_select(1, torch.tensor([1, 0])),
        "flipped": lambda x: x.flip(0),
        "rolled": lambda x: x.roll(1, 0),
    },
)

variants(
    cube,
    {
        "cube_dots_middle": lambda x: x[1, ..., 2],
        "cube_list_apart": lambda x: x[[0, 1], :, [1, 2]],
        "cube_lists_together": lambda x: x[:, [0, 1], [1, 2]],
        "cube_list_int_apart": lambda x: x[[0, 1], :, 1],
        "cube_int_slice_list": lambda x: x[1, :, [0, 1]],
        "cube_none_between": lambda x: x[[0, 1], None, [0, 1]],
        "cube_tensor_middle": lambda x: x[:, torch.tensor([[0, 1]])],
        "cube_dots_list": lambda x: x[..., [0, 1]],
        "cube_dots_alone": lambda x: x[..., :2, None, 1:],
        "cube_last_step": lambda x: x[:, :, ::2],
        "cube_sizes": lambda x: x[x.shape[0] // 2, : x.shape[1] - 1, x.shape[2] - 1],
        "cube_first_token": lambda x: x[:, 0, :],
        "cube_last_token": lambda x: x[:, -1:, :],
        "cube_pairs": lambda x: torch.cat(
            [x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]], -1
        ),
        "cube_even_odd": lambda x: x[..., 0::2].sum() + x[..., 1::2].sum(),
    },
)


# ------------------------------------------------------------------------ expressions that fail
variants(
    one,
    {
        "too_many": lambda x: x[0, 0, 0],
        "too_many_lists": lambda x: x[[0], [0], [0]],
        "float_tensor_index": lambda x: x[torch.tensor([1.0])],
        "out_of_range_by_far": lambda x: x[100],
        "negative_out_of_range": lambda x: x[-100],
    },
    raises=IndexError,
)
variants(
    one, {"negative_step": lambda x: x[::-1], "zero_step": lambda x: x[::0]}, raises=ValueError
)
variants(
    one,
    {
        "float_index": lambda x: x[1.0],
        "string_index": lambda x: x["a"],
        "float_slice": lambda x: x[1.5:],
    },
    raises=(IndexError, TypeError),
)


# --------------------------------------------------------------------- indices known at run time
@program(with_position)
def position_row(x, t):
    """A 0-dim tensor selects a row."""
    return x[t] * 2


@program(with_position)
def position_column(x, t):
    """A 0-dim tensor selects a column."""
    return x[:, t] + 1


@program(with_position)
def position_written(x, t):
    """`x[t] = v` writes to x."""
    x[t] = 7.0
    return x * 1


@program(with_position)
def position_written_through(x, t):
    """`x[t]` is a view in eager, so writing to it writes to x."""
    row = x[t]
    row.add_(1)
    return x * 1


@program(with_position)
def position_augmented(x, t):
    """`x[t] += 1` reads, adds in place, and writes back."""
    x[t] += 1
    return x * 1


@program(with_position)
def position_of_both(x, t):
    """Two 0-dim tensors are two selects."""
    return x[t, t]


@program(lambda n=4, m=5: (torch.randn(n, m), torch.tensor(-1)))
def position_from_the_end(x, t):
    """Negative indices known at run time."""
    x[:, t] = 1.0
    y = x[t]
    y += 1
    return y * 2


@program(lambda n=4, m=5: (torch.randn(n, m), torch.tensor([1])))
def position_as_number(x, t):
    """`int(t)` and `t.item()` as indices."""
    return x[t.item()] + x[t[0]]


@program(with_position)
def position_and_list(x, t):
    """A 0-dim tensor beside a list."""
    return x[t, [0, 1]]


@program(with_position)
def position_returned(x, t):
    """The row is a view of x."""
    return x[t]


@program(lambda n=4, m=5: (torch.randn(n, m), torch.zeros(2, dtype=torch.int64)))
def rows_of_input(x, i):
    """Rows by a tensor input."""
    return x[i]


@program(lambda n=4, m=5, k=3: (torch.randn(n, m), torch.zeros(k, dtype=torch.int64)))
def pairs_of_input(x, i):
    """Elements by two tensor inputs."""
    return x[i, i], x[i][:, i], x[None, i], x[i, None]


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n, m) > 0.5))
def mask_filled(x, mask):
    """`x[mask] = v` needs no size of its own."""
    x[mask] = 0.0
    return x * 2


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n) > 0.5))
def mask_of_rows_filled(x, mask):
    """A mask of the first dimension."""
    x[mask] = 3.0
    return x * 2


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n) > 0.5))
def mask_of_rows_and_column(x, mask):
    """A mask beside an int."""
    x[mask, 0] = 3.0
    return x * 2


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(m) > 0.5))
def mask_of_columns_filled(x, mask):
    """A mask of the second dimension."""
    x[:, mask] = -1.0
    return x * 2


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n, m) > 0.5))
def masked_sum(x, mask):
    """A selection of data-dependent size, reduced."""
    return x[mask].sum()


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n, m) > 0.5))
def masked_returned(x, mask):
    """A selection of data-dependent size, returned."""
    return x[mask]


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n) > 0.5))
def masked_rows(x, mask):
    """Rows of a data-dependent count, computed with."""
    rows = x[mask]
    return rows * 2, rows.shape[0]


@program(lambda n=4, m=5: (torch.randn(n, m), torch.rand(n, m) > 0.5))
def mask_assigned_from_input(x, mask):
    """`x[mask] = y[mask]`."""
    y = x * 2
    x[mask] = y[mask]
    return x * 1


# ------------------------------------------------------------------------------------ assignment
def _set(index, value):
    def assign(x):
        x[index] = value
        return x * 1

    return assign


variants(
    one,
    {
        f"set_{name}": _set(index, value)
        for name, index, value in [
            ("row", 0, 1.0),
            ("last_row", -1, 2),
            ("column", (slice(None), 0), 1.0),
            ("element", (1, 2), 5.0),
            ("slice", slice(1, 3), 0.0),
            ("step", slice(None, None, 2), 4.0),
            ("dots", Ellipsis, 1.0),
            ("all", slice(None), 2.0),
            ("nothing", (), 3.0),
            ("none", None, 3.0),
            ("true", True, 3.0),
            ("false", False, 3.0),
            ("list", [0, 1], 3.0),
            ("list_bool_value", [0, 1], True),
            ("lists", ([0, 1], [1, 0]), 9.0),
            ("list_column", (slice(None), [0, 1]), 9.0),
            ("list_repeated", [0, 0], 9.0),
            ("int_value", 0, 1),
            ("tensor_zero_dim", 0, torch.tensor(3.0)),
            ("tensor_zero_dim_list", [0, 1], torch.tensor(3.0)),
            ("tensor_int", 0, torch.tensor(3)),
            ("tensor_one", 0, torch.tensor([3.0])),
            ("tensor_leading_ones", 0, torch.tensor([[3.0]])),
            ("numpy_index", np.array([0, 1]), 3.0),
            ("index_tensor", torch.tensor([1, 0]), 8.0),
            ("mixed", (1, [0, 1]), 8.0),
            ("mixed_none", (None, [0, 1]), 8.0),
            ("constant_zero_dim", torch.tensor(1), 8.0),
            ("infinity", 0, float("inf")),
            ("numpy_int_value", 0, np.int64(2)),
            ("numpy_double_value", 0, np.float64(2.5)),
            ("tensor_double_row", 0, torch.tensor(3.0, dtype=torch.float64)),
            ("ones_before_list", [0, 1], torch.ones(1, 1, 2, 1)),
        ]
    },
)
variants(
    one,
    {
        f"refused_{name}": _set(index, value)
        for name, index, value in [
            ("list_value", 0, [1.0, 2.0]),
            ("numpy_value", 0, np.float32(2.5)),
            ("numpy_array", 0, np.array([1.0])),
            ("text", 0, "a"),
            ("none", 0, None),
        ]
    },
    raises=TypeError,
)
variants(
    one,
    {
        "put_of_another_dtype": _set([0, 1], torch.tensor(3.0, dtype=torch.float64)),
        "put_of_integers": _set([0, 1], torch.tensor([1, 2])),
        "rank_too_high": _set(0, torch.ones(2, 3, 5)),
    },
    raises=(RuntimeError, MonographError),
)


@program(lambda n=4, m=5: (torch.randn(n, m), torch.randn(m)))
def set_row_from_input(x, row):
    """A row from another input."""
    x[0] = row
    return x + 1


@program(lambda n=4, m=5: (torch.randn(n, m), torch.randn(n)))
def set_column_from_input(x, column):
    """A column from another input."""
    x[:, -1] = column
    return x + 1


@program(lambda n=4, m=5: (torch.randn(n, m), torch.randn(1, m)))
def set_rows_broadcast(x, row):
    """Broadcast over rows chosen by a list."""
    x[[0, 1]] = row
    return x + 1


@program(one)
def set_from_itself(x):
    """Overlapping source and target, cloned."""
    x[1:] = x[:-1].clone()
    return x + 1


@program(one)
def augmented_slices(x):
    """`+=` on slices, chained."""
    x[1:] += 1
    x[:, :2] *= 3
    x[0][1] -= 5
    x[..., -1] = x[..., 0]
    return x + 0


@program(one)
def augmented_lists(x):
    """`+=` on rows chosen by a list reads, adds and writes back."""
    x[[0, 1]] += 1
    x[torch.tensor([0])] *= 2
    return x + 0


@program(one)
def write_through_list_is_lost(x):
    """A list index copies: writing to the copy does not write to x."""
    x[[0, 1]].add_(1)
    return x + 0


@program(one)
def set_by_size(x):
    """Symbolic positions."""
    n = x.shape[0]
    x[n - 1] = 1.0
    x[: n // 2, 0] = float(n)
    x[n // 2 :, 1] = n
    return x + 0


@program(one)
def set_into_new(x):
    """A new tensor filled in pieces."""
    y = x.new_zeros(x.shape[0] + 1, x.shape[1])
    y[1:] = x
    y[0] = x.sum(0)
    return y


@program(one)
def set_int_tensor(x):
    """A float into an integer tensor is truncated."""
    y = torch.zeros(x.shape, dtype=torch.int64)
    y[0] = 2.7
    y[:, 0] = True
    return y


@program(one)
def delete_like_loop(x):
    """A loop over a constant number of rows, written one by one."""
    y = torch.empty_like(x)
    for i in range(2):
        y[i] = x[i] * i
    y[2:] = 0
    return y


@program(lambda n=4: (torch.randn(n),))
def set_zero_dim_from_element(x):
    """An element assigned from another element."""
    x[0] = x[1]
    x[2] = x.sum()
    return x + 0
