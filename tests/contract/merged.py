"""What branches and loops give: which tensor it is, in whose memory, and which way raises."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.contract.reduced import every_size, negative, transposed, two, with_gradient
from tests.contract.registry import probe

FOLLOWED = {
    "gradient": with_gradient,
    "other side": lambda: (torch.randn(3, 4).requires_grad_(), -torch.ones(2)),
    "leaf, other side": lambda: (torch.randn(3, 4).requires_grad_(), torch.ones(2)),
}
CALLS = {"transposed": transposed, "gradient": with_gradient, "negative": negative}
ON_DATA = ("data-dependent-branch",)
TABLE = np.arange(4.0)


def transposed_back():
    """Columns of the first lie in rows."""
    return torch.randn(3, 4), torch.randn(3, 2).t()


def row():
    """The first has one row, and lies in rows both ways."""
    return torch.randn(1, 4), torch.randn(1, 4)


def keyed(n=3):
    """The second is a dict."""
    return torch.randn(n, 4), {"a": torch.randn(2)}


def first_size(dim):
    """One size varies, and nothing of the dict."""
    return {0: dim.AUTO}, {"a": None}


@probe("layout", transposed, calls={**CALLS, "plain": two, "row": row}, shapes=every_size)
def written_copy_in_a_loop(x, y):
    """What was copied to lie in rows is written to, by another name, in a loop."""
    rows = x.contiguous()
    for _ in range(y.shape[-1]):
        rows.detach().add_(1)
    return rows, x + 1


@probe("layout", two, calls={**CALLS, "row": row}, shapes=every_size)
def both_written_in_a_loop(x, y):
    """A copy of columns and the columns are written to in one loop."""
    columns = x.t().contiguous()
    part = columns[0]
    for _ in range(y.shape[-1]):
        x.add_(1)
        part.mul_(2)
    return columns, x * 1


@probe("layout", two, calls={**CALLS, "row": row}, shapes=every_size, refused=ON_DATA)
def flattened_copy_on_one_side(x, y):
    """A side writes to what was copied, and reads what it is a copy of."""
    flat = x.t().reshape(-1)
    if y.sum() > 0:
        flat.add_(x.sum())
    return flat, x + 1


@probe("layout", two, calls={**CALLS, "row": row}, shapes=every_size, refused=ON_DATA)
def copy_read_where_its_source_is_written(x, y):
    """A side writes to a tensor, and reads an earlier copy of it."""
    columns = x.t().contiguous()
    total = columns.sum()
    if y.sum() > 0:
        x.add_(1)
        total = columns.sum() * 2
    return columns, total


@probe("overlap", two, calls=CALLS, shapes=every_size)
def last_row_of_rounds_within_rounds(x, y):
    """The inner loop goes over what the outer one makes anew."""
    for _ in y.unbind(0):
        for row in x:
            x, last = x.detach(), row
    return last


@probe("overlap", transposed, calls={**CALLS, "plain": two}, shapes=every_size)
def last_column_of_rounds_within_rounds(x, y):
    """The same, where rows have gaps."""
    for _ in y.unbind(0):
        for row in x:
            x, last = x.detach(), row
    return {"last": last}


@probe("mode", two, calls=CALLS, refused=("gradient-in-forward", *ON_DATA))
def inference_on_one_side(x, y):
    """Data decide whether the result is an inference tensor."""
    with torch.inference_mode():
        if y.sum() > 0:
            x = torch.zeros_like(x)
    return x


@probe("mode", two, calls=CALLS, refused=("gradient-in-forward", *ON_DATA))
def one_of_several_kinds(x, y):
    """A loop ends with an inference tensor, or with the input."""
    with torch.inference_mode():
        y = y * 3
    for each in [x, y]:
        last = each
        if torch.isnan(x).any():
            break
    return last


@probe("overlap", two, calls=CALLS, refused=ON_DATA)
def dropped_nothing_in_a_branch(x, y):
    """Outside of training it is the input itself, on one side."""
    if x.sum() > 0:
        y = F.dropout(y, 0.5, training=False)
    return y


@probe(
    "overlap",
    lambda: (torch.randn(3, 4), torch.ones(3, 4)),
    calls=CALLS,
    refused=("specialized-value",),
)
def dropped_nothing_in_a_loop(x, y):
    """The same in each round."""
    for _ in range(int((y > 0).sum().clamp(0, 3))):
        last = F.dropout(x, 0.5, training=False)
    return last


@probe("write", two, calls=CALLS, refused=ON_DATA)
def input_written_and_then_chosen(x, y):
    """The result is the input that was written to, whichever side it takes."""
    y.mul_(2)
    if x.sum() > 0:
        y = y.contiguous()
    return y


@probe("write", two, calls=CALLS, refused=ON_DATA)
def input_written_and_then_not_chosen(x, y):
    """The result is another tensor on both sides."""
    y.mul_(2)
    return y * 2 if x.sum() > 0 else y + 1


@probe("layout", two, calls=CALLS)
def detached_by_two_names(x, y):
    """What a conversion gives back is detached in place."""
    floored = y // 2
    same = floored.float()
    same.detach_()
    return x, floored, same


@probe("write", two, calls=CALLS)
class TakenOver(nn.Module):
    """A tensor takes over the memory of a buffer, which stays."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(4))

    def forward(self, x, y):
        """The result lies in the buffer."""
        z = x * 2
        return z.set_(self.b)


