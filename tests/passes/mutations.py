"""Programs that write to tensors, through views and under other names, and what they return.

Each is a function of tensors, or a module class; `INPUTS` makes what it is called with: fresh every
time, so that a caller's tensor can be written to.
"""

import torch
from torch import nn

PROGRAMS: dict = {}
INPUTS: dict = {}


def program(*shapes, dtype=torch.float32):
    """Register a program of tensors of these shapes."""

    def register(what):
        PROGRAMS[what.__name__] = what
        INPUTS[what.__name__] = lambda: tuple(_tensor(shape, dtype) for shape in shapes)
        return what

    return register


def _tensor(shape, dtype):
    made = torch.randn(shape)
    return (made * 5).to(dtype) if dtype is not torch.float32 else made


# --- in place and out variants -----------------------------------------------------------------
@program((3, 4))
def added_in_place(x):
    """The input is written to and returned."""
    return x.add_(1)


@program((3, 4))
def a_chain_in_place(x):
    """Several writes, one after another."""
    return x.mul_(2).sub_(1).relu_().clamp_(0, 3)


@program((3, 4), (3, 4))
def out_variant(x, y):
    """The result is written into an argument."""
    torch.add(x, y, out=y)
    return y * 2


@program((3, 4))
def out_of_a_fresh_tensor(x):
    """What is written to is made inside."""
    y = torch.empty(3, 4)
    torch.mul(x, 2, out=y)
    return y + x


@program((3, 4), (4,))
def copied_with_broadcast(x, y):
    """A smaller tensor is copied over a larger one."""
    x.copy_(y)
    return x.sum()


@program((3, 4), (3, 4), dtype=torch.int64)
def copied_between_dtypes(x, y):
    """The copy has the dtype of what it is written to."""
    z = torch.zeros(3, 4)
    z.copy_(x)
    x.copy_(z * 1.5)
    return z, y + x


@program((3, 4))
def promoted_in_place(x):
    """Writing to integers rounds towards zero."""
    n = torch.arange(4)
    n.add_(torch.ones(4, dtype=torch.int64))
    return x + n.mul_(3)


@program((3, 4))
def zeroed_and_filled(x):
    """Values that do not depend on the old ones."""
    y = x.clone()
    y.zero_()
    x.fill_(2)
    return y + x


@program((3, 4))
def masked_fill_in_place(x):
    """A write where a condition holds."""
    return x.masked_fill_(x > 0, -1) + 1


@program((4, 3), (2, 3))
def index_written(x, y):
    """Rows are replaced by an index."""
    x[torch.tensor([2, 0])] = y
    return x * 1


@program((4, 3), (2, 3))
def index_added(x, y):
    """Rows are added to."""
    x.index_add_(0, torch.tensor([1, 1]), y)
    return x.sum(0)


@program((4, 3), (2, 3))
def scattered(x, y):
    """Elements go where an index says."""
    x.scatter_(0, torch.tensor([[0, 1, 2], [3, 3, 0]]), y)
    return x


@program((4, 3))
def mask_assigned(x):
    """A condition in the place of an index."""
    x[x < 0] = 0
    return x + 1


@program((3, 4), (3, 4))
def a_list_in_place(x, y):
    """Several tensors are written to by one operator."""
    torch._foreach_add_([x, y], 1)
    return x * y


@program((3, 4))
def cumulative_in_place(x):
    """An operator along an axis, in place."""
    x.cumsum_(1)
    return x[:, -1]


@program((3, 4))
def normal_written(x):
    """Random numbers in place, in the order of the calls."""
    y = torch.empty(3).normal_()
    x[0].uniform_()
    return x, y, torch.rand(2)


@program((3, 4))
def written_after_a_dropout_that_drops_nothing(x):
    """Out of training, the result of a dropout is its argument."""
    y = torch.nn.functional.dropout(x, 0.5, training=False)
    y.add_(1)
    return torch.nn.functional.dropout(y, 0.0)[0], x * 2


@program((3, 4))
def returned_by_a_dropout_that_drops_nothing(x):
    """The argument itself."""
    return torch.nn.functional.dropout(x, 0.5, training=False)


@program((3, 4))
def a_dropout_in_place_that_drops_nothing(x):
    """No write at all, through a view or not."""
    y = torch.nn.functional.dropout(x.t(), 0.5, training=False, inplace=True)
    return y, torch.nn.functional.dropout(x, 0.5, training=False, inplace=True)


@program((3, 8))
def a_chunk_written(x):
    """Gates of a recurrent cell: each of several parts in place."""
    one, other = (x * 2).chunk(2, 1)
    return one.sigmoid_() * other.tanh_(), one


