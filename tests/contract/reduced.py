"""Programs that random ones which failed were reduced to: views, catches, questions of memory."""

import numpy as np
import torch
from torch import Tensor

from tests.contract.registry import Call, probe


def two(n=3, m=4):
    """Two tensors."""
    return torch.randn(n, m), torch.randn(n, m)


def expanded():
    """The first has all its rows in one memory."""
    return torch.randn(1, 4).expand(3, 4), torch.randn(3, 4)


def transposed():
    """The first lies the other way."""
    return torch.randn(4, 3).t(), torch.randn(3, 4)


def with_gradient():
    """The first is a leaf that autograd follows."""
    return torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)


def negative():
    """The second sums to less than nothing."""
    return torch.randn(3, 4), -torch.ones(3, 4)


def viewing():
    """The second is a view of the first."""
    x = torch.randn(3, 4)
    return x, x.view(3, 4)


def every_size(dim):
    """Every size varies."""
    return ({0: dim.AUTO, 1: dim.AUTO},) * 2


OTHERS = {
    "expanded": expanded,
    "transposed": transposed,
    "gradient": with_gradient,
    "viewing": viewing,
    "negative": negative,
    "no gradients": Call(two, under=torch.no_grad),
}


@probe("layout", two, calls=OTHERS, shapes=every_size)
def last_row_of_unbind(x, y):
    """The loop's variable is a view of the last row afterwards."""
    total = y
    for row in x.unbind(0):
        total = total + row
    return row, total


@probe("layout", two, calls={**OTHERS, "long": lambda: two(5, 2)}, shapes=every_size)
def last_row_in_a_loop(x, y):
    """The same of what only iterations assign."""
    for row in x.unbind(0):
        last = row
    return last, y + 1


@probe("overlap", two, calls=OTHERS)
def written_where_it_may_raise(x, y):
    """Autograd, or rows in one memory, make the write raise, which is caught."""
    try:
        x.add_(1)
    except RuntimeError:
        y = y * 2
    return y


def leaf_of_a_view():
    """The first is part of something larger, and yet a leaf."""
    return torch.randn(5, 4)[2:].requires_grad_(), torch.randn(3, 4)


WRITTEN_UNSEEN = {**OTHERS, "leaf of a view": leaf_of_a_view}


@probe("layout", two, calls=WRITTEN_UNSEEN)
def row_taken_before_a_write_as_ints(x, y):
    """Autograd takes the view again, of what the leaf is a view of."""
    row = x[1:]
    x.view(torch.int32).zero_()
    return row, y


@probe("layout", two, calls=WRITTEN_UNSEEN)
def row_taken_before_a_detached_write(x, y):
    """The same of a detached view, and of one that is taken after it."""
    row = x[1:]
    x.detach().fill_(2)
    return row, x[:2], y


def with_a_gradient_before():
    """A backward pass was made already."""
    x, y = with_gradient()
    x.sum().backward()
    return x, y


LEAVES = {
    **OTHERS,
    "again": with_a_gradient_before,
    "computed": lambda: (with_gradient()[0] * 1, two()[1]),
    "second": lambda: with_gradient()[::-1],
}


def numbers(*answers):
    """Truths as a number."""
    return sum(1 << place for place, answer in enumerate(answers) if answer)


@probe("layout", with_gradient, calls=LEAVES)
def leaf_asked_after_a_write(x, y):
    """No write behind the back of autograd makes another tensor of it."""
    with torch.no_grad():
        x.fill_(3)
    return y * numbers(x.is_leaf, x.grad is None, x.requires_grad)


@probe("layout", two, calls=LEAVES)
def leaf_asked_after_its_row_was_written(x, y):
    """A write through a view does, where what is written has a history."""
    x[1:].mul_(y[1:])
    return y * numbers(x.is_leaf, x.requires_grad)


