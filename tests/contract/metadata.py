"""Changes of a tensor's own metadata: whoever holds it by another name sees them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import probe
from tests.contract.tensor_types import m

CALLS = {"other": lambda: (m(3, 4) * 2,), "a leaf": lambda: (m(3, 4).requires_grad_(),)}
LAID = {**CALLS, "transposed": lambda: (m(4, 3).T,), "gapped": lambda: (m(3, 8)[:, ::2],)}


@probe("overlap", lambda: (m(3, 4),), calls=LAID)
def transposed_by_a_copy_if_needed(x):
    """The tensor itself, where it lies in rows."""
    a = x + 1
    b = a.contiguous()
    b.t_()
    return a, b, a.shape[0], a.sum(0)


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def reshaped_by_a_conversion_to_its_own(x):
    """Nothing to convert, nothing to drop: one tensor by four names."""
    a = x + 1
    b = F.dropout(+a.to(torch.float32), 0.5, training=False)
    b.unsqueeze_(0).transpose_(0, 1)
    return a, b, list(a.shape), a * a.new_ones(a.shape[-1])


@probe("overlap", lambda: (m(3, 4).clamp(0, 1),), calls=CALLS)
def counted_before_it_is_turned(x):
    """How many there were is asked when the tensor that tells has another shape."""
    a, places = x.unique(), x.nonzero()
    a.unsqueeze_(0)
    places.t_()
    return a * a.shape[1], places * places.shape[1], x.new_ones(places.shape[1])


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def resized_by_another_name(x):
    """Its memory, seen with other sizes."""
    a = x.detach() + 1
    b = a.float()
    b.resize_(2, 2)
    return a, b, a.shape[0]


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def a_leaf_by_another_name(x):
    """Made of a tensor without a history."""
    a = x.detach() + 1
    b = a.float()
    b.requires_grad_()
    return a, b * 2, a.requires_grad, (a * 2).requires_grad


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def detached_by_another_name(x):
    """Neither has a history from then on."""
    a = x * 2
    b = a.float()
    b.detach_()
    return a * 3, b * 3


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def put_on_another_name(x):
    """An attribute."""
    a = x + 1
    a.float().factor = 3
    return a * getattr(a, "factor", 1)


def twice(*sizes):
    """One tensor in two places."""
    x = m(*sizes)
    return x, x


@probe(
    "overlap",
    lambda: (m(3, 4), m(3, 4)),
    calls={"one": lambda: twice(3, 4), "one of nothing": lambda: twice(3, 0)},
    shapes=lambda dim: ({0: dim.AUTO, 1: dim.AUTO}, {0: dim.AUTO, 1: dim.AUTO}),
)
def turned_beside_another(x, y):
    """They may be one tensor, also where that has no memory."""
    x.t_()
    return y.view(y.shape)


@probe("overlap", lambda: (m(4, 4),), calls=CALLS, refused=("outside-read",))
def tried_on_a_part_of_itself(x):
    """PyTorch refuses some such writes, which the module's own handler catches."""
    y = x * 2
    try:
        y.add_(y[::4])
    except RuntimeError:
        return x
    return y


@probe("layout", lambda: (m(3, 4),), calls=CALLS)
def leaf_written_as_ints(x):
    """No view of floats as ints is one to autograd."""
    y = x.detach().clone().requires_grad_()
    y.view(torch.int32).zero_()
    return y * 3, y.view(torch.int32).is_leaf


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def lifted(x):
    """What PyTorch's own constructors call last gives the very tensor, also if code calls it."""
    a, b = x + 1, x * 2
    c = torch.ops.aten.lift_fresh(a)
    c.t_()
    torch.ops.aten.lift(b).add_(1)
    return a, c, b


@probe("overlap", lambda: (m(3, 4),), calls=CALLS, refused=("outside-read",))
def compared_with_what_was_lifted(x):
    """Without a name."""
    a = x + 1
    return a * (2 if torch.ops.aten.lift(a) is a else 3)


def itself(a):
    """What gives back its argument."""
    return a.float()


def are_same(a, b):
    """Asks elsewhere."""
    return a is b


@probe("overlap", lambda: (m(3, 4),), calls=CALLS, refused=("outside-read",))
def compared_with_what_it_gave(x):
    """By identity, which plain Python does not show."""
    a = x + 1
    b = itself(a)
    return a * (2 if b is a else 3), F.dropout(a, 0.5, training=False)