@program((4, 6))
def drawn_in_place(x):
    """Each operator that draws in place, in the order of the calls, through views."""
    x[0].bernoulli_()
    x[1].bernoulli_(0.2)
    x[2].exponential_()
    x[3].geometric_(0.3)
    n = torch.empty_like(x).random_(5)
    return x, n, torch.rand(2), torch.empty(3).normal_()


@program((4, 6), (4, 6))
def chains_of_three_operands(x, y):
    """Operators that read more than what they write."""
    return x.lerp_(y, 0.3).addcmul_(x, y, value=2).addcdiv_(x, y.abs() + 1)


@program((4, 6), (2, 6))
def places_written(x, y):
    """By index, by place, where a mask holds."""
    x.index_fill_(0, torch.tensor([1]), 3.0)
    x.index_copy_(0, torch.tensor([0, 2]), y)
    x.put_(torch.tensor([1, 5]), torch.tensor([8.0, 9.0]))
    x.masked_scatter_(x > 1, torch.arange(24.0))
    return x * 1


@program((4, 6))
def results_written_out(x):
    """Two results into two tensors, and one of fewer dimensions."""
    values, places = torch.empty(4, 6), torch.empty(4, 6, dtype=torch.int64)
    torch.sort(x, 1, out=(values, places))
    total = torch.empty(6)
    torch.sum(x, 0, out=total)
    x[0] = total
    return values, places, x


@program((4, 6), (4, 6), dtype=torch.int64)
def integers_in_place(x, y):
    """Bits, shifts and division that rounds."""
    x &= y
    x |= 3
    x ^= y
    x //= 2
    x <<= 1
    return x.bitwise_not_().logical_and_(y)


# --- through views -----------------------------------------------------------------------------
@program((3, 4))
def a_row_written(x):
    """One index."""
    x[1].add_(1)
    return x * 2


@program((3, 4))
def a_slice_written(x):
    """A slice with a step."""
    x[:, ::2].mul_(3)
    return x.sum()


@program((3, 4))
def a_slice_of_a_slice_written(x):
    """Views of views."""
    x[1:][:, 1:3].zero_()
    return x + 1


@program((4, 4))
def a_diagonal_written(x):
    """The diagonal."""
    x.diagonal().fill_(7)
    return x


@program((4, 4))
def a_transpose_written(x):
    """A write through a transposed view."""
    x.t()[0].copy_(torch.arange(4.0))
    return x, x.t()


@program((2, 3, 4))
def a_permutation_written(x):
    """A write through permuted axes."""
    x.permute(2, 0, 1)[1:3].add_(1)
    return x.sum((0, 1))


@program((3, 4))
def a_reshape_written(x):
    """A write through another shape."""
    x.view(2, 6)[:, 0].mul_(2)
    x.view(-1)[5:7].sub_(1)
    return x


@program((3, 4))
def a_strided_view_written(x):
    """A write through `as_strided`."""
    x.as_strided((2, 2), (4, 1), 1).add_(1)
    return x


@program((6, 4))
def chunks_written(x):
    """Each of several views."""
    for i, part in enumerate(x.chunk(3)):
        part.add_(i)
    return x


@program((5, 4))
def splits_written(x):
    """Views of unequal sizes, the last first."""
    one, other = x.split([2, 3])
    other.mul_(2)
    one.add_(other[:2])
    return x


@program((3, 4))
def unbound_written(x):
    """Rows as a tuple."""
    first, _, last = x.unbind()
    first.add_(last)
    last.zero_()
    return x


@program((3, 4))
def an_unsqueezed_view_written(x):
    """An axis more, and one less."""
    x.unsqueeze(0).squeeze(0)[0].neg_()
    return x


@program((1, 4))
def a_squeezed_view_written(x):
    """All axes of size 1."""
    x.squeeze().add_(1)
    return x


@program((3, 8))
def an_unfolded_axis_written(x):
    """Windows that do not overlap."""
    x.unfold(1, 2, 2)[..., 0].zero_()
    return x


@program((3, 8), (3, 7))
def windows_with_gaps_written(x, y):
    """Windows along an axis, of a tensor that does not lie in a row; some elements are in none."""
    x.t().unfold(0, 2, 3).mul_(2)
    y.unfold(1, 1, 1).add_(1)
    return x.unfold(1, 2, 3)[0], y


@program((4, 6))
def parts_written_in_turn(x):
    """Rows that read the rows before them, then parts of unequal sizes."""
    for i, row in enumerate(x.unbind(0)):
        row.mul_(i)
        if i:
            row.add_(x[i - 1])
    for i, part in enumerate(x.split([1, 2, 3], 1)):
        part.sub_(i)
    one, _ = x.tensor_split(2)
    one.add_(1)
    return x, one