@probe(
    "data",
    with_gradient,
    calls={**LEAVES, "negative": lambda: (with_gradient()[0], negative()[1])},
    refused=("branch-decides", "data-dependent-branch"),
)
def leaf_asked_behind_an_if(x, y):
    """One side leaves the leaf, the other has computed something of it."""
    if y.sum() > 0:
        x = x * 2
    return y * numbers(x.is_leaf, x.requires_grad)


@probe("layout", with_gradient, calls=LEAVES)
def leaf_asked_by_another_name(x, y):
    """Operators that give back what they are given."""
    z = x.real.contiguous()
    return y * numbers(z.is_leaf, z.grad is None, x.float().is_leaf)


@probe("overlap", two, calls=OTHERS)
def detached_where_it_may_raise(x, y):
    """A view cannot be detached in place."""
    try:
        x.detach_()
    except RuntimeError:
        y = y * 2
    return y


def overlapping():
    """Each begins where the other goes on."""
    room = torch.randn(14)
    return room[:12].view(3, 4), room[2:].view(3, 4)


@probe("overlap", two, calls={**OTHERS, "overlapping": overlapping}, refused=("outside-read",))
def added_where_they_may_overlap(x, y):
    """Two in one memory cannot be added in place."""
    try:
        x.add_(y)
    except RuntimeError:
        y = y * 2
    return y


@probe("data", two, calls=OTHERS, refused=("data-dependent-branch",))
def caught_and_then_missing(x, y):
    """What is caught here is no exception of the program."""
    try:
        if x.sum() > 1:
            z = x
    except RuntimeError:
        y = y * 2
    return z + y


@probe("overlap", expanded, calls=OTHERS)
def written_where_it_raises(x, y):
    """The example cannot be written to."""
    try:
        x.add_(1)
    except RuntimeError:
        y = y * 2
    return y


ONES = {"a row": lambda: two(1, 4), "a column": lambda: two(3, 1)}


@probe("overlap", two, agrees=ONES, calls=OTHERS, shapes=every_size)
def written_as_it_was_repeated(x, y):
    """PyTorch refuses most writes where elements share memory."""
    pair = x.sum().expand(2, 1)
    for write in (Tensor.copy_, Tensor.add_, lambda t, _: t.sin_(), lambda t, _: t.clamp_(0, 1)):
        try:
            write(pair, x[:1, :1])
        except RuntimeError as error:
            y = y + len(str(error))
    return y, pair


@probe("overlap", two, agrees=ONES, calls=OTHERS, shapes=every_size)
def number_written_as_it_was_repeated(x, y):
    """An item is copied, which is refused; a number fills."""
    pair = (x * 2).expand(2, *x.shape)
    try:
        pair[...] = 1
    except RuntimeError:
        y = y * 2
    return pair, y


@probe(
    "overlap",
    two,
    agrees={"longer": lambda: two(5, 4)},
    calls={**OTHERS, **ONES},
    shapes=every_size,
)
def repeated_as_a_size_says(x, y):
    """Whether elements share memory depends on how often they are repeated."""
    rows = y.sum(0).expand(x.shape[0], -1)
    try:
        rows.add_(1)
    except RuntimeError:
        y = y * 2
    return rows, y


@probe("overlap", two, calls=OTHERS, refused=("data-dependent-branch",))
def written_on_one_side(x, y):
    """Whether the write comes, and raises, depends on data."""
    if y.sum() > 0:
        x.add_(1)
    return y * 2


@probe("overlap", two, calls=OTHERS, refused=("data-dependent-branch",))
def written_in_a_loop(x, y):
    """The same in a loop that data end."""
    total = y.sum()
    while total > 0:
        x.add_(1)
        total = total - 5
    return total


@probe("layout", two, calls=OTHERS, refused=("outside-read",))
def strides_past_the_end(x, y):
    """How much memory there is decides whether it raises."""
    try:
        z = x.as_strided((50,), (1,))
    except RuntimeError:
        z = x
    return z + y.sum()