@probe("write", two, calls=CALLS, refused=("data-replaced",))
class TakenOverAndReplaced(nn.Module):
    """The same where the buffer is replaced: eager code leaves its memory as it was."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(4))

    def forward(self, x, y):
        """The result lies in what was the buffer."""
        z = x * 2
        z.set_(self.b)
        self.b = self.b + 1
        return z


@probe("structure", keyed, calls={"longer": lambda: keyed(5)}, shapes=first_size)
def size_as_a_key_beside_an_input(x, d):
    """A dict with a size for its key is returned beside the caller's own."""
    return d, {x.shape[0]: x * 2}


@probe("structure", keyed, calls={"longer": lambda: keyed(5)}, shapes=first_size)
def size_as_a_key_of_an_input(x, d):
    """The caller's dict gets a size for a key."""
    d[x.shape[0]] = {x.shape[0]: x * 2}
    return x + 1


@probe("constant", negative, calls={**CALLS, "plain": two}, refused=ON_DATA)
def array_in_a_branch(x, y):
    """The memory of an array has a tensor on one side alone, and another behind it."""
    if y.sum() > 0:
        found = x[0] * 2
    else:
        found = torch.from_numpy(TABLE).float()
    return found, torch.from_numpy(TABLE) * 2


@probe("size", row, calls={**CALLS, "two": two}, shapes=every_size, refused=ON_DATA)
def missing_where_sizes_say_so(x, y):
    """A side lacks the variable at some sizes alone."""
    if x.sum() > 0 and len(x) > 1:
        shown = x
    else:
        found = y * 2
    return found


@probe("data", two, calls=CALLS, refused=("branch-writes", "data-dependent-branch"))
def raised_and_caught_on_one_side(x, y):
    """A side that raises goes on where that is caught."""
    if x.sum() > 0:
        try:
            raise ValueError("a")
        except ValueError as error:
            text = str(error)
        y.t_()
    return y * 2


@probe("mode", two, calls=FOLLOWED, refused=ON_DATA)
def taken_out_and_written_to_on_one_side(x, y):
    """What `detach` gave has no gradient, whether the example's tensor had one or not."""
    x = x * 2
    out = x.detach()
    if y.sum() > 0:
        out.mul_(3)
    return x * 1, out * 2


@probe("mode", two, calls=FOLLOWED, refused=ON_DATA)
def taken_out_before_another_is_written_to(x, y):
    """One side writes to the memory behind what `detach` gave."""
    x = x + 1
    out = x.detach()
    if y.sum() > 0:
        x = x * 2
    x.add_(1)
    return out * 2


def both_followed():
    """Autograd follows both."""
    return tuple(torch.randn(3, 4).requires_grad_() for _ in range(2))


@probe("mode", two, calls={"both": both_followed, **FOLLOWED}, refused=(*ON_DATA, "branch-writes"))
def taken_out_and_followed_on_one_side(x, y):
    """What `detach` gave gets a history of its own on one side."""
    x = x * 2
    out = x.detach()
    if y.sum() > 0:
        out.add_(y)
    return x * 1, out * 2