@program((4, 6))
def axes_moved_and_written(x):
    """Axes in another order, or split in two."""
    x.movedim(0, 1)[1].add_(1)
    x.swapaxes(0, 1)[0].mul_(2)
    x.unflatten(1, (2, 3))[:, 0].zero_()
    x.mT[0] = 1
    return x, x.H.sum(0)


@program((4, 6))
def what_may_be_a_copy_written(x):
    """`contiguous`, `to` and `reshape` give the tensor itself, a view, or a copy."""
    x.contiguous().add_(1)
    x.to(torch.float32).mul_(2)
    x.reshape(6, 4).sub_(1)
    copied = x.t().reshape(6, 4)
    copied.zero_()
    return x, copied


@program((5, 4))
def a_diagonal_filled(x):
    """`fill_diagonal_` writes through strides of its own."""
    return x.fill_diagonal_(3).triu_().renorm_(2, 0, 1.0)


@program((3, 4))
def two_views_written(x):
    """Writes through two views that overlap."""
    rows, columns = x[1:], x[:, 1:]
    rows.add_(1)
    columns.mul_(2)
    rows.sub_(columns[1:].sum())
    return rows, columns


@program((3, 4))
def read_through_an_older_view(x):
    """A view that was made before the write sees it."""
    older = x[0]
    x.add_(1)
    return older * 2


@program((3, 4))
def a_copy_before_the_write(x):
    """A copy that was made before the write does not see it."""
    before = x.clone()
    x.mul_(0)
    return before, x


@program((3, 4))
def swapped_rows(x):
    """Through copies of both."""
    first, last = x[0].clone(), x[-1].clone()
    x[0], x[-1] = last, first
    return x


@program((3, 2))
def a_complex_view_written(x):
    """Pairs as complex numbers."""
    torch.view_as_complex(x).mul_(1j)
    return x


@program((4,))
def real_part_written(x):
    """The real part of a complex tensor that is made inside."""
    z = torch.complex(x, x + 1)
    z.real.zero_()
    z.imag.add_(1)
    return z


@program((3, 4))
def a_flattened_view_written(x):
    """`flatten` of a contiguous tensor that is made inside is a view."""
    y = x * 2
    y.flatten()[::3].zero_()
    return y


@program((3, 4))
def a_narrowed_view_written(x):
    """`narrow` and `select`."""
    x.narrow(1, 1, 2).select(0, 0).fill_(5)
    return x


@program((3, 4))
def a_view_of_another_dtype_written(x):
    """The same memory under another dtype."""
    y = x.clone()
    y.view(torch.int32)[0].zero_()
    return y


@program((2, 3))
def written_through_expand_of_one(x):
    """An expanded tensor that meets each element once."""
    x.expand(2, 3).add_(1)
    return x


@program((3, 4))
def transposed_in_place(x):
    """A tensor made inside becomes its transpose; a write goes on from there."""
    y = x * 2
    y.t_()[0].add_(1)
    y.transpose_(0, 1)
    return y, y.swapaxes_(0, 1)


@program((3, 4))
def an_axis_more_and_less_in_place(x):
    """A view from before sees what is written afterwards."""
    y = x * 2
    row = y[0]
    y.unsqueeze_(0).mul_(2)
    y.squeeze_()
    return y, row


@program((3, 4))
def restrided_in_place(x):
    """`as_strided_`, and a detach in place."""
    y = x * 2
    y.as_strided_((2, 2), (4, 1), 1)
    return y.detach_()


# --- what is returned --------------------------------------------------------------------------
@program((3, 4))
def the_input_itself(x):
    """The input that was written to, twice."""
    x.add_(1)
    return x, x


@program((3, 4))
def a_view_of_what_was_written(x):
    """A view that is returned shows later writes."""
    row = x[1]
    x.mul_(2)
    return row


@program((3, 4))
def views_of_a_fresh_tensor(x):
    """Two results that share memory with each other and with no input."""
    y = x + 1
    y[0].zero_()
    return y, y[1:], y.t()


@program((3, 4), (3, 4))
def one_input_into_another(x, y):
    """One input is copied into the other, and both are returned."""
    x.copy_(y)
    return y, x


@program((3, 4))
def a_list_of_views(x):
    """A container of views."""
    x.sub_(1)
    return {"parts": list(x.split(1)), "all": x}


@program((3, 4))
def the_write_is_the_last_thing(x):
    """Nothing is returned."""
    x.exp_()


@program((3, 4))
def an_input_untouched(x):
    """A view of an input that nothing writes to."""
    return x[1:], x