@probe("layout", two, calls=OTHERS)
def strides_within_what_is_made(x, y):
    """There is room enough in memory of the program's own."""
    z = x + y
    try:
        return z.as_strided((2, 2), (4, 1))
    except RuntimeError:
        return z


@probe("overlap", two, calls={**OTHERS, "a view": lambda: two(4, 4)[::-1]})
def base_of_an_input(x, y):
    """Whether a caller gives a view."""
    return x + (1 if x._base is None else 2), y._is_view()


@probe("overlap", two, calls=OTHERS, refused=("outside-read",))
def base_of_a_row(x, y):
    """Which tensor a view is of."""
    return y * (2 if x[0]._base is x else 3)


@probe("overlap", two, calls=OTHERS, refused=("outside-read",))
def base_of_what_a_composite_gives(x, y):
    """Its kernel may give a view of what it made first."""
    return (x + y) * (2 if x.repeat_interleave(2, 0)._base is None else 3)


@probe("overlap", two, calls=OTHERS)
def base_of_what_is_made(x, y):
    """There is none."""
    return (x + y) * (2 if (x * y)._base is None else 3)


@probe("overlap", two, calls=OTHERS, refused=("value-read",))
def overlap_within(x, y):
    """How a tensor lies in its memory."""
    return x + torch._debug_has_internal_overlap(x), torch._debug_has_internal_overlap(x + y)


@probe("write", two, calls=OTHERS, refused=("value-read",))
def version_of_an_input(x, y):
    """How often it was written to, before the call too."""
    x.add_(1)
    return y._version


@probe("overlap", two, calls=OTHERS, refused=("value-read",))
def address_of_an_object(x, y):
    """Which object a tensor is."""
    return x + int(x._cdata == y._cdata)


@probe("overlap", two, calls={**OTHERS, "one": lambda: two()[:1] * 2}, refused=("outside-read",))
def found_in_a_dict(x, y):
    """A tensor as a key is found by its identity."""
    return x * {x: 2}.get(y, 3)


@probe("layout", two, calls=OTHERS, refused=("outside-read",))
def counted_in_a_set(x, y):
    """One where nothing is to be copied."""
    return y * len({x, x.contiguous()})


@probe("layout", two, calls=OTHERS)
def an_input_as_a_key(x, y):
    """It is found by itself."""
    return y * {x: 2}[x] + len({x + y, x * y})


@probe("write", two, calls=OTHERS, shapes=every_size)
def sizes_after_resize(x, y):
    """What is fewer or more elements is asked, and computed with."""
    z = (x + y).resize_(2)
    return z * 2, z.shape[0], x.clone().resize_(x.shape[0], 2).shape[1]


@probe("write", two, calls=OTHERS)
def sizes_of_another(x, y):
    """A tensor takes over another's memory, sizes and strides."""
    z = torch.zeros(2)
    z.set_(y[:, 1])
    z.add_(1)
    return x + z.shape[0], z.stride(0), y * 1, x.clone().resize_as_(y[0]).shape


def none_of_three():
    """Three numbers, and that there is nothing to do."""
    return torch.arange(3.0), torch.tensor(0)


@probe("data", none_of_three, refused=("specialized-value",))
def a_loop_without_iterations(x, n):
    """What was checked before says that there is none."""
    count = n.item()
    torch._check(count < 1)
    for each in range(count):
        x = x + each
    return x * 2


def empty():
    """No rows."""
    return torch.randn(0, 4), torch.randn(0, 4)


@probe("size", two, calls={**OTHERS, "empty": empty}, shapes=every_size)
def raises_unused(x, y):
    """There is no largest of nothing, also where nobody wants it."""
    _ = x.argmax(), y.amax(0), x.norm(float("inf"))
    return y * 2


@probe("size", two, calls={**OTHERS, "empty": empty}, shapes=every_size)
def positions_unused(x, y):
    """There is no first row of nothing."""
    _ = x.index_select(0, torch.tensor([0])), (y > 0).index_fill(0, torch.tensor([0]), True)
    return y * 2