@probe("mode", two, calls={"both": both_followed, **FOLLOWED}, refused=ON_DATA)
def taken_out_and_changed_on_one_side(x, y):
    """What `detach` gave is written to without gradients, or by what has none."""
    x = x * 2
    out = x.detach()
    if y.sum() > 0:
        out.add_(torch.ones_like(x)).mul_(y.detach())
        with torch.no_grad():
            out.mul_(y)
    return x * 1, out * 2


@probe("mode", two, calls={"both": both_followed, **FOLLOWED}, refused=(*ON_DATA, "branch-writes"))
def taken_out_of_a_factory_and_followed_twice(x, y):
    """The second condition goes on with the history that the first began."""
    made = torch.zeros(3, 4)
    out = made.detach()
    for row in (0, 1):
        if y[row].sum() > 0:
            out.add_(y)
    return made * 2, out * 2


@probe(
    "data",
    lambda: (torch.ones(3), torch.ones(3)),
    calls={
        "neither": lambda: (torch.ones(3), -torch.ones(3)),
        "other side": lambda: (-torch.ones(3), torch.ones(3)),
    },
    refused=(*ON_DATA, "write-after-branch"),
)
def written_and_perhaps_copied_within(x, y):
    """One side writes to the input, and its own branch gives that or a copy."""
    z = y
    if x.sum() > 1:
        z *= 2
        if y.sum().item() > 0.5:
            z = z.clone()
    else:
        z = z.tanh()
    return z


@probe(
    "data",
    lambda: (torch.ones(3), torch.ones(3)),
    agrees={
        "neither": lambda: (torch.ones(3), -torch.ones(3)),
        "other side": lambda: (-torch.ones(3), torch.ones(3)),
    },
    refused=ON_DATA,
)
def computed_of_what_is_perhaps_copied_within(x, y):
    """The same, where nobody sees which tensor it is."""
    return written_and_perhaps_copied_within(x, y) * 2


def counted(n, m, x=1.0):
    """As many numbers as the first says, and rows."""
    return lambda: (torch.full((n,), x), torch.randn(m, 4))


@probe(
    "data",
    counted(3, 2, -1.0),
    agrees={"short": counted(1, 3), "rounds": counted(3, 2), "long": counted(6, 1)},
    shapes=lambda dim: ({0: dim.AUTO}, {0: dim.AUTO}),
    refused=("specialized-value",),
)
def part_that_a_loop_within_may_leave(x, y):
    """Without a round the part of the input itself is given."""
    part = y[y.shape[0] % 2 :]
    if 2 < x.shape[0] < 5:
        for at in range(int((x > 0).sum().clamp(0, 3))):
            part = part * at
    return y, part


def leaf_of_columns():
    """A leaf that is a view of what autograd does not follow."""
    return torch.ones(4, 3).t().requires_grad_(), torch.ones(2)


@probe(
    "layout",
    two,
    calls={"leaf": leaf_of_columns, "gradient": with_gradient},
    refused=(*ON_DATA, "branch-writes"),
)
def written_beneath_an_input(x, y):
    """One side writes to the memory of the input, of which a view is returned."""
    part = x[:, 1]
    if y.sum() > 0:
        part.data.add_(1)
    return x, part


@probe(
    "size", two, calls={"none": lambda: (torch.randn(0, 4), torch.randn(3, 2))}, shapes=every_size
)
def dropout_in_a_branch(x, y):
    """A dropout gives its very argument where that has no elements."""
    if x.shape[1] > 2:
        return F.dropout(x, 0.5), y * 2
    return y * 3, x


@probe(
    "layout",
    lambda: (torch.tensor([[1.0, 1.0], [1.0, -1.0]]), torch.ones(2)),
    calls={
        "more": lambda: (torch.ones(2, 2), torch.ones(2)),
        "none": lambda: (-torch.ones(2, 2), 1),
    },
    refused=("specialized-value", "data-dependent-size"),
)
def layout_by_a_number_of_data(x, _):
    """A part of a column is contiguous where data leave one element of it, or none."""
    part = x[:, 1][: int((x[:, 1] > 0).sum())]
    return part * 2 if part.is_contiguous() else part * 3