@probe("overlap", lambda: (m(3, 4),), calls=CALLS, refused=("outside-read",))
def compared_by_another_function(x):
    """The operator is done by then."""
    a = x + 1
    return a * (2 if are_same(a, F.dropout(a, 0.5, training=False)) else 3)


@probe("overlap", lambda: (m(3, 4),), calls=CALLS, refused=("outside-read",))
def compared_on_the_way(x):
    """Without a name."""
    a = x + 1
    return a * (2 if a.float() is a else 3)


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def asked_by_another_name(x):
    """A leaf, until the module has another dtype: then it is a copy."""
    a = (x + 1).detach().requires_grad_()
    return a * (2 if a.float().is_leaf else 3)


@probe("overlap", lambda: (m(3, 4),), calls=CALLS)
def transposed_after_it_was_written(x):
    """What `out=` and writes in place gave is the tensor that they were given."""
    a = torch.mm(x.detach(), x.detach().t(), out=torch.empty(3, 3))
    b = (x + 1).mul_(2).add_(1)
    before = a.clone(), b.clone(), b[1:]
    return *before, a.t_(), a, b.t_(), b @ x


@probe("overlap", lambda: (m(3, 4),), calls=LAID)
def views_of_a_leaf_of_written_memory(x):
    """They have its history, which the memory has not."""
    a = torch.sub(x.detach(), 1, out=torch.empty(4, 3).t())
    b = a.detach().requires_grad_()
    return a, b, b.t(), b[1:], b.view_as(b) * 2


@probe("overlap", lambda: (m(3, 4),), calls=LAID)
def views_of_what_becomes_a_leaf(x):
    """They need gradients, and have no history."""
    b = torch.sub(x.detach(), 1, out=torch.empty(3, 4)).detach()
    before = b.t()
    b.requires_grad_()
    return before, b


@probe("overlap", lambda: (m(3, 4),), calls=LAID)
def copied_by_layout_and_then_overwritten(x):
    """Whether it is a copy is seen, and nothing else of what it was asked of."""
    a = x.detach() + 1
    b = a.contiguous()
    b.add_(5)
    a.fill_(0)
    return (b,)


@probe("overlap", lambda: (m(3, 4),), shapes=lambda d: ({0: d("n", max=9), 1: d("m", max=9)},),
       calls={"one": lambda: (m(1, 3),), "more": lambda: (m(5, 2),)})  # fmt: skip
def strided_from_an_expansion(x):
    """One row is not repeated, and has a stride."""
    x.add_(1)
    x[:1].expand(x.shape[0], -1)[1:].as_strided((2,), (1,))
    return (x,)


@probe("overlap", lambda: (m(3, 4),), shapes=lambda d: ({0: d("n", max=9), 1: d("m", max=9)},),
       calls={"one": lambda: (m(1, 3),), "more": lambda: (m(5, 2),)})  # fmt: skip
def summed_to_its_own_size(x):
    """The tensor, or a view of it."""
    a = x[..., :1]
    b = a.sum_to_size(a.shape)
    b.masked_fill_(b > 0, 0)
    return a, b


@probe("write", lambda: (m(3, 4),), calls=CALLS)
def a_leaf_written_to(x):
    """Autograd refuses that at once, and code may catch it; what it is not told of stays a leaf."""
    a = x.detach().requires_grad_()
    b = x.detach().clone().requires_grad_()
    try:
        a.add_(1)
    except RuntimeError as error:
        said = str(error)
    try:
        b[0].mul_(2)
    except RuntimeError as error:
        said += str(error)
    with torch.no_grad():
        b.mul_(3)
    return a * 2, b, b.is_leaf, said


@probe("mode", lambda: (m(3, 4), m(3, 4)),
       calls={"a history": lambda: (m(3, 4).requires_grad_() * 2, m(3, 4))})  # fmt: skip
def told_to_forget_after_a_view_was_written(x, y):
    """PyTorch refuses what has a history by then, which the write to a row gave it."""
    y[0].add_(x[-1])
    return y.requires_grad_(False) * 2


@probe("layout", lambda: (m(4, 3).T,), calls={
    "gapped": lambda: (m(3, 8)[:, ::2],), "plain": lambda: (m(3, 4),)})  # fmt: skip
def filled_at_places(x):
    """What is made of it lies as it did."""
    x.index_fill_(0, torch.tensor([0]), 3)
    return x * 2