@probe("overlap", two, calls=OTHERS)
def view_detached_in_place(x, y):
    """A view cannot be, and what is lowered has nothing left that could raise."""
    x.detach_()
    return y * 2


@probe("overlap", two, calls=OTHERS)
def number_assigned(x, y):
    """A number is copied to rows, which must not lie in one memory."""
    x[:2] = -1.0
    return y * 2


@probe("write", two, calls=OTHERS, shapes=every_size)
def number_copied(x, y):
    """A number takes a tensor's place."""
    z = x * 1
    z[0].copy_(3.5)
    y.copy_(x.shape[0])
    return z


@probe("outside", two, calls=OTHERS, refused=("write-outlives-call",))
def generator_forked(x, y):
    """The generator stands after the call where it stood before."""
    with torch.random.fork_rng(devices=[]):
        z = torch.rand(2)
    return x * y, z


@probe("size", two, calls={**OTHERS, "none": lambda: two(0, 4)}, shapes=every_size)
def first_row_where_there_may_be_none(x, y):
    """Positions may lie outside of what there is, which is caught."""
    first = torch.tensor([0])
    try:
        x.index_fill_(0, first, 3)
    except (IndexError, RuntimeError):
        y = y + 1
    try:
        return y[first], y.index_select(0, first)
    except (IndexError, RuntimeError):
        return x, y


@probe("data", two, calls=OTHERS)
def tensor_in_an_exception(x, y):
    """What is caught may hold a tensor; nobody asks for its text."""
    try:
        if y.shape[-1] > 2:
            raise LookupError(x)
    except LookupError as error:
        y = error.args[0] * 2
    return y


def gapped():
    """The second takes every other column of its memory."""
    return torch.randn(3, 4), torch.randn(3, 8)[:, ::2]


IN_BRANCHES = {**OTHERS, "gapped": gapped, "overlapping": overlapping}


@probe("layout", two, calls=IN_BRANCHES, refused=("data-dependent-branch",))
def written_by_way_of_a_copy(x, y):
    """On one side alone, and only where nothing is to be copied."""
    if x.sum() > 0:
        y.contiguous().add_(2)
    return x * 1


@probe("overlap", two, calls=IN_BRANCHES, refused=("data-dependent-branch",))
def written_beside_a_read(x, y):
    """A side writes to one, and then reads the other."""
    if x.sum() > -99:
        y.add_(1)
        x = x * 2
    return x * 1


@probe("overlap", two, calls={**OTHERS, "one": lambda: two()[:1] * 2})
def sizes_of_one_given_twice(x, y):
    """What is transposed in place may be the other, too."""
    y.t_()
    return x.shape, x * 1


@probe("mode", two, calls=OTHERS)
def copied_in_inference_mode(x, y):
    """What is given back is no inference tensor, what is copied is one."""
    with torch.inference_mode():
        x = x.contiguous()
    return x, y.ravel()


@probe("mode", two, calls=OTHERS, refused=("branch-decides", "data-dependent-branch"))
def inference_mode_on_one_side(x, y):
    """Data decide whether the result is an inference tensor."""
    if x.sum() > 0:
        with torch.inference_mode():
            y = y * 2
    return y


@probe("data", two, calls=OTHERS)
def truth_as_a_number(x, y):
    """A bool out of data fills a tensor."""
    return x.masked_fill(x > 0, (y > 0).any().item())


@probe("data", two, calls=OTHERS, refused=("outside-read",))
def fails_after_what_is_caught(x, y):
    """What would be caught decides that the program's own error does not come."""
    try:
        z = y.as_strided((50,), (1,))
    except RuntimeError:
        z = y
    if z.shape == x.shape:
        answer = 5
    return x * answer