# --- state -------------------------------------------------------------------------------------
class Buffered(nn.Module):
    """A module with a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))


@program((3, 4))
class BufferAddedTo(Buffered):
    def forward(self, x):
        self.seen.add_(x)
        self.count += 1
        return self.seen * self.count


@program((3, 4))
class BufferThroughAView(Buffered):
    def forward(self, x):
        self.seen[1:].copy_(x[:-1])
        return self.seen.sum(0)


@program((3, 4))
class BufferReturned(Buffered):
    def forward(self, x):
        self.seen.mul_(0.5).add_(x)
        return self.seen, self.seen[0]


@program((3, 4))
class BufferReplaced(Buffered):
    def forward(self, x):
        before = self.seen
        self.seen = self.seen + x
        return before * 1, self.seen * 1


@program((3, 4))
class BufferFromInputAndBack(Buffered):
    def forward(self, x):
        self.seen.copy_(x)
        x.copy_(self.seen * 2)
        return x - self.seen


@program((4, 3))
class Normalises(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x) * 2, self.norm.running_mean + 0


@program((2, 3, 5))
class NormalisesTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3, momentum=0.5)

    def forward(self, x):
        return self.norm(self.norm(x))


@program((3, 4))
class WritesItsParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        before = x * self.weight
        with torch.no_grad():
            self.weight.mul_(0.5)
        return before + 1, x * self.weight, self.weight


@program((3, 4))
class WritesARowOfItsParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 4))

    def forward(self, x):
        with torch.no_grad():
            self.weight[1].zero_()
        return (x * self.weight).sum(0)


@program((3, 4))
class CutsGradients(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        scale = (x * self.weight).detach()
        return scale * self.weight, scale


@program((4, 6))
class RingWritten(nn.Module):
    """A ring of rows, and the place in it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(5, 6))
        self.register_buffer("place", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.rows.index_copy_(0, (self.place + torch.arange(4)) % 5, x)
        self.place.add_(4).remainder_(5)
        self.rows[self.place] = 0
        return self.rows.mean(0), self.place.clone()


class OneMemory(nn.Module):
    """Buffers in the memory of one of them."""

    def __init__(self):
        super().__init__()
        table = torch.arange(12.0).view(3, 4)
        self.register_buffer("row", table[1])
        self.register_buffer("table", table)
        self.register_buffer("turned", table.t())
        self.register_buffer("corner", table[1:, 2:])
        self.register_buffer("same", table.view(3, 4))


@program((3, 4))
class ARowOfStateWritten(OneMemory):
    def forward(self, x):
        before = self.corner * 1
        self.row.add_(x[0])
        return x * self.table, before, self.turned[0], self.corner + 0


@program((3, 4))
class AllOfStateWritten(OneMemory):
    def forward(self, x):
        self.table.mul_(2).add_(x)
        self.corner.zero_()
        self.same[0].copy_(x[1])
        return self.row[1:], self.turned.sum(1), self.corner.t()


@program((3, 4))
class StateTurnedAndWritten(OneMemory):
    def forward(self, x):
        self.turned.copy_(x.t())
        self.turned[2:].sub_(1)
        return self.same * x, self.row + 1


@program((3, 4))
class ARowOfStateReturned(OneMemory):
    def forward(self, x):
        self.table.add_(x)
        return self.row


@program((3, 4))
class EachNameOfStateReturned(OneMemory):
    def forward(self, x):
        self.row.add_(x[0])
        return self.same, self.row, self.table, self.corner, self.turned, self.row[1:], self.same


@program((3, 4))
class StateInOneMemoryRead(OneMemory):
    def forward(self, x):
        return self.table * x + self.row, self.corner


# --- in loops and regions ----------------------------------------------------------------------
@program((3, 4))
def written_in_a_loop(x):
    """A table that is filled row by row."""
    table = torch.zeros(3, 4)
    for i in range(3):
        table[i] = x[i] + (table[i - 1] if i else 0)
    return table


@program((3, 4))
def written_without_gradients(x):
    """A write inside a region."""
    with torch.no_grad():
        x[0].zero_()
    return x * 2


@program((3, 4))
def a_view_from_a_region(x):
    """A view that a region made is written to outside of it."""
    y = x * 2
    with torch.no_grad():
        row = y[0]
    row.add_(1)
    return y


@program((3, 4))
def augmented_assignments(x):
    """Python's own spelling."""
    y = x * 1
    y += 1
    y[0] -= 2
    y[:, 1] *= 3
    return y, x


@program((3, 4))
def set_item_with_a_step_and_none(x):
    """Indices of every kind at once."""
    y = x.clone()
    y[1:, None, ::2] = 5
    y[..., -1] = torch.arange(3.0)
    return y


@program((4, 4))
def triangles_written(x):
    """A triangle in place."""
    return x.tril_().add_(x.t().clone())