@probe("write", lambda: (m(3, 4),), shapes=lambda d: ({0: d("n", max=9)},),
       refused=("branch-returns", "dim-specialised"))  # fmt: skip
class RowOfWhatIsReplaced(nn.Module):
    """A buffer's old memory is returned, and a row of it that the rounds of a loop took."""

    def __init__(self):
        super().__init__()
        self.register_buffer("old", torch.ones(4))

    def forward(self, x):
        old = self.old
        for _ in range(x.shape[0]):
            row = old[-1]
        self.old = old * 2
        return old, row


@probe("mode", lambda: (m(4, 3), m(4, 3)), shapes=lambda d: ({0: d("n", max=9)},) * 2,
       calls={"gapped": lambda: (m(4, 3), m(4, 6)[:, ::2])},
       refused=("dim-specialised",))  # fmt: skip
def copied_by_layout_in_inference_mode(x, y):
    """In a loop: what is copied there is an inference tensor, a view is none."""
    with torch.inference_mode():
        for _ in range(len(y)):
            last = y[x.shape[0] % 2 :].contiguous()
    return y, last


@probe("mode", lambda: (m(3, 4),), calls=CALLS)
def told_of_a_base(x):
    """What a view taken before answers once its base is made a leaf, and what is taken of it."""
    y = torch.zeros(3, 4)
    whole, (row, *_) = y.view(-1), y.unbind(0)
    y.requires_grad = True
    part = whole.view(2, 6)
    answers = [each.requires_grad + 2 * each.is_leaf for each in (whole, row, part, y.detach())]
    return x * torch.tensor(answers[:3]).sum(), answers, whole * 2, row * x[0], part


@probe("mode", lambda: (m(3, 4),), calls=CALLS)
def told_of_a_view(x):
    """Its base does not go along, nor what is taken of the view where autograd sees nothing."""
    y = torch.zeros(3, 4)
    row = y[0]
    row.requires_grad_()
    with torch.no_grad():
        part = row[1:]
    return x * (1 + y.requires_grad), [part.requires_grad, part.is_leaf], row * 2, y * 3


@probe("mode", lambda: (m(3, 4),), calls=CALLS)
def told_and_told_otherwise(x):
    """A base is a leaf no more: views that followed it alone go along."""
    y = torch.zeros(3, 4)
    first, second = y[0], y[1]
    y.requires_grad_()
    second.requires_grad_()
    third = y[2]
    with torch.no_grad():
        fourth = y.view(-1)
    y.requires_grad_(False)
    return x + y, [each.requires_grad for each in (first, second, third, fourth)]


@probe("mode", lambda: (m(3, 4).requires_grad_(),), calls={"plain": lambda: (m(3, 4),)})
def taken_where_autograd_sees_nothing(x):
    """A view of what requires gradients requires them, and is a leaf."""
    y = x * 2
    with torch.no_grad():
        row, whole = y[0], x.view(-1)
    return y * (1 + row.is_leaf + 2 * whole.is_leaf), [row.requires_grad, whole.requires_grad]


@probe("mode", lambda: (m(3, 4),), calls=CALLS, refused=("unsupported-output",))
def parameter_returned(x):
    """A class of its own, which no operator gives."""
    p = nn.Parameter(torch.ones(3, 4))
    return {"p": p.contiguous()}, x * p


@probe("mode", lambda: (m(3, 4),), calls=CALLS)
def parameter_used(x):
    """What is computed of it is a tensor, and so is what it is told to be."""
    p = nn.Parameter(torch.ones(3, 4))
    return x * p, p.view(-1), p.detach().requires_grad_(), p.data, isinstance(p, nn.Parameter)


@probe("mode", lambda: (m(3, 4),), calls=CALLS)
def buffer_used(x):
    """It requires gradients if what it is made of does."""
    return nn.Buffer(x * 2) * 3


@probe("mode", lambda: (m(3, 4),), calls=CALLS)
class OwnParametersReturned(nn.Module):
    """What the module has is what it is."""

    def __init__(self):
        super().__init__()
        self.weight, self.mean = nn.Parameter(torch.ones(4)), nn.Buffer(torch.zeros(4))

    def forward(self, x):
        self.mean.add_(x.detach().mean(0))
        return self.weight, self.weight.contiguous(), self.mean, x * self.weight