@probe(
    "layout",
    lambda: (torch.randn(3, 8)[:, ::2], torch.randn(3, 4)),
    calls=OTHERS,
    refused=("branch-returns", "specialized-value"),
)
def left_by_no_round(x, y):
    """Without a round it is the input, whose layout no round leaves."""
    for _ in range(int((y > 0).sum().clamp(0, 3))):
        x = x.tanh()
    return x.view(-1, 2)


@probe("outside", two, calls=OTHERS, refused=("write-outlives-call",))
def global_followed(x, y):
    """A tensor from outside keeps its flags."""
    FOLLOWED.requires_grad = True
    return x + y


FOLLOWED = torch.ones(4)


@probe("overlap", two, calls=OTHERS)
def written_in_a_handler(x, y):
    """What a handler does may raise too, and be caught by the next one around."""
    try:
        try:
            raise ValueError("first")
        except ValueError:
            x.add_(1)
    except RuntimeError:
        y = y * 2
    return y


@probe("size", two, calls=OTHERS, shapes=every_size)
def text_of_a_size(x, y):
    """A text is a text."""
    return f"{x.shape[0]}", y


SIZES = {"none": lambda: two(0, 4), "no columns": lambda: two(3, 0), "odd": lambda: two(5, 3)}


@probe("layout", lambda: two(2, 3), calls=OTHERS, shapes=every_size)
def view_nobody_uses(x, y):
    """A view that the layout does not have raises, used or not."""
    rows = y.view(x.numel())
    columns = x.view(rows.shape[0], -1)
    columns = y
    return columns + 1


@probe("layout", two, calls=OTHERS)
def strided_nobody_uses(x, y):
    """It raises where there is not enough memory, also of what is written to."""
    x.as_strided((2,), (1,))
    x.cumsum_(0)
    return y


@probe("layout", two, calls={**OTHERS, **SIZES}, shapes=every_size)
def gapped_on_one_side(x, y):
    """A column has gaps, and what is computed of it none."""
    column = torch.ones(x.shape[-1], 2)[:, 0]
    if len(column) % 2 == 0:
        y.add_(1)
    else:
        column = column * 2
    return column


OUTSIDE = torch.arange(3.0)


@probe("constant", two, calls={**OTHERS, **SIZES}, shapes=every_size)
def constant_on_one_side(x, y):
    """One side leaves the tensor from outside as it is."""
    kept = OUTSIDE
    if x.numel() > 6:
        kept = kept.detach()
    return kept, y + 1


@probe("data", two, calls=OTHERS, refused=("branch-writes", "data-dependent-branch"))
def detached_on_one_side(x, y):
    """Its history ends on one side."""
    if y.sum() > 0:
        x.detach_()
        x = -x
    return x[1:]


@probe(
    "data",
    two,
    calls={**OTHERS, **SIZES},
    shapes=every_size,
    refused=("data-dependent-branch",),
)
def nothing_to_reduce_caught(x, y):
    """A reduction of nothing raises what is caught."""
    try:
        if y.max() > 1:
            raise ValueError
    except (ValueError, RuntimeError):
        y = y + 1
    return y, x


@probe("overlap", two, calls=OTHERS)
def assigned_an_element_of_it(x, y):
    """An element of what is written to fills it."""
    x[-1] = x[-1, 0]
    y[1:] = y[2, 3]
    return x


@probe("mode", two, calls=OTHERS)
def view_where_none_is_followed(x, y):
    """It is of memory that was written to, and needs no gradient of its own."""
    with torch.no_grad():
        x.view(torch.int32).zero_()
        parts = x.split(1)
    return parts, y


@probe("size", lambda: two(3, 3), calls={**OTHERS, **SIZES}, shapes=every_size)
def mask_that_may_not_fit(x, y):
    """The mask has as many elements as there are rows, or it raises."""
    try:
        x[y[0] > 0] = 0
    except IndexError:
        x = x + 1
    return x


@probe(
    "layout",
    lambda: (torch.randn(3, 8)[:, ::2], torch.ones(3, 4)),
    calls=OTHERS,
    refused=("data-dependent-branch",),
)
def copied_on_one_side_and_written(x, y):
    """What has gaps is copied, and the copy written to."""
    if y.sum() > 0:
        y.mul_(y)
    else:
        x = x.contiguous()
        x *= 2
    return x + 1


@probe("size", transposed, calls={**OTHERS, **SIZES}, shapes=every_size)
def size_that_a_formula_fixes(x, y):
    """A number is returned whose sizes a lowered reshape fixes."""
    for _row in (x, y):
        odd = x.shape[0] & 1
        if len(x) > 3:
            break
    return odd, x.clone().reshape(x.shape[::-1])


@probe(
    "size",
    lambda: two(3, 3),
    calls={"none": lambda: (torch.zeros(0, 0), torch.zeros(0, 0)), **OTHERS},
    shapes=every_size,
    refused=("data-dependent-branch",),
)
def divided_on_the_other_side(x, y):
    """A side that is not taken divides by no 0."""
    if x.sum() > 0:
        return y[0].view(x.shape[0], -1).sum()
    return y.sum()


@probe("size", two, calls={**OTHERS, **SIZES}, shapes=every_size)
def truth_tried_as_a_mode(x, y):
    """C takes no symbolic truth; that is no exception of the program's."""
    try:
        with torch.set_grad_enabled(x.size(0) % 2 == 0):
            y = y * 2
        y = y.amax(1, keepdim=y.size(1) > 3)
    except Exception:  # noqa: BLE001 - the probe's point
        y = y.tanh()
    return y


@probe("size", two, calls={**OTHERS, **SIZES}, shapes=every_size)
def modes_by_keyword(x, y):
    """The mode by its name, and by a size."""
    with torch.set_grad_enabled(mode=False):
        y = y * 2
    with torch.inference_mode(x.size(0) > 2):
        x = x * 2
    return y, x


@probe("layout", two, calls={**OTHERS, **SIZES}, shapes=every_size)
def asked_in_each_round(x, y):
    """Autograd follows rows, and what rounds carry on, as it follows what they come from."""
    asked = None
    for row in x.unbind(0):
        asked = row.requires_grad, x.is_leaf
        x = x.tanh()
    return y, asked


ARRAY = np.arange(4.0)


@probe("data", two, calls=OTHERS, refused=("data-dependent-branch",))
def array_on_one_side(x, y):
    """What stands for its memory on one side is not there on others."""
    made = torch.zeros(4)
    for _ in range(2):
        if x.sum() > 0:
            x = -x
            made = torch.tensor(ARRAY)
        elif y.sum() > 0:
            y.fill_(-1.0)
    return y, made.float()


@probe("layout", two, calls={**OTHERS, **SIZES}, shapes=every_size)
def mixed_of_two_layouts(x, y):
    """It lies as the first does, where they lie otherwise."""
    return y.lerp(x, 0.5), torch.xlogy(y, x), x.lerp(y, torch.tensor(0.3))


@probe("layout", two, calls=OTHERS, refused=("branch-returns", "data-dependent-branch"))
def strides_of_one_side(x, y):
    """A part with gaps on one side, which is a copy without any in the program."""
    z = (y + 1)[:, 0]
    if x.sum() > 0:
        z = z * 2
    return z


@probe("layout", two, calls=OTHERS, refused=("data-dependent-branch",))
def strides_of_both_sides(x, y):
    """Parts with gaps, one beside the other; and what is expanded."""
    z, w = (y + 1)[:, 0], (y - 1)[:, :1].expand(-1, 5)
    if x.sum() > 0:
        z, w = (x + 1)[:, 0], (x - 1)[:, :1].expand(-1, 5)
    return z, w, (y + 1)[::2]


@probe("layout", two, calls=OTHERS, refused=("data-dependent-branch",))
def strides_that_nobody_sees(x, y):
    """What is computed of a part with gaps lies alike on either side."""
    z = (y + 1)[:, 0]
    if x.sum() > 0:
        z = z * 2
    return z * 2 + x[:, 0]


@probe("layout", two, calls=OTHERS, refused=("branch-returns", "data-dependent-branch"))
def parts_in_either_order(x, y):
    """Two results that lie in one memory, whichever comes first."""
    z = torch.stack([y[0], y[0] * 2], 1)
    parts = [z[:, 0], z[:, 1]]
    if x.sum() > 0:
        parts = [parts[1], parts[0]]
    return tuple(parts)


@probe("layout", two, calls=OTHERS, refused=("branch-writes", "data-dependent-branch"))
def written_where_memory_was_taken_over(x, y):
    """Two tensors in one memory, by `set_`, are not two copies on a side."""
    z = x.clone()
    z.set_(y)
    rows = y.view(-1)
    if rows.sum() > -1e6:
        z.add_(1)
        rows.mul_(2)
    return z * 1


@probe("layout", two, calls=OTHERS, refused=("branch-returns", "specialized-value"))
def strides_of_the_last_round(x, y):
    """A part with gaps of what is carried on, too."""
    for _ in range(int((x > 0).sum().clamp(1, 3))):
        y = torch.zeros_like(y)
        part = y[..., ::2]
    return part


@probe("layout", two, calls=OTHERS | {"large": lambda: two(20, 30)}, shapes=every_size)
def resized_on_one_side(x, y):
    """What one side writes to has other sizes after the other."""
    if x.numel() <= 100:
        x = x * 2
        y.mul_(2)
    else:
        y.resize_(2)
    return x.narrow(0, 0, 1)


@probe("layout", two, calls=OTHERS, refused=("gradient-in-forward", "data-dependent-branch"))
def unused_on_one_side(x, y):
    """A view that a side takes, in inference mode, and nobody needs."""
    with torch.inference_mode():
        v = y.float()
        w = y.sum()
    if y.sum().item() > w:
        v.reshape(-1)
    return x * 2


def six():
    """A vector."""
    return (torch.randn(6),)


@probe("layout", six, calls={"gapped": lambda: (torch.randn(12)[::2],)})
def scattered_into_gaps(x):
    """What a part is written into keeps the gaps of the argument, in one dimension too."""
    return x.select_scatter(torch.zeros(()), 0, 1).is_contiguous(), x.slice_scatter(x[:2], 0, 0, 2)


@probe(
    "layout", two, calls={"empty": lambda: two(0, 4)}, shapes=every_size, refused=("value-read",)
)
def version_of_what_drops_nothing(x, y):
    """Dropout of nothing is its argument, which was written to."""
    y.reshape(-1).sub_(1)
    return torch.nn.functional.dropout(y, 0.5)._version, x * 2


def gapped():
    """The first has gaps, and the other decides by its size."""
    return torch.randn(3, 8)[:, ::2], torch.randn(3, 4)


@probe(
    "layout",
    gapped,
    calls={"transposed": transposed, "rows": two, "small": lambda: (gapped()[0], torch.ones(1, 2))},
    shapes=every_size,
)
def gaps_of_a_side(x, y):
    """A part with gaps that a side gives again lies as the example does."""
    if y.numel() > 6:
        x = x.view(x.shape)
    return x + 1


def gap_and_ones():
    """The first is a part, the second decides."""
    return torch.randn(3, 8)[:, ::2], torch.ones(2)


@probe(
    "layout",
    gap_and_ones,
    calls={"none": lambda: (gap_and_ones()[0], -torch.ones(2))},
    refused=("outside-read", "data-dependent-branch", "specialized-value"),
)
def view_without_a_round(x, y):
    """Without a round it is the part itself."""
    for _ in range(int((y > 0).sum().clamp(0, 3))):
        x = x.tanh()
    return x._is_view(), y * 2
